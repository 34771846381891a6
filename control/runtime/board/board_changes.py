"""Which of a half's records are due.  Pure.

In: how the half is, and those of its tables that may have changed.  Out: the records that differ from what
was written before; the half's own at least every `ALIVE_S` seconds, which is its sign of life.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeVar

import orjson

from wrackline.schemas.kafka.board_records import ALIVE_S, MINUTES, BoardKey, Document, Half, encode
from wrackline.schemas.minutes.minute_book import MinuteRecord

Record = tuple[bytes, bytes | None]
_GONE: Final = b"null"  # what is written of a table that no longer exists
_Table = TypeVar("_Table")
_AT_ONCE: Final = 200  # tables; more of them wait for the next look at all figures


class LookScope(Enum):
    """What a look is at."""

    ALL = "all"  # all tables
    FIGURES = "figures"  # tables that may have changed since the last look
    STATES = "states"  # tables whose state has changed; all figures of the half are as they were


def urgent(tables: frozenset[_Table]) -> frozenset[_Table]:
    """Return the tables to report before the others: few, or none, so that a storm makes no more records."""
    return tables if len(tables) <= _AT_ONCE else frozenset()


class HalfLook(NamedTuple):
    """How a half is; a table that is None no longer exists."""

    half: Document
    tables: Mapping[str, Document | None]
    knows_all: bool = True  # a half that starts may not know yet which tables there are
    minutes: Sequence[MinuteRecord] = ()  # that are due: their book knows


class BoardChanges:
    """Remembers what was written."""

    def __init__(self, pipeline: str, half: Half, task: int = 0, tasks: int = 1) -> None:
        """Take also which task of a half it is, and of how many; the first removes what is left of others."""
        self._half, self._tasks = BoardKey(pipeline, half, task=task), tasks
        self._written: dict[BoardKey, bytes] = {}
        self._last = float("-inf")
        self._left: list[BoardKey] = []  # of tasks that there are no more

    def reported_before(self, keys: Iterable[BoardKey]) -> None:
        """Take the tables that an earlier process of this task has reported."""
        ours = [key for key in keys if key[:2] == self._half[:2] and key.since_ms is None]
        self._written |= {key: b"" for key in ours if key.task == self._half.task and key.errors is None}
        self._left = [key for key in ours if self._half.task == 0 and key.task >= self._tasks]

    def lost(self) -> None:
        """Take that something may not have been written: all of it is due again."""
        self._written = dict.fromkeys(self._written, b"")
        self._last = float("-inf")

    def due(self, look: HalfLook, now: float, now_ms: int, *, whole: bool) -> list[Record]:
        """Return the records to write now; a `whole` look names every table that exists."""
        made: list[Record] = [(key.encode(), None) for key in self._left]
        self._left = []
        made += [
            record
            for table, document in look.tables.items()
            for record in self._record(self._half._replace(table=table), document, now_ms)
        ]
        if whole and look.knows_all:
            gone = [key for key in self._written if key.table is not None and key.table not in look.tables]
            made += [record for key in gone for record in self._record(key, None, now_ms)]
        made += [
            (self._half._replace(table=table, since_ms=day_ms, part=MINUTES).encode(), value)
            for table, day_ms, value in look.minutes
        ]
        if now - self._last >= ALIVE_S:
            self._written.pop(self._half, None)
        if own := self._record(self._half, look.half, now_ms):
            self._last = now
        return made + own

    def _record(self, key: BoardKey, document: Document | None, now_ms: int) -> list[Record]:
        plain = orjson.dumps(document)
        if self._written.get(key, _GONE) == plain:
            return []
        self._written[key] = plain  # also of a table that is gone: its record may be lost
        return [(key.encode(), None if document is None else encode(document, now_ms))]
