"""How often each error came on each day, as one half of a pipeline has logged it.

    ["shop","source",20785,"kafka.unreachable"]    the key: the day since 1970 in UTC, and the error's code

The value is the day's whole count until now, so the newest record of a key is all that is known of it.  The
newest `MOST_DAYS` days are remembered, and `MOST_CODES` codes of each.  A record that can't be read is
refused.  Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from wrackline.schemas.untrusted import moment, number, text

VERSION: Final = 1
MOST_DAYS: Final = 7
MOST_CODES: Final = 200  # of a day
LONGEST: Final = 500  # characters of a sentence
LONGEST_CODE: Final = 100
_MOST_BYTES: Final = 8 << 10
DAY_MS: Final = 86_400_000


class ErrorDay(NamedTuple):
    """What a record counts."""

    day: int
    code: str


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How often an error came, when, and what it said last."""

    count: int
    first_ms: int
    last_ms: int
    kind: str
    sentence: str

    def encode(self) -> bytes:
        """Return it as a record's value."""
        return orjson.dumps(
            {
                "version": VERSION,
                "count": self.count,
                "first_ms": self.first_ms,
                "last_ms": self.last_ms,
                "kind": self.kind,
                "sentence": self.sentence[:LONGEST],
            }
        )


def read_count(value: bytes) -> ErrorCount:
    """Read a record's value; ValueError, KeyError or TypeError: it is none."""
    if len(value) > _MOST_BYTES:
        raise ValueError("too long")
    document = orjson.loads(value)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError("a version that is not known")
    first, last = moment(document["first_ms"]), moment(document["last_ms"])
    return ErrorCount(
        number(document["count"]), first, last, text(document["kind"]), text(document["sentence"])[:LONGEST]
    )


class ErrorDays:
    """The newest days of one half."""

    def __init__(self) -> None:
        self._counts: dict[ErrorDay, ErrorCount] = {}

    def take(self, about: ErrorDay, count: ErrorCount | None, today: int) -> None:
        """Take a count that was read or made, or that one is gone; what is too old is forgotten.

        A day of a clock that was ahead makes no other day old.
        """
        if len(about.code) > LONGEST_CODE:
            raise ValueError("no code")
        if count is None:
            self._counts.pop(about, None)
        elif about in self._counts or sum(one.day == about.day for one in self._counts) < MOST_CODES:
            self._counts[about] = count
        newest = sorted({one.day for one in self._counts})[-MOST_DAYS - 1 :]
        for old in self.before(max(today - MOST_DAYS + 1, min(newest, default=0))):
            del self._counts[old]

    def of(self, about: ErrorDay) -> ErrorCount | None:
        """Return a count."""
        return self._counts.get(about)

    def before(self, day: int) -> Sequence[ErrorDay]:
        """Return what counts an earlier day."""
        return [one for one in self._counts if one.day < day]

    def items(self) -> Iterator[tuple[ErrorDay, ErrorCount]]:
        """Yield all counts."""
        yield from self._counts.items()
