"""One table's saved state: JSON with a version, beside `set_aside` in the table's one record.

    {"version": 1, "status": …, "shape": …, "jobs": [ ranges with their cursors ], "missing": …, "ended": …}

A job is one request's reading of this table; the first that has not failed is under way.  A range's cursor is
the last key *released*, so it moves in the Kafka transaction that carries the rows.  A record of an older
version is raised by `MIGRATIONS`; a newer one is refused.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import orjson

from wrackline.producers import set_aside
from wrackline.producers.chunks import Bound
from wrackline.producers.set_aside import Reason
from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.shapes import shape_of, shape_saved
from wrackline.producers.snapshot.work import Span
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.offsets import Json, canonical
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.table import TableSchema

VERSION: Final = 2
_MOST_ENDED = 32  # requests remembered a table, so that the same id twice is one

STATE_TOO_NEW = define(
    "snapshot.state_too_new",
    Definite,
    "a table's snapshot state has version {version}; this program reads up to {newest}",
    hint="run the newer version that wrote it",
)


class Status(Enum):
    """Where a table stands, as its saved state says."""

    QUEUED = "queued"  # rows were asked for, nothing was read yet
    SNAPSHOTTING = "snapshotting"
    REFRESHING = "refreshing"  # rows are read again beside the stream
    PAUSED = "paused"
    FAILED = "failed"  # with its reason
    GONE = "gone"  # captured no more: read as one that was never met when it comes back
    STREAMING = "streaming"  # the log alone; also a table of which nothing is to be read


class Outcome(Enum):
    """How a request ended for one table."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a table that is still to be released; `span.after` is the last key released."""

    number: int
    span: Span


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
    also_refresh: bool = False  # the copy is not right without it any more: what is left can't be stopped
    key: tuple[str, ...] | None = None  # columns that order the rows; None: not planned yet
    ranges: tuple[Range, ...] = ()
    most: Bound | None = None  # the greatest key when it was planned
    rows: int = 0  # released
    expected: int | None = None  # rows, as the database guessed when it was planned
    failed: Reason | None = None

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
        """The same job before its plan."""
        return replace(self, key=None, ranges=(), most=None, rows=0, expected=None)


@dataclass(frozen=True, slots=True)
class Missing:
    """A row whose newest event was partial, so its whole must be read; `number` tells two events apart."""

    bound: Bound
    number: int


@dataclass(frozen=True, slots=True)
class TableState:
    """All that is known of one table; frozen, for what was saved must not change under the saver."""

    shape: TableSchema | None = None
    jobs: tuple[Job, ...] = ()
    ended: Mapping[str, Outcome] = field(default_factory=dict)
    missing: Mapping[bytes, Missing] = field(default_factory=dict)  # by record key
    paused: bool = False
    set_aside: Reason | None = None
    gap: bool = False  # some of its log was in no topic: the next whole read begins with a `t` event

    @property
    def active(self) -> Job | None:
        """The job under way."""
        return next((job for job in self.jobs if job.failed is None), None)

    @property
    def reason(self) -> Reason | None:
        """Why the copy of the table is not right, if nobody mends it; a mere request has its receipt.

        Of several failures it is the newest: the cause of an older one may be removed by now.
        """
        failed = (job.failed for job in reversed(self.jobs) if job.failed and job.needed)
        return self.set_aside or next(failed, None)

    @property
    def status(self) -> Status:
        """Where the table stands."""
        if self.left and self.shape is None:
            return Status.GONE
        job = self.active
        if self.set_aside or (job is None and self.reason):
            return Status.FAILED
        if job is None:
            return Status.REFRESHING if self.missing else Status.STREAMING
        if self.paused:
            return Status.PAUSED
        if not job.begun:
            return Status.QUEUED
        return Status.REFRESHING if job.purpose is Purpose.REFRESH else Status.SNAPSHOTTING

    @property
    def left(self) -> bool:
        """Whether it was gone, or left out by the filters: read as one that was never met, behind a `t`."""
        return self.gap and not self.jobs and self.set_aside is None

    def knows(self, request_id: str) -> bool:
        """Whether this request was taken before."""
        return request_id in self.ended or any(job.id == request_id for job in self.jobs)

    def with_job(self, changed: Job) -> "TableState":
        """The state with one job changed, or added."""
        jobs = tuple(changed if job.id == changed.id else job for job in self.jobs)
        return replace(self, jobs=jobs if changed in jobs else (*jobs, changed))

    def without_job(self, request_id: str, outcome: Outcome) -> "TableState":
        """The state after a job has ended; of those that ended, the newest are remembered."""
        jobs = tuple(job for job in self.jobs if job.id != request_id)
        return replace(self.remembering(request_id, outcome), jobs=jobs)

    def remembering(self, request_id: str, outcome: Outcome) -> "TableState":
        """The state that knows this request."""
        ended = [(known, how) for known, how in self.ended.items() if known != request_id]
        return replace(self, ended=dict([*ended, (request_id, outcome)][-_MOST_ENDED:]))


def saved(state: TableState) -> Json:
    """Render a state; the reason of a table that is set aside stands where `set_aside` looks for it."""
    fields: dict[str, object] = {
        "version": VERSION,
        "status": state.status.value,
        "shape": None if state.shape is None else orjson.Fragment(_shape_saved(state.shape)),
        "jobs": [_job_saved(job) for job in state.jobs],
        "ended": [[known, outcome.value] for known, outcome in state.ended.items()],
        "missing": [[b64encode(key).decode(), one.bound, one.number] for key, one in state.missing.items()],
        "paused": state.paused,
        "gap": state.gap,
        "reason": None if state.reason is None else asdict(state.reason),
    }
    if state.set_aside is not None:
        fields |= set_aside.rendered(state.set_aside)
    return canonical(fields)


def parse(kept: Json) -> TableState:
    """Read back what this or an older version wrote."""
    fields = orjson.loads(kept)
    version = fields.get("version", 0)
    if version > VERSION:
        raise STATE_TOO_NEW(version=version, newest=VERSION)
    for migrate in MIGRATIONS[version:]:
        fields = migrate(fields)
    shape = fields["shape"]
    return TableState(
        shape=None if shape is None else shape_of(shape),
        jobs=tuple(_job_of(job) for job in fields["jobs"]),
        ended={known: Outcome(outcome) for known, outcome in fields["ended"]},
        missing={b64decode(key): Missing(tuple(bound), number) for key, bound, number in fields["missing"]},
        paused=fields["paused"],
        set_aside=set_aside.reason_in(fields),
        gap=fields["gap"],
    )


def _from_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Records before there was a machine hold at most why a table was set aside."""
    return {"shape": None, "jobs": [], "ended": [], "missing": [], "paused": False, **fields}


def _from_one(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Of a table that is set aside the log has a gap."""
    return {"gap": set_aside.reason_in(fields) is not None, **fields}


MIGRATIONS: Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]] = (_from_none, _from_one)


@lru_cache(maxsize=4096)
def _shape_saved(shape: TableSchema) -> Json:
    """Rendered once a shape, not once a slice."""
    return canonical(shape_saved(shape))


def _job_saved(job: Job) -> dict[str, object]:
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


def _job_of(fields: Mapping[str, Any]) -> Job:
    failed = fields.get("failed")
    key = fields.get("key")
    return Job(
        id=fields["id"],
        purpose=Purpose(fields["purpose"]),
        kind=SnapshotKind(fields["kind"]),
        condition=fields.get("condition"),
        surrogate_key=fields.get("surrogate_key"),
        low=_bound(fields.get("low")),
        high=_bound(fields.get("high")),
        keys=tuple(map(tuple, fields.get("keys", ()))),
        begun=fields.get("begun", False),
        also_refresh=fields.get("also_refresh", False),
        key=None if key is None else tuple(key),
        ranges=tuple(
            Range(number, Span(_bound(after), _bound(upto), tuple(map(tuple, only))))
            for number, after, upto, only in fields.get("ranges", ())
        ),
        most=_bound(fields.get("most")),
        rows=fields.get("rows", 0),
        expected=fields.get("expected"),
        failed=None if failed is None else Reason(**failed),
    )


def _bound(listed: Sequence[str | None] | None) -> Bound | None:
    return None if listed is None else tuple(listed)
