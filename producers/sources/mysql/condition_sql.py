"""The filter of a snapshot request as MySQL's and MariaDB's SQL.  Pure.

    text in the grammar of schemas/conditions.py, the table's shape  ->  what stands behind WHERE

The text is parsed again here, so nothing but its names and values gets this far: names are looked up in the
table and quoted, values are written by their column's type (`key_values.py`), and one that is no value of it
is refused, for the server would take it for 0.  A column whose values may not leave the process is refused:
whoever can write a request could ask for them bit by bit.
"""

from collections.abc import Collection
from dataclasses import replace

from wrackline.producers.sources.mysql.key_order import both, comparison, either, key_column
from wrackline.producers.sources.mysql.key_values import KeyColumn, UnfitError
from wrackline.schemas import conditions
from wrackline.schemas.conditions import And, Between, ColumnName, Comparison, Condition, In, Like, Null, Or
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableSchema

NO_COLUMN = define(
    "mysql.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is no column that leaves it",
    hint="name one of its columns as it is published",
)
NO_VALUE = define(
    "mysql.condition_value",
    OperatorNeeded,
    "the condition on {table} compares {column} with what is no value of its type, {type}",
    hint="write the value as the server shows it: 7, 'text', '2026-01-31 12:00:00', '0x00ff' for bytes, in a"
    " request with a new id",
)


def where(shape: TableSchema, text: str, published: Collection[str]) -> str:
    """Write a condition; `published` are the columns whose values leave as they are."""
    condition = conditions.parse(text)
    found = {name: _found(shape, name, published) for name in conditions.columns(condition)}
    return _Writing(shape, found).written(condition)


def _found(shape: TableSchema, column: ColumnName, published: Collection[str]) -> KeyColumn:
    """Find a column, whatever the case of its name, as the servers do; null is compared as they do too."""
    for name in published:
        if name.lower() == column.name.lower():
            return replace(key_column(shape, name), nullable=False)
    raise NO_COLUMN(table=shape.id, column=column.name)


class _Writing:
    def __init__(self, shape: TableSchema, columns: dict[ColumnName, KeyColumn]) -> None:
        self._shape, self._columns = shape, columns

    def written(self, condition: Condition) -> str:
        match condition:
            case And(parts):
                made = both([self.written(part) for part in parts])
            case Or(parts):
                made = either([self.written(part) for part in parts])
            case Null(column, negated):
                made = f"{self._columns[column].sql} IS {'NOT ' if negated else ''}NULL"
            case Like(column, pattern):
                name = self._columns[column].sql
                made = f"{name} LIKE _utf8mb4 X'{pattern.encode().hex()}'"
            case Between(column, low, high):
                made = both([self._compared(column, ">=", low), self._compared(column, "<=", high)])
            case In(column, literals):
                made = either([self._compared(column, "=", literal) for literal in literals])
            case Comparison(column, "<>", literal):
                made = f"(NOT {self._compared(column, '=', literal)})"
            case Comparison(column, operator, literal):
                made = self._compared(column, operator, literal)
        return made

    def _compared(self, name: ColumnName, sign: str, literal: conditions.Literal) -> str:
        column = self._columns[name]
        if literal is None:
            return "NULL"  # nothing is equal to it, in a list too
        text = str(int(literal)) if isinstance(literal, bool) else _plain(literal)
        try:
            return comparison(column, sign, text)
        except UnfitError:
            raise NO_VALUE(table=self._shape.id, column=column.name, type=column.type) from None


def _plain(literal: conditions.Literal) -> str:
    """Write a number without an exponent, as whole as it is."""
    return literal if isinstance(literal, str) else f"{literal:f}"
