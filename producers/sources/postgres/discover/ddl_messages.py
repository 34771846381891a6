"""The optional event trigger: its SQL, and the logical message that it writes into the log at each DDL.

    CREATE, ALTER …  ->  wrackline.ddl <secret> {"oid": …, "columns": […], …}  ->  PgTableFacts

The message is in the log exactly where the DDL took effect, and contains what the catalogue said there, so
no query for the shape is needed later, when it may be another shape.  Any role that can log in can write a
message with this prefix, so each message begins with a secret: a number that only the function's owner and
the roles of pipelines can read.  A message without it is ignored, and so is a message that can't be read.

The function runs with its owner's rights, because the user of the DDL must not read the secret.  It takes no
argument, calls only the server's own functions, and never fails the DDL.  The secret is not in a variable of
the function: a variable's value can become a part of a plan, and `debug_print_plan` shows plans to the user
of the DDL.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.discover.facts import PgColumnFacts, PgTableFacts
from wrackline.schemas.tables.table import TableId

PREFIX = "wrackline.ddl"
NAME = "wrackline_ddl"  # of the event trigger

# Run by a superuser.  The secret is a sequence, because publications and pipelines don't treat it as a table.
# Only the reading is in a block that catches errors, because such a block is a subtransaction, and the server
# orders the writes of parent and child by the places where a message ends and a row begins: the last message
# holds only the secret, and is there so that these places are never the same.
_INSTALL = """\
BEGIN;
DROP EVENT TRIGGER IF EXISTS wrackline_ddl;
DROP EVENT TRIGGER IF EXISTS wrackline_ddl_drop;
DROP SCHEMA IF EXISTS wrackline_ddl CASCADE;
CREATE SCHEMA wrackline_ddl;
CREATE SEQUENCE wrackline_ddl.secret;
REVOKE ALL ON SEQUENCE wrackline_ddl.secret FROM PUBLIC;
GRANT SELECT ON SEQUENCE wrackline_ddl.secret TO {role};
DO $wrackline$ BEGIN
  PERFORM setval('wrackline_ddl.secret', 1 +
    ('x' || left(gen_random_uuid()::text, 8) || left(gen_random_uuid()::text, 8))::bit(62)::bigint);
END $wrackline$;
CREATE FUNCTION wrackline_ddl.tell() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $wrackline$
DECLARE
  said text[];
BEGIN
  BEGIN
    PERFORM FROM wrackline_ddl.secret;
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
    PERFORM pg_logical_emit_message(true, 'wrackline.ddl',
                                    (SELECT last_value FROM wrackline_ddl.secret) || ' ' || one)
    FROM unnest(array_append(said, ''::text)) one;
  END IF;
END $wrackline$;
REVOKE ALL ON FUNCTION wrackline_ddl.tell() FROM PUBLIC;
CREATE EVENT TRIGGER wrackline_ddl ON ddl_command_end EXECUTE FUNCTION wrackline_ddl.tell();
CREATE EVENT TRIGGER wrackline_ddl_drop ON sql_drop EXECUTE FUNCTION wrackline_ddl.tell();
COMMIT;"""


def install_sql(role: str) -> str:
    """Return the SQL that installs the trigger for a pipeline's role; it replaces an older trigger."""
    return _INSTALL.replace("{role}", identifier(role))


def split_secret(content: bytes) -> tuple[bytes, bytes]:
    """Split a message into its secret and its content."""
    secret, _, said = content.partition(b" ")
    return secret, said


def read_ddl(content: bytes, database: str) -> PgTableFacts | None:
    """Read a table as a DDL left it; None where a table is gone, or the message can't be read."""
    try:
        read: Any = orjson.loads(content)
        table = TableId(database, str(read["schema"]), str(read["table"]))
        columns = tuple(_column(one) for one in read["columns"] or ())
        key = tuple(int(number) for number in read["key"] or ())
        return PgTableFacts(int(read["oid"]), table, columns, key, bool(read["primary"]), int(read["file"]))
    except (ValueError, TypeError, KeyError, orjson.JSONDecodeError):
        return None


def _column(read: Sequence[Any]) -> PgColumnFacts:
    number, name, type_oid, typmod, not_null, identity, generated, default, missing = read
    return PgColumnFacts(
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
