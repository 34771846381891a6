"""The order of a table's key on Oracle, and the conditions of requests.  Pure.

Row values compare by equality alone, so a range of a composite key is written as its cases, with a condition
on the first column, by which the server finds the index.  NULL comes last in ORDER BY, and texts by their
bytes (NLS_SORT of the session) or by the collation of their column: only the server compares.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from wrackline.producers.contract.row_chunks import KEY_GONE
from wrackline.producers.kit.reads.condition_sql import condition_sql
from wrackline.producers.kit.reads.dialect import Dialect
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.producers.sources.oracle.chunks.key_values import OracleKeyColumn, qualified
from wrackline.producers.sources.oracle.connect.quoting import literal
from wrackline.producers.sources.oracle.discover.types import KEY_UNORDERED, type_text
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.conditions import ColumnName
from wrackline.schemas.tables.table import TableId

KEY_UNFIT = define(
    "oracle.key_unfit",
    OperatorNeeded,
    "a requested key does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order, written as the server writes them:"
    " 7, '2026-01-31 12:00:00', '00FF' for RAW; in a request with a new id",
)
NO_COLUMN = define(
    "oracle.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is not one published column",
    hint='use the name of a column as it is published; in double quotes if it has small letters: "{column}"',
)
NO_VALUE = define(
    "oracle.condition_value",
    OperatorNeeded,
    "the condition on {table} compares {column} with something that is not a value of its type, {type}",
    hint="write the value as the server shows it: 7, 'text', '2026-01-31 12:00:00', '00FF' for RAW; for the"
    " empty text, which is NULL: IS NULL; in a request with a new id",
)

DIALECT: Final[Dialect[OracleKeyColumn]] = Dialect(
    quote=qualified,
    text=literal,
    nulls_first=False,
    always="1 = 1",
    never="1 = 0",
    first_bounds_scan=True,
    limit=" FETCH FIRST {} ROWS ONLY",
)


def key_order(
    table: TableId, key: Sequence[str], columns: Mapping[str, OracleKeyColumn]
) -> KeyOrder[OracleKeyColumn]:
    """Take the order of these columns; `columns` are the table's, by name."""
    for name in key:
        if name not in columns:
            raise KEY_GONE(table=table, column=name)
        if not columns[name].ordered:
            raise KEY_UNORDERED(column=f"{table}.{name}", type=type_text(columns[name].type))
    return KeyOrder(DIALECT, table, [columns[name] for name in key], KEY_UNFIT)


def where(
    table: TableId, text: str, columns: Mapping[str, OracleKeyColumn], published: Collection[str]
) -> str:
    """Write a condition; `published` are the columns whose values are published as they are."""

    def find(named: Collection[ColumnName]) -> Mapping[ColumnName, OracleKeyColumn]:
        return {one: columns[_published_name(table, one, published)] for one in named}

    def no_value(column: OracleKeyColumn) -> WracklineError:
        return NO_VALUE(table=table, column=column.name, type=type_text(column.type))

    return condition_sql(DIALECT, text, find, no_value)


def _published_name(table: TableId, written: ColumnName, published: Collection[str]) -> str:
    """Find a column as the server would: without quotes it has capitals."""
    names = [written.name] if written.quoted else [written.name.upper(), written.name]
    for name in names:
        if name in published:
            return name
    raise NO_COLUMN(table=table, column=written.name)
