"""What the two halves of a pipeline report: the records of `wrackline-<name>-status`, and their fold.  Pure.

    ["shop","source"]                         a half: its state, since when, its error, its figures
    ["shop","source-1"]                       task 1 of a half that has several; the first has no number
    ["shop","target","shop.public.orders"]    one table of it, by the name of its topic without the server
    ["shop","target","shop.public.orders",1764000000000]    its columns since that moment: column_maps.py
    ["shop","target","shop.public.orders",1764028800000,"minutes"]    its minutes of a day: minute_records.py
    ["shop","source",20785,"kafka.unreachable"]    how often it logged an error on a day: past/error_days.py

A record is a whole document and the topic is compacted, so the newest record of each key is all that is
known; a reader that does not know a form of key passes over it.  `at_ms` is the writer's time.  A half that
runs reports at least every `ALIVE_S` seconds; after `SILENT_S` it counts as silent, whatever it said last.  A
record that can't be read is refused.  So is one that makes a half larger than ours ever are: anybody who may
write to the topic could fill a reader's memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

import orjson

from wrackline.schemas.kafka.board_shapes import half_report, source_table, target_table
from wrackline.schemas.kafka.column_maps import MapLog, check_map
from wrackline.schemas.kafka.past.error_days import DAY_MS, ErrorDay, ErrorDays, read_count
from wrackline.schemas.minutes.minute_records import MinuteLog
from wrackline.schemas.untrusted import moment, number, text

VERSION: Final = 1
ALIVE_S: Final = 5.0
SILENT_S: Final = 15.0
MINUTES: Final = "minutes"
MOST_TASKS: Final = 128  # of a half
MOST_TABLES: Final = 50_000  # of a half
MOST_BYTES: Final = 128 << 20  # of a half's reports: 2.6 KB for each of so many tables, which have about 1 KB
_LONGEST_KEY: Final = 4 << 10  # bytes
_LONGEST: Final = 8 << 20  # bytes of a value
_AHEAD_MS: Final = 86_400_000  # that a writer's clock may be
_OF_STATE: Final = ("state", "standing", "error", "reason")
Document = Mapping[str, Any]


class Half(Enum):
    """One of a pipeline's two processes."""

    SOURCE = "source"
    TARGET = "target"


class HalfState(Enum):
    """What a half does, in its own words."""

    STARTING = "starting"
    RUNNING = "running"
    RECOVERING = "recovering"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


ENDED: Final = frozenset({HalfState.COMPLETED, HalfState.STOPPED, HalfState.FAILED})


class BoardKey(NamedTuple):
    """What a record is about."""

    pipeline: str
    half: Half
    table: str | None = None
    since_ms: int | None = None  # of a map of its columns, or the day of its minutes
    part: str | None = None  # MINUTES; None: a map
    errors: ErrorDay | None = None  # what it counts
    task: int = 0  # of a half that has several

    def encode(self) -> bytes:
        """Return the record's key."""
        of_table = (self.table, self.since_ms, self.part)
        half = f"{self.half.value}-{self.task}" if self.task else self.half.value
        named = [self.pipeline, half, *(self.errors or of_table)]
        return orjson.dumps([part for part in named if part is not None])


def parse_key(key: bytes) -> BoardKey:
    """Read a record's key; ValueError or TypeError: it is none."""
    pipeline, of, *rest = orjson.loads(key)
    name, _, digits = text(of).partition("-")
    half, task = Half(name), int(digits or 0)
    if of != (f"{name}-{task}" if task else name) or not 0 <= task < MOST_TASKS:
        raise ValueError("a task that there never is")
    if len(rest) == 2 and isinstance(rest[1], str):
        return BoardKey(text(pipeline), half, errors=ErrorDay(number(rest[0]), rest[1]), task=task)
    if rest[2:] not in ([], [MINUTES]):
        raise ValueError("a key of other parts")
    table = text(rest[0]) if rest else None
    since_ms = moment(rest[1]) if rest[1:] else None
    return BoardKey(text(pipeline), half, table, since_ms, MINUTES if rest[2:] else None, task=task)


def encode(document: Document, at_ms: int) -> bytes:
    """Return a record's value."""
    return orjson.dumps({"version": VERSION, "at_ms": at_ms, **document})


@dataclass(slots=True)
class HalfBoard:
    """What is known of one half."""

    report: Document = field(default_factory=dict)
    heard_ms: int = 0  # when the newest record of any kind was written or read, by this machine's clock
    tables: dict[str, Document] = field(default_factory=dict)
    maps: MapLog = field(default_factory=MapLog)
    errors: ErrorDays = field(default_factory=ErrorDays)
    version: int = 0  # another one after each record
    states: int = 0  # another one after each record that says another state of the half or of a table
    minutes: MinuteLog = field(default_factory=MinuteLog)

    @property
    def state(self) -> HalfState | None:
        """What it said last; None: it has never reported."""
        return HalfState(self.report["state"]) if self.report else None

    def complete_ms(self, table: str) -> int | None:
        """Return through which moment a table of a target half is complete; None: that is not known."""
        known = self.tables.get(table, {})
        own: int | None = known.get("complete_ms")
        return self.report.get("through_ms") if known.get("current") else own

    def lacks(self, table: str) -> bool:
        """Whether rows of a table may be missing, also of before the moment through which it was complete."""
        return bool(self.tables.get(table, {}).get("lacks"))

    def is_silent(self, now_ms: int) -> bool:
        """Whether it should have reported by now."""
        state = self.state
        return state is not None and state not in ENDED and now_ms - self.heard_ms > SILENT_S * 1000

    def runs(self, now_ms: int) -> bool:
        """Whether it reports that it has not ended."""
        return self.state not in {None, *ENDED} and not self.is_silent(now_ms)


class BoardFull(ValueError):  # noqa: N818 - one record is refused, nothing failed
    """A record is one more, or larger, than what is kept of a half."""


class Board:
    """The fold of the records of any number of pipelines."""

    def __init__(self) -> None:
        self._halves: dict[tuple[str, Half], dict[int, HalfBoard]] = {}
        self._records = 0
        self._bytes: dict[tuple[str, Half], int] = {}  # of the reports of all tasks of a half

    def apply(self, key: bytes, value: bytes | None, heard_ms: int) -> BoardKey:
        """Take the next record.  ValueError, KeyError or TypeError: it is not known.  BoardFull: too much."""
        if len(key) > _LONGEST_KEY or len(value or b"") > _LONGEST:
            raise BoardFull(f"a record has more than {_LONGEST_KEY:,} bytes of key, or {_LONGEST:,} of value")
        about = parse_key(key)
        if about.since_ms is not None:
            self._take_past(about, value, heard_ms)
            return about
        if about.errors is not None:
            self._take_count(about, about.errors, value, heard_ms)
            return about
        report = None if value is None else _report(value, about)
        half = self._task(about)
        before = half.report if about.table is None else half.tables.get(about.table)
        self._make_room(about, before, report)
        half.heard_ms = max(half.heard_ms, heard_ms)
        if about.table is None:
            half.report = report or {}
        elif report is None:
            half.tables.pop(about.table, None)
        else:
            half.tables[about.table] = report
        self._records += 1  # of all pipelines, so one that is forgotten and comes again has no old number
        half.version = self._records
        if _state(before) != _state(report):
            half.states = self._records
        return about

    def _make_room(self, about: BoardKey, before: Document | None, report: Document | None) -> None:
        """Count what is kept; BoardFull: this record is more than that, so the one before it stays."""
        of = (about.pipeline, about.half)
        growth = _size(report) - _size(before)
        size = self._bytes.get(of, 0) + growth
        if size > MOST_BYTES:
            raise BoardFull(f"its {about.half.value} half reports more than {MOST_BYTES:,} bytes")
        is_new = about.table is not None and report is not None and before is None
        if is_new and sum(len(task.tables) for task in self._halves[of].values()) >= MOST_TABLES:
            raise BoardFull(f"its {about.half.value} half reports more than {MOST_TABLES:,} tables")
        self._bytes[of] = size

    def _take_past(self, about: BoardKey, value: bytes | None, heard_ms: int) -> None:
        """Take a map or a day of minutes; it says nothing of how the half is now."""
        if (about.since_ms or 0) > heard_ms + _AHEAD_MS:
            raise ValueError("a record of the future")
        if about.task:
            raise ValueError("all tasks write theirs as the first")
        half = self._task(about)
        if about.part is not None:
            half.minutes.take(about.table or "", about.since_ms or 0, value)
            self._records += 1
            half.version = self._records  # a page draws them
            return
        if value is not None:
            check_map(value)
        half.maps.take(about.table or "", about.since_ms or 0, value)

    def _take_count(self, about: BoardKey, errors: ErrorDay, value: bytes | None, heard_ms: int) -> None:
        if errors.day * DAY_MS > heard_ms + _AHEAD_MS:
            raise ValueError("a count of the future")
        count = None if value is None else read_count(value)
        half = self._task(about)
        half.errors.take(errors, count, heard_ms // DAY_MS)

    def _task(self, about: BoardKey) -> HalfBoard:
        tasks = self._halves.setdefault((about.pipeline, about.half), {})
        return tasks.setdefault(about.task, HalfBoard())

    def tasks(self, pipeline: str, half: Half) -> Mapping[int, HalfBoard]:
        """Return what is known of each task of a half."""
        return self._halves.get((pipeline, half), {})

    def half(self, pipeline: str, half: Half) -> HalfBoard:
        """Return what is known of a half that has one task, as target halves have."""
        return self.tasks(pipeline, half).get(0) or HalfBoard()

    def shift(self, ms: int) -> None:
        """Move when each half was heard, because this machine's clock was set by so much."""
        for half in (task for tasks in self._halves.values() for task in tasks.values()):
            half.heard_ms = max(0, half.heard_ms + ms) if half.heard_ms else 0

    def forget(self, pipeline: str) -> None:
        """Forget a pipeline that no longer exists here."""
        for half in Half:
            self._halves.pop((pipeline, half), None)
            self._bytes.pop((pipeline, half), None)


def _state(document: Document | None) -> Sequence[object] | None:
    """Return what a person is waiting to see, of a half or of a table; its figures are all the rest."""
    return None if document is None else [document.get(name) for name in _OF_STATE]


def _size(document: Document | None) -> int:
    """Return the bytes of a report as text; in memory it is several times as large."""
    return len(orjson.dumps(document)) if document else 0


def _report(value: bytes, about: BoardKey) -> Document:
    document = orjson.loads(value)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError("a version that is not known")
    moment(document["at_ms"])
    if about.table is None:
        HalfState(document["state"])
        return half_report(document)
    return source_table(document, about.table) if about.half is Half.SOURCE else target_table(document)
