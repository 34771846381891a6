"""The optional event trigger: its SQL, and the logical message that it writes into the log at each DDL.

    CREATE, ALTER …  ->  wrackline.ddl {"oid": …, "columns": […], …}  ->  TableFacts     pure, but for the SQL

The message lies in the log exactly where the DDL took effect, and holds what the catalogue said there, so
a shape need not be asked for later, when it may be another one.  Anybody who can log in can write such a
message: so a shape is taken from it only where the log's own relation message agrees, and that a table is
gone only the catalogue says.  A message that can't be read is as if it were not there.

The functions run with the rights of whoever runs the DDL (there is no SECURITY DEFINER) and never fail it.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from wrackline.producers.sources.postgres.facts import ColumnFacts, TableFacts
from wrackline.schemas.table import TableId

PREFIX = "wrackline.ddl"
NAME = "wrackline_ddl"  # of the event trigger

# Created by a superuser in any schema; the search path inside is fixed, so it does not matter whose.
# Only the reading stands in a block that catches errors, for such a block is a subtransaction, and the server
# orders what parent and child wrote by the places where a message ends and a row begins: the empty message
# at the end is there so that these are never one.
TRIGGER = """\
CREATE FUNCTION wrackline_ddl() RETURNS event_trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $wrackline$
DECLARE
  said text[];
BEGIN
  BEGIN
    IF TG_EVENT = 'sql_drop' THEN
      said := ARRAY(SELECT json_build_object(
          'v', 1, 'tag', TG_TAG, 'dropped', json_agg(o.objid::bigint))::text
        FROM pg_event_trigger_dropped_objects() o
        WHERE o.object_type IN ('table', 'table column', 'schema') HAVING count(*) > 0);
    ELSE
      said := ARRAY(SELECT json_build_object(
          'v', 1, 'tag', TG_TAG, 'oid', c.oid::bigint, 'schema', n.nspname, 'table', c.relname,
          'file', c.relfilenode::bigint,
          'columns', (SELECT json_agg(json_build_array(
              a.attnum, a.attname, a.atttypid::bigint, a.atttypmod, a.attnotnull,
              a.attidentity, a.attgenerated, md5(d.adbin::text), a.atthasmissing) ORDER BY a.attnum)
            FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
          'primary', k.indisprimary, 'key', to_json((k.indkey::int2[])[0:k.indnkeyatts - 1]))::text
        FROM (
          SELECT o.objid FROM pg_event_trigger_ddl_commands() o WHERE o.classid = 'pg_class'::regclass
          UNION SELECT i.indrelid FROM pg_event_trigger_ddl_commands() o
            JOIN pg_index i ON i.indexrelid = o.objid WHERE o.classid = 'pg_class'::regclass
          UNION SELECT t.oid FROM pg_event_trigger_ddl_commands() o
            JOIN pg_class t ON t.relnamespace = o.objid WHERE o.classid = 'pg_namespace'::regclass
        ) touched (oid)
        JOIN pg_class c ON c.oid = touched.oid JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN LATERAL (
          SELECT i.* FROM pg_index i
          WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
            AND i.indpred IS NULL AND i.indexprs IS NULL
            AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                            AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) AND NOT a.attnotnull)
          ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indnkeyatts, i.indexrelid LIMIT 1
        ) k ON true
        WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p');
    END IF;
  EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'wrackline does not see this change at its place: %', SQLERRM;
    RETURN;
  END;
  IF cardinality(said) > 0 THEN
    PERFORM pg_logical_emit_message(true, 'wrackline.ddl', one) FROM unnest(array_append(said, ''::text)) one;
  END IF;
END $wrackline$;
CREATE EVENT TRIGGER wrackline_ddl ON ddl_command_end EXECUTE FUNCTION wrackline_ddl();
CREATE EVENT TRIGGER wrackline_ddl_drop ON sql_drop EXECUTE FUNCTION wrackline_ddl();"""


def told(content: bytes, database: str) -> TableFacts | None:
    """Read what a DDL made of a table; None where a table went, or for what nobody can read."""
    try:
        read: Any = orjson.loads(content)
        table = TableId(database, str(read["schema"]), str(read["table"]))
        columns = tuple(_column(one) for one in read["columns"] or ())
        key = tuple(int(number) for number in read["key"] or ())
        return TableFacts(int(read["oid"]), table, columns, key, bool(read["primary"]), int(read["file"]))
    except (ValueError, TypeError, KeyError, orjson.JSONDecodeError):
        return None


def _column(read: Sequence[Any]) -> ColumnFacts:
    number, name, type_oid, typmod, not_null, identity, generated, default, missing = read
    return ColumnFacts(
        int(number),
        str(name),
        int(type_oid),
        int(typmod),
        bool(not_null),
        str(identity),
        str(generated),
        None if default is None else str(default),
        bool(missing),
    )
