"""One table under way: its state, the plan and the windows that work for it, and what it wants next.

The state alone is saved; all else is made anew at a start.  Whatever takes a job, its plan or its place
away, takes its windows too: their tickets then mean nothing when they come back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wrackline.producers.changes import Position, Unsent
from wrackline.producers.chunks import KEY_GONE, Bound, Chunk, ChunkRequest, Halves, Mark, TailOf
from wrackline.producers.set_aside import Reason
from wrackline.producers.snapshot import jobs, missing
from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.shapes import Need, moves_keys, needs_refresh
from wrackline.producers.snapshot.state import Job, Missing, TableState
from wrackline.producers.snapshot.window import Window
from wrackline.producers.snapshot.work import Limits, Span, Ticket
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.signals import SnapshotKind
from wrackline.schemas.splice import Pieces, sent
from wrackline.schemas.table import TableId, TableSchema

OUTRUN = define(
    "snapshot.outrun",
    Transient,
    "while they were read the log changed more of them than are remembered, or in another shape",
    hint="lower incremental.snapshot.chunk.size, for shorter reads; or hold them until the table is quieter:"
    " wrackline snapshot pause <pipeline.toml>",
)

BoundOf = Callable[[TableSchema, bytes], Bound | None]
Changed = Callable[["Table", TableState, TableState], None]
HeldUp = Callable[[TableId, WracklineError, int], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """A read that the table wants; the machine gives it a ticket."""

    request: ChunkRequest
    job: Job | None
    number: int = 0
    asked: Mapping[bytes, Missing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan under way for a job; once it is made it may wait for its mark, and is saved only then.

    Before it the same for its `t` event, where there is to be one.
    """

    ticket: Ticket
    job: str
    made: tuple[Sequence[str], Sequence[Span], int | None] | None = None
    mark: Mark | None = None
    void: TailOf | None = None  # makes the `t` event, which waits for a place to go out at


class Table:
    """One table."""

    def __init__(
        self,
        table: TableId,
        state: TableState,
        limits: Limits,
        *,
        bound_of: BoundOf,
        changed: Changed,
        held_up: HeldUp,
        new_id: Callable[[], str],
    ) -> None:
        self.id, self.state = table, state
        self._limits, self._bound_of, self._changed, self._new_id = limits, bound_of, changed, new_id
        self._held_up = held_up
        self.windows: dict[Ticket, Window] = {}  # in the order in which they were handed out
        self.plan: Planning | None = None
        self.refs: set[int] = set()
        self._left_out = state.set_aside  # why this session's stream does not hand it out
        self.wait_until = 0.0
        self._tries = 0
        self._lost = 0  # reads in a row whose rows could not be told
        self._rests = False  # whether it waits from the next moment that is known
        self._row_bytes = 1  # of the last chunk's rows: the next one asks for as many as fit
        self._reach: dict[int, Bound | None] = {}  # by range: the last key read
        self._read_out: set[int] = set()  # ranges without rows left to read
        self._numbers = max((one.number for one in state.missing.values()), default=0)

    @property
    def streamed(self) -> bool:
        """Whether the stream hands out its changes."""
        return self._left_out is None

    @property
    def keyless(self) -> bool:
        """Whether the job under way reads a table without a key: in pieces of one read, at one place."""
        job = self.state.active
        return job is not None and job.key == ()

    @property
    def reads_keyless(self) -> bool:
        """Whether such a read is under way."""
        return self.keyless and bool(self._reach or self._job_windows())

    @property
    def watches(self) -> bool:
        """Whether the table wants to know which keys the log changes."""
        return bool(self.windows or self.state.missing)

    def change(self, state: TableState) -> None:
        """Take another state; windows and plans of jobs that are no longer under way go with the old one."""
        before, self.state = self.state, state
        if state == before:
            return
        job = state.active
        for ticket, window in list(self.windows.items()):
            of_job = window.job is not None
            if of_job and (job is None or job.id != window.job or job.key is None or state.paused):
                del self.windows[ticket]
        if self.plan and (job is None or job.id != self.plan.job or job.key is not None or state.paused):
            self.plan = None
        same = job is not None and before.active is not None and job.id == before.active.id
        if not self._job_windows() and not (same and self.keyless and not state.paused):
            self._reach.clear()
            self._read_out.clear()
        self._changed(self, before, state)

    # What the log says.

    def full(self, key: bytes) -> None:
        """The log has this row whole, or its end."""
        stale = False
        for window in self.windows.values():
            window.settle(key)
            stale = stale or window.stale
        if stale:
            self._drop_stale()
        self._not_missing(key)

    def partial(self, op: str, key: bytes, value: bytes, unsent: Unsent, shape: TableSchema) -> None:
        """The log has this row without the columns that did not change."""
        if op == "d":
            if unsent.other_key is None:
                self.full(key)
            return  # else the create of the new key follows at once, and says both
        if self.windows:
            self._into_windows(op, key, sent(value, shape, unsent.columns), unsent.other_key, shape)
        if op == "c":
            if unsent.other_key is not None:
                self._not_missing(unsent.other_key)
            self._miss(key, shape)
        elif key not in self.state.missing and self._moves_unread():
            self._miss(key, shape)

    def _into_windows(
        self, op: str, key: bytes, pieces: Pieces, other: bytes | None, shape: TableSchema
    ) -> None:
        for window in self.windows.values():
            if op == "u":
                window.patch(key, pieces, shape)
            elif other is None:
                window.settle(key)
            else:
                window.move(other, key, pieces, shape)
        self._drop_stale()

    def truncate(self) -> None:
        """All rows went at once; one read of all at an earlier place is made anew."""
        if self.keyless:
            self._drop_read()
        for window in self.windows.values():
            window.truncate()
        if self.state.missing:
            self.change(replace(self.state, missing={}))

    def shaped(
        self, shape: TableSchema | None, filled: frozenset[int], *, refresh: bool, void: bool = False
    ) -> None:
        """The table has this shape now: what was read in another is read again (rule 6).

        A shape that is not told may be another one.  `void`: rows are gone that nobody told of, as in a gap
        of the log; so are those whose key was altered.
        """
        known = self.state.shape
        need = Need.REFRESH if refresh else Need.NOTHING
        another = shape is not None and known is not None and shape != known
        if shape is not None and known is not None and another:
            need = max(need, needs_refresh(known, shape, filled), key=list(Need).index)
            void = void or moves_keys(known, shape)
        if another or refresh or shape is None:
            self._drop_all()
            if self._lost or self._tries:  # what it waited for is here, perhaps
                self.wait_until, self._lost, self._tries, self._rests = 0.0, 0, 0, False
        state = replace(self.state, shape=shape or known, gap=self.state.gap or void)
        self.change(jobs.reshaped(state, need, self._new_id))

    def aside(self, reason: Reason) -> None:
        """The log hands out no more of it."""
        self._left_out = reason
        self._drop_all()
        self.change(jobs.set_aside(self.state, reason))

    def gone(self) -> None:
        """The table is no more."""
        self._drop_all()
        self.change(jobs.gone(self.state, self._left_out))

    def followed(self) -> None:
        """Another table has its name, whole in the log: the copy has the rows of the one before."""
        if self.state.gap and self.state.set_aside is None:
            self.change(jobs.unsure(self.state, self._new_id))

    # What is asked of it.

    def ask(self, job: Job, *, anew: bool) -> None:
        """Read its rows, after a gap in its log or not."""
        self.wait_until, self._tries = 0.0, 0
        state = replace(self.state, gap=self.state.gap or anew)
        self.change(jobs.asked(state, job, self._new_id))

    def stop(self) -> None:
        """Read no more of what was asked for."""
        self.change(jobs.stopped(self.state, self._new_id))

    def pause(self, *, paused: bool) -> None:
        """Hold on, or go on."""
        state = replace(self.state, paused=paused)
        if not paused and state.active is not None:
            for job in state.jobs:
                state = state.with_job(replace(job, begun=True)) if job.failed is None else state
        self.change(state)

    # What it wants, and what comes of it.

    def plans(self, now: float) -> Job | None:
        """The job that wants a plan."""
        job = self.state.active
        ready = self._ready(now) and not self.state.paused and self.plan is None
        return job if ready and job is not None and job.key is None else None

    def voids(self, job: Job) -> bool:
        """Whether a `t` event goes out before the job is planned; a first read may take some rows only."""
        return self.state.gap and (job.whole or job.purpose is Purpose.INITIAL)

    def void(self, place: Position, ts_ms: int) -> Halves | None:
        """The `t` event that may go out at this place, before anything of its job was read.

        Why it is right: what the log told until here is void with it, and seen by all reads from here on;
        what the log tells from here on is newer than it, and so are the rows.
        """
        plan = self.plan
        if plan is None or plan.void is None:
            return self._void_of_read(place, ts_ms)
        value = plan.void(place, ts_ms=ts_ms, snapshot=self.word_of(self.state.active), chunk=plan.ticket)
        self.plan, self._tries = None, 0
        self.change(jobs.voided(self.state))
        return Halves([(None, value)])

    def _void_of_read(self, place: Position, ts_ms: int) -> Halves | None:
        """The `t` event of a table without a key: what the log told before the place of the read is in it."""
        first = next(iter(self._job_windows()), None) if self.keyless else None
        value = None if first is None else first.void(place, ts_ms)
        if value is None:
            return None
        self.change(jobs.voided(self.state))
        return Halves([(None, value)])

    def wishes(self, now: float) -> Iterator[Wish]:
        """The reads that could begin now, those of missing rows first."""
        if not self._ready(now):
            return
        asked = self._unasked()
        if asked and self.state.shape is not None:
            only = tuple(one.bound for one in asked.values())
            yield Wish(self._request(self.state.shape.key, only=only), None, asked=asked)
        job = self.state.active
        if job is None or job.key is None or self.state.paused:
            return
        under_way = {window.number for window in self._job_windows() if not window.arrived}
        for one in job.ranges:
            if one.number not in under_way and one.number not in self._read_out:
                after = self._reach.get(one.number, one.span.after)
                request = self._request(job.key, after=after, upto=one.span.upto, only=one.span.only)
                yield Wish(replace(request, condition=job.condition), job, one.number)

    def planned(self) -> None:
        """The log has passed the plan's mark: the job has its ranges.

        Values that changed without row events are older in the log's images from before that change, so
        a refresh reads only once those are all behind: one of them would settle its key wrongly.
        """
        plan, job = self.plan, self.state.active
        self.plan, self._tries = None, 0
        if plan is not None and plan.made is not None and job is not None:
            self.change(jobs.planned(self.state, job, *plan.made))
            self.change(jobs.finished(self.state))

    def begin(self, job: Job) -> None:
        """A job's first work is handed out."""
        if not job.begun:
            self.change(self.state.with_job(replace(job, begun=True)))

    def word_of(self, job: Job | None) -> str:
        """What Debezium calls the rows of a job."""
        if job is None:
            return "incremental"
        first = job.purpose is Purpose.INITIAL
        return "true" if first or job.kind is SnapshotKind.BLOCKING else "incremental"

    def arrive(self, window: Window, chunk: Chunk, mark: Mark, *, passed: bool) -> None:
        """A window's chunk is here."""
        self._tries = 0
        count = sum(len(one.rows) for one in chunk.slices)
        if count:
            self._row_bytes = max(1, sum(one.size for one in chunk.slices) // count)
        known = self.state.shape
        if known is None:
            self.change(replace(self.state, shape=chunk.shape))
        elif chunk.shape != known and needs_refresh(known, chunk.shape, frozenset()) is not Need.NOTHING:
            self.shaped(chunk.shape, frozenset(), refresh=False)
            self._rest()  # the log's own rows are of the other shape until it comes there
            return
        window.arrive(chunk, mark, passed=passed)
        if window.stale:
            self._drop_stale()
        elif window.job is not None:
            if chunk.complete:
                self._read_out.add(window.number)
            elif chunk.piece is not None:
                self._reach[window.number] = (window.read.ticket,)  # the piece that the next one follows
            else:
                self._reach[window.number] = chunk.slices[-1].upto

    def fail(self, job: str | None, error: WracklineError, now: float) -> None:
        """A plan or a read failed: wait and try again, or give the job up (rule 9).

        What the copy needs is given up only where no wait mends it; once it has been tried often, somebody
        hears why nothing comes of it.
        """
        self._tries += 1
        if job is not None and self.keyless:
            self._drop_read()
        if job is not None and error.code == KEY_GONE.code:
            self._plan_anew()
        active = self.state.active if job is not None else None
        needed = active is None or active.needed
        if isinstance(error, Transient) and (needed or self._tries < self._limits.most_tries):
            self.wait_until = now + self._limits.wait(self._tries)
            if self._tries == self._limits.most_tries:
                self._held_up(self.id, error, self._tries)
            return
        self._tries = 0
        if job is not None or self.state.reason is None:
            self.change(jobs.failed(self.state, active, error, self._new_id))

    def _plan_anew(self) -> None:
        """The columns that order the rows are others: what was tried with the old ones counts no more."""
        before = self.state
        self._drop_all()
        self.change(jobs.unplanned(before))
        self._tries = self._tries if self.state == before else 1

    def release(self, place: Position, ts_ms: int) -> Halves | None:
        """The next slice that may go out: a range's chunks in the order in which they were read."""
        earlier: set[tuple[str | None, int]] = set()
        for ticket, window in self.windows.items():
            line = (window.job, window.number)
            if window.passed and (window.job is None or line not in earlier):
                return self._released(ticket, window, place, ts_ms)
            earlier.add(line)
        return None

    def _released(self, ticket: Ticket, window: Window, place: Position, ts_ms: int) -> Halves:
        upto, rows = window.take(place, ts_ms)
        over = window.exhausted
        if over:
            del self.windows[ticket]
        state = self.state
        if state.missing:
            state = missing.told(state, {key for key, _ in rows.rows})
        job = next((one for one in state.jobs if one.id == window.job), None)
        if job is not None:
            if not job.key:
                upto = None  # nothing orders the rows: only all of them are a place to go on from
            ended = over and window.number in self._read_out and not self._more(window)
            state = jobs.released(state, job, window.number, upto, len(rows), over=ended)
        self._lost = 0
        self.change(state)
        self.change(jobs.finished(self.state))
        if over and window.job is None and window.chunk.complete:
            self.change(missing.unfound(self.state, window.asked, self._new_id))
        return rows

    def _more(self, window: Window) -> bool:
        """Whether a later chunk of the same range is still to go out."""
        return any(other.number == window.number for other in self._job_windows())

    def _ready(self, now: float) -> bool:
        if self._rests:
            self._rests = False
            self.wait_until = max(self.wait_until, now + self._limits.wait(self._lost))
        return self.streamed and self.state.set_aside is None and now >= self.wait_until

    def _unasked(self) -> dict[bytes, Missing]:
        """Missing rows that no window will bring; none while the table stands failed."""
        if not self.state.missing or self.state.reason is not None:
            return {}
        if any(window.job is None and not window.arrived for window in self.windows.values()):
            return {}
        held = list(self.windows.values())
        found = [
            (key, one)
            for key, one in self.state.missing.items()
            if not any(window.holds(key) or window.asked.get(key) == one for window in held)
        ]
        return dict(found[: jobs.MOST_KEYS])

    def _request(
        self,
        key: tuple[str, ...],
        *,
        after: Bound | None = None,
        upto: Bound | None = None,
        only: tuple[Bound, ...] = (),
    ) -> ChunkRequest:
        limits = self._limits
        most = len(only) + 1 if only else min(limits.chunk_rows, 1 + limits.share // self._row_bytes)
        return ChunkRequest(
            self.id,
            key,
            after,
            upto,
            only,
            most_rows=most,
            slice_rows=limits.slice_rows,
            slice_bytes=limits.slice_bytes,
            most_bytes=limits.share,
            most_seconds=limits.chunk_seconds,
        )

    def _miss(self, key: bytes, shape: TableSchema) -> None:
        """Remember that this row's whole is to be read."""
        if not missing.all_to_be_read(self.state):
            self._numbers += 1
            bound = self._bound_of(shape, key)
            self.change(missing.missed(self.state, key, bound, self._numbers, self._new_id))

    def _not_missing(self, key: bytes) -> None:
        if key in self.state.missing:
            self.change(missing.told(self.state, (key,)))

    def _moves_unread(self) -> bool:
        """Whether a change may move a row past the cursor: the rows are read by columns that may change."""
        job = self.state.active
        return job is not None and job.surrogate_key is not None

    def _job_windows(self) -> list[Window]:
        return [window for window in self.windows.values() if window.job is not None]

    def _drop_stale(self) -> None:
        """Read windows again whose rows can't be told, a while later.

        Of a job that is all of them, for a later chunk begins where an earlier one ended.
        """
        stale = [window for window in self.windows.values() if window.stale]
        if not stale:
            return
        of_job = any(window.job is not None for window in stale)
        self.windows = {
            ticket: window
            for ticket, window in self.windows.items()
            if not window.stale and not (of_job and window.job is not None)
        }
        if of_job:
            self._reach.clear()
            self._read_out.clear()
        self._rest()

    def _rest(self) -> None:
        """Do not read at once what could not be told: nothing has changed yet."""
        self._lost += 1
        self._rests = True
        if self._lost == self._limits.most_tries:
            self._held_up(self.id, OUTRUN(), self._lost)

    def _drop_all(self) -> None:
        self.windows.clear()
        self.plan = None
        self._reach.clear()
        self._read_out.clear()

    def _drop_read(self) -> None:
        """Forget what was read of a job, from the last place that is saved on."""
        for ticket in [ticket for ticket, window in self.windows.items() if window.job is not None]:
            del self.windows[ticket]
        self._reach.clear()
        self._read_out.clear()
