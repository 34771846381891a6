"""Comparisons of a table's key with bounds, in the order in which ORDER BY gives its rows.  Pure.

    key columns, bounds  ->  KeyOrder  ->  conditions of a chunk's SELECT

Keys are compared as tuples.  If the dialect has row values for these columns, the server does it; else a
range is written as alternatives, `a > 1 OR (a = 1 AND b > 2)`.

A key that the settings choose may be null.  ORDER BY puts nulls before or behind all values, and a comparison
with null is never true, so for columns that may be null the null is written out.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Generic

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.kit.reads.dialect import C, Dialect, KeyValueError
from wrackline.schemas.errors import ErrorCode
from wrackline.schemas.tables.table import TableId


class KeyOrder(Generic[C]):
    """Writes comparisons of a table's key with bounds."""

    def __init__(self, dialect: Dialect[C], table: TableId, columns: Sequence[C], unfit: ErrorCode) -> None:
        """Take the key's columns, and the error for a bound that is not a key of theirs."""
        self.dialect, self._table, self._columns, self._unfit = dialect, table, columns, unfit

    def after(self, bound: Bound) -> str:
        """Write that the key > bound."""
        with self._fitting(bound):
            return self._beyond(bound, ">", ">")

    def upto(self, bound: Bound) -> str:
        """Write that the key <= bound."""
        with self._fitting(bound):
            return self._beyond(bound, "<", "<=")

    def one_of(self, bounds: Sequence[Bound]) -> str:
        """Write that the key is one of these."""
        found = []
        for bound in bounds:
            with self._fitting(bound):
                found.append(self.dialect.both(self._same(bound, len(bound))))
        return self.dialect.either(found)

    def _beyond(self, bound: Bound, strictly: str, at_last: str) -> str:
        values = [value for value in bound if value is not None]
        if len(values) == len(bound) and not any(column.nullable for column in self._columns):
            row = self.dialect.row_values(self._columns, at_last, values)
            if row is not None:
                return row
        last = len(bound) - 1
        ways = [
            self.dialect.both(
                [*self._same(bound, place), self._one(bound, place, at_last if place == last else strictly)]
            )
            for place in range(len(bound))
        ]
        first = [self._one(bound, 0, f"{strictly}=")] if last and self.dialect.first_bounds_scan else []
        return self.dialect.both([*first, self.dialect.either(ways)])

    def _same(self, bound: Bound, count: int) -> list[str]:
        return [self._one(bound, place, "=") for place in range(count)]

    def _one(self, bound: Bound, place: int, sign: str) -> str:
        return compare(self.dialect, self._columns[place], sign, bound[place])

    @contextmanager
    def _fitting(self, bound: Bound) -> Iterator[None]:
        """Raise if the bound does not fit: it may come from a request."""
        try:
            if len(bound) == len(self._columns):
                yield
                return
        except KeyValueError:
            pass
        raise self._unfit(table=self._table, columns=", ".join(column.name for column in self._columns))


def compare(dialect: Dialect[C], column: C, sign: str, text: str | None) -> str:
    """Compare a column with a value or with null; null has its place in the order."""
    name = dialect.quote(column.name)
    null = dialect.null.format(name)
    nulls_there = sign.startswith("<" if dialect.nulls_first else ">")
    if text is not None:
        made = column.compare(sign, text)
        return dialect.either([made, null]) if column.nullable and nulls_there else made
    if sign == "=" or (nulls_there and sign.endswith("=")):
        return null
    if nulls_there:
        return dialect.never
    return dialect.always if sign.endswith("=") else dialect.not_null.format(name)
