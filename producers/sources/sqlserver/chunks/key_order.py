"""The order of a table's key on SQL Server, and the conditions of requests.  Pure.

There are no row values, so a range of a composite key is written as its cases, with a condition on the first
column, by which the server finds the index.  NULL comes first in ORDER BY, uniqueidentifier by its last
group, texts by their collation: only the server compares.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from wrackline.producers.contract.row_chunks import KEY_GONE
from wrackline.producers.kit.reads.condition_sql import condition_sql
from wrackline.producers.kit.reads.dialect import Dialect
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.connect.quoting import identifier, literal
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.conditions import ColumnName
from wrackline.schemas.tables.table import TableId

KEY_UNFIT = define(
    "sqlserver.key_unfit",
    OperatorNeeded,
    "a requested key does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order, written as the server writes them,"
    " in a request with a new id",
)
NO_COLUMN = define(
    "sqlserver.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is not one published column",
    hint="use the name of a column as it is published, with its capitals",
)
NO_VALUE = define(
    "sqlserver.condition_value",
    OperatorNeeded,
    "the condition on {table} compares {column} with something that is not a value of its type, {type}",
    hint="write the value as the server shows it: 7, 'text', '2026-01-31 12:00:00', '0x00ff' for bytes, in a"
    " request with a new id",
)

DIALECT: Final[Dialect[SqlServerKeyColumn]] = Dialect(
    quote=identifier,
    text=literal,
    nulls_first=True,
    always="1 = 1",
    never="1 = 0",
    like="{} LIKE REPLACE({}, N'[', N'[[]')",  # a bracket means itself in a condition
    first_bounds_scan=True,
    top="TOP ({}) ",
    limit="",
)


def key_order(
    table: TableId, key: Sequence[str], columns: Mapping[str, SqlServerKeyColumn]
) -> KeyOrder[SqlServerKeyColumn]:
    """Take the order of these columns; `columns` are the table's, by name."""
    for name in key:
        if name not in columns:
            raise KEY_GONE(table=table, column=name)
    return KeyOrder(DIALECT, table, [columns[name] for name in key], KEY_UNFIT)


def where(
    table: TableId, text: str, columns: Mapping[str, SqlServerKeyColumn], published: Collection[str]
) -> str:
    """Write a condition; `published` are the columns whose values are published as they are."""

    def find(named: Collection[ColumnName]) -> Mapping[ColumnName, SqlServerKeyColumn]:
        return {one: columns[_published_name(table, one.name, published)] for one in named}

    def no_value(column: SqlServerKeyColumn) -> WracklineError:
        return NO_VALUE(table=table, column=column.name, type=column.type)

    return condition_sql(DIALECT, text, find, no_value)


def _published_name(table: TableId, name: str, published: Collection[str]) -> str:
    """Find a column by its name, in other capitals if only one column has them."""
    if name in published:
        return name
    alike = [one for one in published if one.lower() == name.lower()]
    if len(alike) != 1:
        raise NO_COLUMN(table=table, column=name)
    return alike[0]
