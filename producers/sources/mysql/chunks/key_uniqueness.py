"""Whether the columns that message.key.columns names distinguish a table's rows."""

from collections.abc import Sequence
from typing import Any, Final

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.chunks import bounded_query
from wrackline.producers.sources.mysql.chunks.marks import query_rows
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.schemas.tables.table import TableId

MOST_S: Final = 10  # for a look at all rows

_PROVEN = """
SELECT index_name FROM information_schema.statistics
WHERE non_unique = 0 AND table_schema = %s AND table_name = %s GROUP BY index_name
HAVING sum(nullable = 'YES') = 0 AND sum(sub_part IS NOT NULL OR column_name IS NULL) = 0
   AND sum(column_name NOT IN %s) = 0"""


def is_proven_unique(connection: "Connection[Any]", table: TableId, key: Sequence[str]) -> bool:
    """Whether a unique index over some of these columns, which are never null, proves it."""
    return bool(query_rows(connection, _PROVEN, table.schema, table.name, tuple(key)))


def count_duplicates(connection: "Connection[Any]", table: TableId, key: Sequence[str]) -> int | None:
    """Count the keys that several rows have; None where the server can't count them in time."""
    columns = ", ".join(map(identifier, key))
    keys = f"SELECT 1 FROM {table_name(table)} GROUP BY {columns} HAVING count(*) > 1"  # noqa: S608 quoted names
    found = bounded_query.query_bounded(connection, "count(*)", f"({keys}) AS doubled", MOST_S)
    return None if found is None else int(found[0])
