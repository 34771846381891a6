"""How large tables are, by the estimates in information_schema; no row is counted."""

from typing import Any

from pymysql.connections import Connection

from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.sources.mysql.discover.discover import SYSTEM
from wrackline.schemas.tables.table import TableId

_SIZES = """
SELECT table_schema, table_name, table_rows, data_length + index_length FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN %s"""


def table_sizes(connection: "Connection[Any]") -> dict[TableId, TableSize]:
    """Return the estimates."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES, (SYSTEM,))
        return {
            TableId(database, database, name): TableSize(_number(rows), _number(size))
            for database, name, rows, size in cursor.fetchall()
        }


def _number(value: Any) -> int | None:  # noqa: ANN401 - the driver's
    return None if value is None else int(value)
