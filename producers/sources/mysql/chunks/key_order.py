"""The order of a table's key on MySQL and MariaDB.  Pure.

    key columns of a shape  ->  KeyOrder  ->  conditions of a chunk's SELECT

A range of a composite key is an OR of its cases, `a > 1 OR (a = 1 AND b > 2)`: with it both servers read the
index from the bound on; with a comparison of row values, `(a, b) > (1, 2)`, they read it from its beginning
(EXPLAIN on MariaDB 11.4 and MySQL 9.7).  The same is true for `e > 2` with an enum, so an enum's range is
written as the list of its numbers (`key_values.py`).
"""

from collections.abc import Sequence

from wrackline.producers.contract.row_chunks import KEY_GONE
from wrackline.producers.kit.reads.dialect import Dialect
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.producers.sources.mysql.chunks.key_values import NEVER, MySqlKeyColumn, text_literal
from wrackline.producers.sources.mysql.connect.quoting import identifier
from wrackline.producers.sources.mysql.discover.types import parse
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableSchema

KEY_UNFIT = define(
    "mysql.key_unfit",
    OperatorNeeded,
    "a requested key does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order, written as the server writes them,"
    " in a request with a new id",
)
KEY_EMPTY_LABEL = define(
    "mysql.key_empty_label",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}, because one of its labels is the empty"
    " text, which the server also shows for values that are not labels",
    hint="order the snapshot by other columns: surrogate-key in its request",
)

DIALECT: Dialect[MySqlKeyColumn] = Dialect(quote=identifier, text=text_literal, nulls_first=True, never=NEVER)


def key_order(shape: TableSchema, key: Sequence[str]) -> KeyOrder[MySqlKeyColumn]:
    """Take the order of these columns from the table's shape."""
    columns = [key_column(shape, name) for name in key]
    for column in columns:
        if column.type.name == "enum" and "" in column.type.labels:
            raise KEY_EMPTY_LABEL(table=shape.id, column=column.name)
    return KeyOrder(DIALECT, shape.id, columns, KEY_UNFIT)


def key_column(shape: TableSchema, name: str) -> MySqlKeyColumn:
    """Find a column whose values are compared."""
    for column in shape.columns:
        if column.name == name:
            return MySqlKeyColumn(name, parse(column.type.source), column.nullable)
    raise KEY_GONE(table=shape.id, column=name)
