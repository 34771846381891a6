"""Whether the columns that message.key.columns names distinguish a table's rows."""

from collections.abc import Sequence
from typing import Final

from psycopg import errors, sql

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import table_name
from wrackline.producers.sources.postgres.connect.timeouts import without_timeout
from wrackline.schemas.tables.table import TableId

MOST_S: Final = 10  # for a look at all rows

_PROVEN = """
SELECT EXISTS (
  SELECT FROM pg_index i
  WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indimmediate
    AND i.indpred IS NULL AND i.indexprs IS NULL
    AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                    AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
                    AND (NOT a.attnotnull OR a.attname <> ALL (%s))))"""
# Errors that say nothing about the rows: no time, no right, no such column, a type without equality.
_UNKNOWN = (
    errors.QueryCanceled,
    errors.InsufficientPrivilege,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
)


def is_proven_unique(connection: Connection, table: TableId, key: Sequence[str]) -> bool:
    """Whether a unique index over some of these columns, which are never null, proves it."""
    ((found,),) = connection.execute(_PROVEN, [table_name(table), list(key)])
    return bool(found)


def count_duplicates(connection: Connection, rows: sql.Composable, key: Sequence[str]) -> int | None:
    """Count the keys that several rows have; None where the server can't count them in time."""
    columns = sql.SQL(", ").join(map(sql.Identifier, key))
    query = sql.SQL("SELECT count(*) FROM (SELECT FROM {} GROUP BY {} HAVING count(*) > 1) AS doubled")
    try:
        with without_timeout(connection), connection.transaction():
            connection.execute(f"SET LOCAL statement_timeout = '{MOST_S}s'".encode())
            ((found,),) = connection.execute(query.format(rows, columns))
    except _UNKNOWN:
        return None
    return int(str(found))
