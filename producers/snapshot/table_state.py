"""One table's saved state: JSON with a version, beside `set_aside` in the table's one record.

    {"version": 1, "status": …, "shape": …, "jobs": [ ranges with their cursors ], "missing": …, "ended": …}

A job is one request's reading of this table; the first that has not failed is under way.  A range's cursor is
the last key *released*, so it moves in the Kafka transaction that carries the rows.  `MIGRATIONS` converts a
record of an older version; a newer record is refused.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Final, TypeAlias

import orjson
from pydantic import AfterValidator, Base64Bytes, Field, TypeAdapter

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.shape_changes import render_shape
from wrackline.producers.snapshot.work_items import KeySpan
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka.offsets_records import Json, canonical_json, read_as
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import TableId, TableSchema

VERSION: Final = 2
_MOST_ENDED = 32  # requests remembered a table, so that the same id twice is one

STATE_TOO_NEW = define(
    "snapshot.state_too_new",
    Definite,
    "a table's snapshot state has version {version}; this program reads up to {newest}",
    hint="run the newer version that wrote it",
)


class TableStatus(Enum):
    """The status of a table, as its saved state says; stages.py says what each one means."""

    QUEUED = "queued"
    SNAPSHOTTING = "snapshotting"
    REFRESHING = "refreshing"
    PAUSED = "paused"
    FAILED = "failed"
    GONE = "gone"
    STREAMING = "streaming"


class Outcome(Enum):
    """How a request ended for one table."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class PendingRange:
    """A part of a table that is still to be released; `span.after` is the last key released."""

    number: int
    span: KeySpan


@dataclass(frozen=True, slots=True)
class Job:
    """One request's reading of one table."""

    id: str
    purpose: Purpose
    kind: SnapshotKind = SnapshotKind.INCREMENTAL
    condition: str | None = None
    surrogate_key: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    keys: tuple[Bound, ...] = ()
    begun: bool = False  # its first work was handed out
    also_refresh: bool = False  # the copy is no longer right without it: what is left can't be stopped
    key: tuple[str, ...] | None = None  # columns that order the rows; None: not planned yet
    ranges: tuple[PendingRange, ...] = ()
    most: Bound | None = None  # the greatest key when it was planned
    rows: int = 0  # released
    expected: int | None = None  # rows, as the database estimated when it was planned
    failed: FaultReason | None = None

    @property
    def whole(self) -> bool:
        """Whether it reads all rows of the table."""
        return self.condition is None and self.low is None and self.high is None and not self.keys

    @property
    def needed(self) -> bool:
        """Whether the copy is not right without it, so that no stop and no number of tries ends it."""
        return self.also_refresh or self.purpose is not Purpose.REQUESTED

    @property
    def refreshes(self) -> bool:
        """Whether values changed without row events, so that only a later read has them."""
        return self.also_refresh or self.purpose is Purpose.REFRESH

    def anew(self) -> "Job":
        """Return the same job before its plan."""
        return replace(self, key=None, ranges=(), most=None, rows=0, expected=None)


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A row whose newest event was partial, so all of it must be read; `number` distinguishes two events."""

    bound: Bound
    number: int


@dataclass(frozen=True, slots=True)
class TableDeparture:
    """What is known of a table that is gone; it means nothing once the table is back."""

    dropped: bool = False  # no table has its name any more; else it may only be hidden, or left out
    renamed_to: TableId | None = None  # captured under this name


@dataclass(frozen=True, slots=True)
class TableState:
    """All that is known of one table; frozen, because a saved state must not change under the saver."""

    shape: TableSchema | None = None
    jobs: tuple[Job, ...] = ()
    ended: Mapping[str, Outcome] = field(default_factory=dict)
    missing: Mapping[bytes, MissingRow] = field(default_factory=dict)  # by record key
    paused: bool = False
    set_aside: FaultReason | None = None
    letters: Mapping[str, int] = field(default_factory=dict)  # by column: values that set their row aside
    nulls: Mapping[str, int] = field(default_factory=dict)  # by column: values that are published as null
    lacking: frozenset[bytes] = frozenset()  # record keys of letters, of which the copy may have older rows
    lacks_more: bool = False  # there may be letters whose keys are not in `lacking`
    gap: bool = False  # some of its log was in no topic: the next whole read begins with a `t` event
    withheld: frozenset[int] = frozenset()  # columns that hold values in the source and are in no event
    departure: TableDeparture = TableDeparture()

    @property
    def active(self) -> Job | None:
        """The job under way."""
        return next((job for job in self.jobs if job.failed is None), None)

    @property
    def reason(self) -> FaultReason | None:
        """Why the copy of the table stays wrong unless it is repaired; a mere request has its receipt.

        Of several failures it is the newest: the cause of an older one may be removed by now.
        """
        failed = (job.failed for job in reversed(self.jobs) if job.failed and job.needed)
        return self.set_aside or next(failed, None)

    @property
    def status(self) -> TableStatus:
        """The status of the table."""
        if self.left and self.shape is None:
            return TableStatus.GONE
        job = self.active
        if self.set_aside or (job is None and self.reason):
            return TableStatus.FAILED
        if job is None:
            return TableStatus.REFRESHING if self.missing else TableStatus.STREAMING
        if self.paused:
            return TableStatus.PAUSED
        if not job.begun:
            return TableStatus.QUEUED
        return TableStatus.REFRESHING if job.purpose is Purpose.REFRESH else TableStatus.SNAPSHOTTING

    @property
    def left(self) -> bool:
        """Whether it was gone, or left out by the filters: it is then read like a new table, behind a `t`."""
        return self.gap and not self.jobs and self.set_aside is None

    def knows(self, request_id: str) -> bool:
        """Whether this request was taken before."""
        return request_id in self.ended or any(job.id == request_id for job in self.jobs)

    def counting(self, column: str, times: int, *, letter: bool) -> "TableState":
        """Return the state after this many more values of a column that do not fit."""
        if letter:
            return replace(self, letters={**self.letters, column: self.letters.get(column, 0) + times})
        return replace(self, nulls={**self.nulls, column: self.nulls.get(column, 0) + times})

    def with_shape(self, shape: TableSchema | None, filled: frozenset[int]) -> "TableState":
        """Return the state with this shape; `filled` columns that the shape lacks are withheld."""
        shown = frozenset(column.identity for column in shape.columns) if shape else frozenset()
        return replace(self, shape=shape, withheld=(self.withheld | filled) - shown)

    def with_job(self, changed: Job) -> "TableState":
        """Return the state with one job changed, or added."""
        jobs = tuple(changed if job.id == changed.id else job for job in self.jobs)
        return replace(self, jobs=jobs if changed in jobs else (*jobs, changed))

    def without_job(self, request_id: str, outcome: Outcome) -> "TableState":
        """Return the state after a job has ended; of the jobs that ended, the newest are remembered."""
        jobs = tuple(job for job in self.jobs if job.id != request_id)
        return replace(self.remembering(request_id, outcome), jobs=jobs)

    def remembering(self, request_id: str, outcome: Outcome) -> "TableState":
        """Return the state that knows this request."""
        ended = [(known, how) for known, how in self.ended.items() if known != request_id]
        return replace(self, ended=dict([*ended, (request_id, outcome)][-_MOST_ENDED:]))


def render_state(state: TableState) -> Json:
    """Render a state; the reason of a table that is set aside is written where `set_aside` looks for it."""
    fields: dict[str, object] = {
        "version": VERSION,
        "status": state.status.value,
        "shape": None if state.shape is None else orjson.Fragment(_rendered_shape(state.shape)),
        "jobs": [_rendered_job(job) for job in state.jobs],
        "ended": [[known, outcome.value] for known, outcome in state.ended.items()],
        "missing": [[b64encode(key).decode(), one.bound, one.number] for key, one in state.missing.items()],
        "paused": state.paused,
        "letters": state.letters,
        "nulls": state.nulls,
        "lacking": [b64encode(key).decode() for key in sorted(state.lacking)],
        "lacks_more": state.lacks_more,
        "gap": state.gap,
        "withheld": sorted(state.withheld),
        "reason": None if state.reason is None else asdict(state.reason),
    }
    if state.status is TableStatus.GONE:
        renamed_to = state.departure.renamed_to
        fields |= {
            "dropped": state.departure.dropped,
            "renamed_to": None if renamed_to is None else list(renamed_to),
        }
    if state.set_aside is not None:
        fields |= table_fault.reason_field(state.set_aside)
    return canonical_json(fields)


def parse_state(kept: Json, table: TableId) -> TableState:
    """Read back what this or an older version wrote."""
    version = read_as(_VERSIONED, kept, table).version
    if version > VERSION:
        raise STATE_TOO_NEW(version=version, newest=VERSION)
    if version < VERSION:
        fields = orjson.loads(kept)
        for migrate in MIGRATIONS[version:]:
            fields = migrate(fields)
        kept = canonical_json(fields)
    read = read_as(_KEPT, kept, table)
    return TableState(
        shape=read.shape,
        jobs=tuple(map(_job_of, read.jobs)),
        ended=dict(read.ended),
        missing={key: MissingRow(bound, number) for key, bound, number in read.missing},
        paused=read.paused,
        set_aside=read.set_aside,
        letters=read.letters,
        nulls=read.nulls,
        lacking=frozenset(read.lacking),
        lacks_more=bool(read.letters) if read.lacks_more is None else read.lacks_more,
        gap=read.gap,
        withheld=frozenset(read.withheld),
        departure=TableDeparture(read.dropped, read.renamed_to),
    )


def _from_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a record from before there was a machine: it holds at most why a table was set aside."""
    return {"shape": None, "jobs": [], "ended": [], "missing": [], "paused": False, **fields}


def _from_one(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add that the log of a table that is set aside has a gap."""
    return {"gap": fields.get("set_aside") is not None, **fields}


MIGRATIONS: Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]] = (_from_none, _from_one)


@lru_cache(maxsize=4096)
def _rendered_shape(shape: TableSchema) -> Json:
    """Render a shape once, not once a slice."""
    return canonical_json(render_shape(shape))


def _rendered_job(job: Job) -> dict[str, object]:
    """Leave out what is not set: most of it is not, and a record is written with every slice."""
    fields: dict[str, object] = {
        "id": job.id,
        "purpose": job.purpose.value,
        "kind": job.kind.value,
        "condition": job.condition,
        "surrogate_key": job.surrogate_key,
        "low": job.low,
        "high": job.high,
        "keys": job.keys or None,
        "begun": job.begun or None,
        "also_refresh": job.also_refresh or None,
        "key": job.key,
        "ranges": [[one.number, one.span.after, one.span.upto, one.span.only] for one in job.ranges] or None,
        "most": job.most,
        "rows": job.rows or None,
        "expected": job.expected,
        "failed": None if job.failed is None else asdict(job.failed),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _with_its_key(shape: TableSchema) -> TableSchema:
    if not {*shape.key} <= {column.name for column in shape.columns}:
        raise ValueError
    return shape


_Count: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 63)]


@dataclass(frozen=True, slots=True)
class _VersionedState:
    version: _Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _SavedJob:
    id: str
    purpose: Purpose
    kind: SnapshotKind
    condition: str | None = None
    surrogate_key: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    keys: tuple[Bound, ...] = ()
    begun: bool = False
    also_refresh: bool = False
    key: tuple[str, ...] | None = None
    ranges: tuple[tuple[_Count, Bound | None, Bound | None, tuple[Bound, ...]], ...] = ()
    most: Bound | None = None
    rows: _Count = 0
    expected: _Count | None = None
    failed: FaultReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SavedState:
    status: TableStatus | None = None  # None: an older record does not contain it
    shape: Annotated[TableSchema, AfterValidator(_with_its_key)] | None
    jobs: tuple[_SavedJob, ...]
    ended: tuple[tuple[str, Outcome], ...]
    missing: tuple[tuple[Base64Bytes, Bound, _Count], ...]
    paused: bool
    set_aside: FaultReason | None = None
    letters: dict[str, _Count] = field(default_factory=dict)
    nulls: dict[str, _Count] = field(default_factory=dict)
    lacking: tuple[Base64Bytes, ...] = ()
    lacks_more: bool | None = None
    gap: bool
    withheld: tuple[_Count, ...] = ()
    dropped: bool = False
    renamed_to: TableId | None = None


_VERSIONED: Final = TypeAdapter(_VersionedState)
_KEPT: Final = TypeAdapter(_SavedState)


def _job_of(kept: _SavedJob) -> Job:
    ranges = [PendingRange(number, KeySpan(after, upto, only)) for number, after, upto, only in kept.ranges]
    others = {name: getattr(kept, name) for name in _SavedJob.__slots__}
    return Job(**{**others, "ranges": tuple(ranges)})
