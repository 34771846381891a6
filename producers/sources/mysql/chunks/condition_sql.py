"""The columns that the filter of a snapshot request names, as MySQL and MariaDB find them.  Pure.

    text in the grammar of schemas/language/conditions.py, the table's shape  ->  a condition behind WHERE

`producers/kit/reads/condition_sql.py` writes the condition.  Values are written by their column's type
(`key_values.py`).  A text that is not a value of the type is refused, because the server would read it as 0.
"""

from collections.abc import Collection, Mapping

from wrackline.producers.kit.reads.condition_sql import condition_sql
from wrackline.producers.sources.mysql.chunks.key_order import DIALECT, key_column
from wrackline.producers.sources.mysql.chunks.key_values import MySqlKeyColumn
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.conditions import ColumnName
from wrackline.schemas.tables.table import TableSchema

NO_COLUMN = define(
    "mysql.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is not a published column",
    hint="use the name of a column as it is published",
)
NO_VALUE = define(
    "mysql.condition_value",
    OperatorNeeded,
    "the condition on {table} compares {column} with something that is not a value of its type, {type}",
    hint="write the value as the server shows it: 7, 'text', '2026-01-31 12:00:00', '0x00ff' for bytes, in a"
    " request with a new id",
)


def where(shape: TableSchema, text: str, published: Collection[str]) -> str:
    """Write a condition; `published` are the columns whose values are published as they are."""

    def find(columns: Collection[ColumnName]) -> Mapping[ColumnName, MySqlKeyColumn]:
        return {column: _find_column(shape, column, published) for column in columns}

    def no_value(column: MySqlKeyColumn) -> WracklineError:
        return NO_VALUE(table=shape.id, column=column.name, type=column.type)

    return condition_sql(DIALECT, text, find, no_value)


def _find_column(shape: TableSchema, column: ColumnName, published: Collection[str]) -> MySqlKeyColumn:
    """Find a column by its name in any case, as the servers do."""
    for name in published:
        if name.lower() == column.name.lower():
            return key_column(shape, name)
    raise NO_COLUMN(table=shape.id, column=column.name)
