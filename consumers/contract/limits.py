"""What a target holds no value of, as data: a batch with such a value is found before it is loaded.

A limit is about the plain form of a value (spark/plain_values.py): bytes of a text or of bytes, days and
microseconds since 1970.

    Limit(9).breach("…")                      ->  in which way it can't be held, or None
    breach_text("c3", LimitBreach.SIZE)       ->  what a query fails with that meets such a value
    find_breach("… [what it failed with] …")  ->  ("c3", LimitBreach.SIZE)
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

DAY_MICROS: Final = 86_400_000_000
_MARK: Final = re.compile(r"wrackline holds no ([a-z]+) of (\w+)")


class LimitBreach(Enum):
    """In which way a value is beyond a limit."""

    SIZE = "size"
    RANGE = "range"
    CHARACTER = "character"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Limit:
    """What the plain form of a value may not exceed."""

    most_bytes: int | None = None
    least: int | None = None
    greatest: int | None = None
    unheld: str = ""  # characters that no text may have
    most_row_bytes: int | None = None  # of all texts and bytes of the value's row together

    def breach(self, value: object) -> LimitBreach | None:
        """Return how a value is beyond it; None: it is held."""
        if isinstance(value, int):
            below = self.least is not None and value < self.least
            above = self.greatest is not None and value > self.greatest
            return LimitBreach.RANGE if below or above else None
        if not isinstance(value, str | bytes):
            return None
        if isinstance(value, str) and any(one in value for one in self.unheld):
            return LimitBreach.CHARACTER
        size = len(value.encode() if isinstance(value, str) else value)
        return LimitBreach.SIZE if self.most_bytes is not None and size > self.most_bytes else None

    def words(self, breach: LimitBreach) -> str:
        """Say it without the value."""
        match breach:
            case LimitBreach.SIZE:
                return f"longer than {self.most_bytes} bytes"
            case LimitBreach.RANGE:
                return f"not from {self.least} to {self.greatest}"
            case LimitBreach.CHARACTER:
                return "with a character that the target has not"
            case LimitBreach.ROW:
                return f"longer than {self.most_row_bytes} bytes, all its texts and bytes together"


TIME_OF_DAY: Final = Limit(least=0, greatest=DAY_MICROS - 1)  # 24:00 would silently be 00:00


def breach_text(column: str, breach: LimitBreach) -> str:
    """Write what a query fails with that meets such a value in a column."""
    return f"wrackline holds no {breach.value} of {column}"


def find_breach(text: str) -> tuple[str, LimitBreach] | None:
    """Return the column and how the value is beyond its limit, if that is what a query failed with."""
    found = _MARK.search(text)
    return None if found is None else (found[2], LimitBreach(found[1]))
