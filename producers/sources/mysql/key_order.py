"""Comparisons of a table's key with bounds, in the order in which ORDER BY gives its rows.  Pure.

    key columns, bounds  ->  KeyOrder  ->  conditions of a chunk's SELECT

A range of a composite key is an OR of its ways, `a > 1 OR (a = 1 AND b > 2)`: for that both servers read the
index from the bound on, for a comparison of row values, `(a, b) > (1, 2)`, they read it from its beginning
(EXPLAIN on MariaDB 11.4 and MySQL 9.7).  The same goes for `e > 2` of an enum, so an enum's range is written
as the list of its numbers.

A key that somebody chose may be null, and ORDER BY puts nulls first; a comparison with null is never true.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from wrackline.producers.chunks import KEY_GONE, Bound
from wrackline.producers.sources.mysql.key_values import KeyColumn, UnfitError
from wrackline.producers.sources.mysql.types import parse
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId, TableSchema

KEY_UNFIT = define(
    "mysql.key_unfit",
    OperatorNeeded,
    "a key that was asked for does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order, written as the server writes them,"
    " in a request with a new id",
)
KEY_EMPTY_LABEL = define(
    "mysql.key_empty_label",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}: one of its labels is the empty text, which"
    " the server also shows for values that are no label",
    hint="order the snapshot by other columns: surrogate-key in its request",
)

NEVER: Final = "FALSE"


class KeyOrder:
    """Writes comparisons of a table's key with bounds."""

    def __init__(self, table: TableId, columns: Sequence[KeyColumn]) -> None:
        self._table, self._columns = table, columns

    def after(self, bound: Bound) -> str:
        """Key > bound."""
        with self._fitting(bound):
            return self._beyond(bound, ">", ">")

    def upto(self, bound: Bound) -> str:
        """Key <= bound."""
        with self._fitting(bound):
            return self._beyond(bound, "<", "<=")

    def one_of(self, bounds: Sequence[Bound]) -> str:
        """Key is one of these."""
        found = []
        for bound in bounds:
            with self._fitting(bound):
                found.append(self._same(bound, len(bound)))
        return either(found)

    def _beyond(self, bound: Bound, strictly: str, at_last: str) -> str:
        last = len(self._columns) - 1
        ways = []
        for place, column in enumerate(self._columns):
            compared = comparison(column, at_last if place == last else strictly, bound[place])
            if compared != NEVER:
                ways.append(both([self._same(bound, place), compared]) if place else compared)
        return either(ways)

    def _same(self, bound: Bound, count: int) -> str:
        return both([comparison(self._columns[place], "=", bound[place]) for place in range(count)])

    @contextmanager
    def _fitting(self, bound: Bound) -> Iterator[None]:
        """A bound may be what somebody asked for."""
        try:
            if len(bound) == len(self._columns):
                yield
                return
        except UnfitError:
            pass
        raise KEY_UNFIT(table=self._table, columns=", ".join(column.name for column in self._columns))


def key_order(shape: TableSchema, key: Sequence[str]) -> KeyOrder:
    """Read the order of these columns out of the table's shape."""
    columns = [key_column(shape, name) for name in key]
    for column in columns:
        if column.type.name == "enum" and "" in column.type.labels:
            raise KEY_EMPTY_LABEL(table=shape.id, column=column.name)
    return KeyOrder(shape.id, columns)


def key_column(shape: TableSchema, name: str) -> KeyColumn:
    """Find a column whose values are compared."""
    for column in shape.columns:
        if column.name == name:
            return KeyColumn(name, parse(column.type.source), column.nullable)
    raise KEY_GONE(table=shape.id, column=name)


def comparison(column: KeyColumn, sign: str, text: str | None) -> str:
    """Compare a column with a value, where null comes before every value."""
    if text is None:
        return {
            "=": f"{column.sql} IS NULL",
            ">": f"{column.sql} IS NOT NULL",
            "<=": f"{column.sql} IS NULL",
        }.get(sign, "TRUE" if sign == ">=" else NEVER)
    if column.type.name == "enum":
        made = _of_enum(column, sign, column.number(text))
    else:
        made = f"{column.sql} {sign} {column.literal(text)}"
    return f"({made} OR {column.sql} IS NULL)" if column.nullable and sign.startswith("<") else made


def _of_enum(column: KeyColumn, sign: str, number: int) -> str:
    """List the numbers that stand so to this one: 0, which is no label, to the last."""
    most = len(column.type.labels)
    numbers = {
        "=": range(number, number + 1),
        ">": range(number + 1, most + 1),
        ">=": range(number, most + 1),
        "<": range(number),
        "<=": range(number + 1),
    }[sign]
    return f"{column.sql} IN ({', '.join(map(str, numbers))})" if numbers else NEVER


def either(parts: Sequence[str]) -> str:
    """Join by OR; of none there is none."""
    return f"({' OR '.join(parts)})" if parts else NEVER


def both(parts: Sequence[str]) -> str:
    """Join by AND; without a condition all is true."""
    return f"({' AND '.join(parts)})" if parts else "TRUE"
