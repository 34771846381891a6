"""How a server writes the SQL of a read, as one value.  Pure.

    Dialect  ->  names, literals, null's place, row values, how many rows

The column knows what its values look like: it compares itself with a text and may find that the text is not
one of its values.  So a literal is only made where its type is known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class KeyValueError(Exception):
    """A text that is not a value of its column."""


class ComparedColumn(Protocol):
    """A column whose values are compared."""

    @property
    def name(self) -> str:
        """Its name as the catalogue has it."""
        ...

    @property
    def nullable(self) -> bool:
        """Whether it may be null."""
        ...

    def compare(self, sign: str, text: str) -> str:
        """Write `column sign value`, with one of the five order signs; KeyValueError if it is not a value.

        Return the dialect's `never` if no value of the column can match.
        """
        ...


C = TypeVar("C", bound=ComparedColumn)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[C]):
    """One server's way to write SQL."""

    quote: Callable[[str], str]  # a name
    text: Callable[[str], str]  # a text as a literal
    nulls_first: bool  # where ORDER BY puts them
    always: str = "TRUE"
    never: str = "FALSE"
    null: str = "{} IS NULL"  # of a key's column
    not_null: str = "{} IS NOT NULL"
    like: str = "{} LIKE {}"
    booleans: tuple[str, str] = ("0", "1")  # false and true, as texts of a column
    # Compares columns with values as rows, `(a, b) > (1, 2)`; None where these columns can't be compared so,
    # or where the server would read the index from its beginning.
    row_values: Callable[[Sequence[C], str, Sequence[str]], str | None] = lambda *_: None
    first_bounds_scan: bool = False  # whether a composite range also needs a condition on its first column
    top: str = ""  # the most rows, before the columns
    limit: str = " LIMIT {}"  # or at the end

    def select(
        self,
        columns: str,
        source: str,
        where: str | None = None,
        *,
        key: Sequence[str] = (),
        descending: bool = False,
        most: int | None = None,
    ) -> str:
        """Write a SELECT; `source` is what FROM names."""
        top, limit = ("", "") if most is None else (self.top.format(most), self.limit.format(most))
        condition = "" if where is None else f" WHERE {where}"
        order = f" ORDER BY {self.ordered(key, descending=descending)}" if key else ""
        return f"SELECT {top}{columns} FROM {source}{condition}{order}{limit}"  # noqa: S608 quoted names

    def named(self, columns: Sequence[str]) -> str:
        """List columns."""
        return ", ".join(map(self.quote, columns))

    def ordered(self, key: Sequence[str], *, descending: bool) -> str:
        """List columns behind ORDER BY."""
        return ", ".join(f"{self.quote(name)}{' DESC' if descending else ''}" for name in key)

    def both(self, parts: Sequence[str]) -> str:
        """Join by AND; without a condition all rows are meant."""
        return self._join(" AND ", parts, self.always, self.never)

    def either(self, parts: Sequence[str]) -> str:
        """Join by OR; without a condition no row is meant."""
        return self._join(" OR ", parts, self.never, self.always)

    @staticmethod
    def _join(word: str, parts: Sequence[str], idle: str, decisive: str) -> str:
        """Join the parts that matter; each part is one comparison, or is in parentheses."""
        if decisive in parts:
            return decisive
        said = [part for part in parts if part != idle]
        if len(said) < 2:
            return said[0] if said else idle
        return f"({word.join(said)})"
