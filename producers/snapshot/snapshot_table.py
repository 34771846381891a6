"""One table under way: its state, the plan and the windows that work for it, and what it wants next.

Only the state is saved; all else is made again at a start.  Whatever takes away a job, its plan or its place
takes its windows too: their tickets then mean nothing when they come back.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wrackline.producers.contract.row_chunks import KEY_GONE, Bound, Chunk, ChunkRequest, Halves, Mark
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Position, Unsent
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot import incomplete_rows, jobs
from wrackline.producers.snapshot.shape_changes import RefreshNeed, moves_keys, needs_refresh
from wrackline.producers.snapshot.table_state import Job, MissingRow, TableDeparture, TableState
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.producers.snapshot.work_items import JobPlan, OpenPlan, SnapshotLimits, Ticket, VoidMade
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.events.splice import Pieces, sent_columns
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import TableId, TableSchema

OUTRUN = define(
    "snapshot.outrun",
    Transient,
    "while the rows were read, the log changed more of them than the task remembers, or in another shape",
    hint="lower incremental.snapshot.chunk.size, for shorter reads; or pause the snapshot until the table"
    " is quieter: wrackline snapshot pause <pipeline.toml>",
)

BoundOf = Callable[[TableSchema, bytes], Bound | None]
OnTableChanged = Callable[["SnapshotTable", TableState, TableState], None]
OnTableHeldUp = Callable[[TableId, WracklineError, int], None]


@dataclass(frozen=True, slots=True)
class WantedRead:
    """A read that the table wants; the machine gives it a ticket."""

    request: ChunkRequest
    job: Job | None
    number: int = 0
    missing: Mapping[bytes, MissingRow] = field(default_factory=dict)


class SnapshotTable:
    """One table."""

    def __init__(
        self,
        table: TableId,
        state: TableState,
        limits: SnapshotLimits,
        *,
        bound_of: BoundOf,
        changed: OnTableChanged,
        held_up: OnTableHeldUp,
        new_id: Callable[[], str],
    ) -> None:
        self.id, self.state = table, state
        self._limits, self._bound_of, self._changed, self._new_id = limits, bound_of, changed, new_id
        self._held_up = held_up
        self.windows: dict[Ticket, Window] = {}  # in the order in which they were handed out
        self.plan: OpenPlan | None = None
        self.refs: set[int] = set()
        self._left_out = state.set_aside  # why this session's stream does not hand out the table
        self.wait_until = 0.0
        self._tries = 0
        self._lost = 0  # reads in a row whose rows could not be known
        self._rests = False  # whether it waits from the next moment that is known
        self._row_bytes = 1  # of the last chunk's rows: the next chunk requests as many as fit
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
        return bool(self.windows or self.state.missing or self.state.lacking)

    def change(self, state: TableState) -> None:
        """Take another state; windows and plans of jobs that are no longer under way go with the old."""
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
        """Note that the log has this row whole, or its end."""
        stale = False
        for window in self.windows.values():
            window.settle(key)
            stale = stale or window.stale
        if stale:
            self._drop_stale()
        self._not_missing(key)

    def letter(self, key: bytes | None) -> None:
        """Note that a row of the log is a dead letter: older rows of the key are void, the copy lacks it."""
        if key is not None:
            self.full(key)
            self.change(incomplete_rows.remember_letters(self.state, (key,)))

    def counted(self, column: str, times: int, *, letter: bool) -> None:
        """Note that this many values of a column that do not fit are reported with the next save."""
        self.change(self.state.counting(column, times, letter=letter))

    def partial(self, op: str, key: bytes, value: bytes, unsent: Unsent, shape: TableSchema) -> None:
        """Note that the log has this row without the columns that did not change."""
        if op == "d":
            if unsent.other_key is None:
                self.full(key)
            return  # else the create of the new key follows at once, and says both
        if self.windows:
            self._into_windows(op, key, sent_columns(value, shape, unsent.columns), unsent.other_key, shape)
        if op == "c":
            if unsent.other_key is not None:
                self._not_missing(unsent.other_key)
            self._miss(key, shape)
        elif key not in self.state.missing and (
            incomplete_rows.lacks(self.state, key) or self._moves_unread()
        ):
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
        """Note that all rows are gone at once; a whole read at an earlier place starts over."""
        if self.keyless:
            self._drop_read()
        for window in self.windows.values():
            window.truncate()
        self.change(replace(self.state, missing={}, lacking=frozenset(), lacks_more=False))

    def shaped(
        self, shape: TableSchema | None, filled: frozenset[int], *, refresh: bool, void: bool = False
    ) -> None:
        """Take the table's current shape: what was read in another shape is read again (rule 6).

        A shape that is not given may be another one.  `void`: rows are gone without an event, as in a gap
        of the log; so are rows whose key was altered.
        """
        known = self.state.shape
        need = RefreshNeed.REFRESH if refresh else RefreshNeed.NOTHING
        another = shape is not None and known is not None and shape != known
        if shape is not None and known is not None and another:
            valued = filled | self.state.withheld
            need = max(need, needs_refresh(known, shape, valued), key=list(RefreshNeed).index)
            void = void or moves_keys(known, shape)
        if another or refresh or shape is None:
            self._drop_all()
            if self._lost or self._tries:  # what it waited for is perhaps here
                self.wait_until, self._lost, self._tries, self._rests = 0.0, 0, 0, False
        state = self.state.with_shape(shape or known, filled)
        state = replace(state, gap=self.state.gap or void)
        self.change(jobs.take_shape(state, need, self._new_id))

    def aside(self, reason: FaultReason) -> None:
        """Set the table aside: the log hands out no more of it."""
        self._left_out = reason
        self._drop_all()
        self.change(jobs.set_aside(self.state, reason))

    def gone(self, departure: TableDeparture) -> None:
        """Note that no table of this name is captured any more."""
        self._drop_all()
        self.change(jobs.drop_jobs(self.state, self._left_out, departure))

    def came(self, shape: TableSchema | None, *, complete: bool) -> None:
        """Note that a table has this name now, perhaps a new one that is whole in the log."""
        self.shaped(shape, frozenset(), refresh=False)
        self.change(jobs.come(self.state, self._new_id, complete=complete))

    # What is requested of it.

    def ask(self, job: Job, *, anew: bool) -> None:
        """Read its rows, after a gap in its log or not."""
        self.wait_until, self._tries = 0.0, 0
        state = replace(self.state, gap=self.state.gap or anew)
        self.change(jobs.add_request(state, job, self._new_id))

    def stop(self) -> None:
        """Stop reading what was requested."""
        self.change(jobs.stop_requests(self.state, self._new_id))

    def pause(self, *, paused: bool) -> None:
        """Pause or continue."""
        state = replace(self.state, paused=paused)
        if not paused and state.active is not None:
            for job in state.jobs:
                state = state.with_job(replace(job, begun=True)) if job.failed is None else state
        self.change(state)

    # What it wants, and what comes of it.

    def plans(self, now: float) -> Job | None:
        """Return the job that wants a plan."""
        job = self.state.active
        ready = self._ready(now) and not self.state.paused and self.plan is None
        return job if ready and job is not None and job.key is None else None

    def voids(self, job: Job) -> bool:
        """Return whether a `t` event goes out before the plan; a first read may take only some rows."""
        return self.state.gap and (job.whole or job.purpose is Purpose.INITIAL)

    def void(self, place: Position, ts_ms: int) -> Halves | None:
        """Return the `t` event that may go out at this place, before anything of its job was read.

        Why it is right: the log's changes up to here are void with it, and seen by all reads from here on;
        the log's changes from here on are newer than it, and so are the rows.
        """
        plan = self.plan
        if not isinstance(plan, VoidMade):
            return self._void_of_read(place, ts_ms)
        value = plan.void(place, ts_ms=ts_ms, snapshot=self.word_of(self.state.active), chunk=plan.ticket)
        self.plan, self._tries = None, 0
        self.change(jobs.take_void(self.state))
        return Halves([(None, value)])

    def _void_of_read(self, place: Position, ts_ms: int) -> Halves | None:
        """Return the `t` event of a table without a key: the read contains all changes before its place."""
        first = next(iter(self._job_windows()), None) if self.keyless else None
        value = None if first is None else first.void(place, ts_ms)
        if value is None:
            return None
        self.change(jobs.take_void(self.state))
        return Halves([(None, value)])

    def wishes(self, now: float) -> Iterator[WantedRead]:
        """Yield the reads that could begin now, those of missing rows first."""
        if not self._ready(now):
            return
        missing = incomplete_rows.rows_to_read(self.state, list(self.windows.values()))
        if missing and self.state.shape is not None:
            only = tuple(one.bound for one in missing.values())
            yield WantedRead(self._request(self.state.shape.key, only=only), None, missing=missing)
        job = self.state.active
        if job is None or job.key is None or self.state.paused:
            return
        under_way = {window.number for window in self._job_windows() if not window.arrived}
        for one in job.ranges:
            if one.number not in under_way and one.number not in self._read_out:
                after = self._reach.get(one.number, one.span.after)
                request = self._request(job.key, after=after, upto=one.span.upto, only=one.span.only)
                yield WantedRead(replace(request, condition=job.condition), job, one.number)

    def planned(self, made: JobPlan) -> None:
        """Take the plan, because the log has passed its mark: the job has its ranges.

        Values that changed without row events are older in the log's images from before that change, so
        a refresh reads only once the log has passed all those images: one would settle its key wrongly.
        """
        self.plan, self._tries = None, 0
        if (job := self.state.active) is not None:
            self.change(jobs.take_plan(self.state, job, *made))
            self.change(jobs.finish_job(self.state))

    def begin(self, job: Job) -> None:
        """Note that a job's first work is handed out."""
        if not job.begun:
            self.change(self.state.with_job(replace(job, begun=True)))

    def word_of(self, job: Job | None) -> str:
        """Return what Debezium calls the rows of a job."""
        if job is None:
            return "incremental"
        first = job.purpose is Purpose.INITIAL
        return "true" if first or job.kind is SnapshotKind.BLOCKING else "incremental"

    def arrive(self, window: Window, chunk: Chunk, mark: Mark, *, passed: bool) -> None:
        """Take a window's chunk."""
        self._tries = 0
        count = sum(len(one.rows) for one in chunk.slices)
        if count:
            self._row_bytes = max(1, sum(one.size for one in chunk.slices) // count)
        known = self.state.shape
        if known is None:
            self.change(replace(self.state, shape=chunk.shape))
        elif (
            chunk.shape != known and needs_refresh(known, chunk.shape, frozenset()) is not RefreshNeed.NOTHING
        ):
            self.shaped(chunk.shape, frozenset(), refresh=False)
            self._rest()  # the log's own rows are of the other shape until it comes there
            return
        for key in window.arrive(chunk, mark, passed=passed):
            self._miss(key, chunk.shape)
        self.change(incomplete_rows.remember_letters(self.state, window.letters))
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
        """Note that a plan or a read failed: wait and try again, or give the job up (rule 9).

        What the copy needs is given up only if waiting does not repair it; after many tries, the error is
        reported.
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
            self.change(jobs.fail_job(self.state, active, error, self._new_id))

    def _plan_anew(self) -> None:
        """Drop plans, because other columns order the rows now: tries with the old ones no longer count."""
        before = self.state
        self._drop_all()
        self.change(jobs.drop_plans(before))
        self._tries = self._tries if self.state == before else 1

    def release(self, place: Position, ts_ms: int) -> Halves | None:
        """Return the next slice that may go out: a range's chunks in the order in which they were read."""
        earlier: set[tuple[str | None, int]] = set()
        for ticket, window in self.windows.items():
            line = (window.job, window.number)
            if window.stage is WindowStage.OPEN and (window.job is None or line not in earlier):
                return self._released(ticket, window, place, ts_ms)
            earlier.add(line)
        return None

    def _released(self, ticket: Ticket, window: Window, place: Position, ts_ms: int) -> Halves:
        upto, rows = window.take(place, ts_ms)
        over = window.exhausted
        if over:
            del self.windows[ticket]
        state = self.state
        if state.missing or state.lacking:
            state = incomplete_rows.complete_read_rows(state, rows)
        job = next((one for one in state.jobs if one.id == window.job), None)
        if job is not None:
            if not job.key:
                upto = None  # nothing orders the rows: only all of them are a place to continue from
            ended = over and window.number in self._read_out and not self._more(window)
            state = jobs.move_cursor(state, job, window.number, upto, len(rows), over=ended)
        self._lost = 0
        self.change(state)
        self.change(jobs.finish_job(self.state))
        if over and window.job is None and window.chunk.complete:
            self.change(incomplete_rows.not_found(self.state, window.missing, self._new_id))
        return rows

    def _more(self, window: Window) -> bool:
        """Return whether a later chunk of the same range is still to go out."""
        return any(other.number == window.number for other in self._job_windows())

    def _ready(self, now: float) -> bool:
        if self._rests:
            self._rests = False
            self.wait_until = max(self.wait_until, now + self._limits.wait(self._lost))
        return self.streamed and self.state.set_aside is None and now >= self.wait_until

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
        """Remember that all of this row is to be read."""
        if not incomplete_rows.reads_everything(self.state):
            self._numbers += 1
            bound = self._bound_of(shape, key)
            self.change(incomplete_rows.remember_row(self.state, key, bound, self._numbers, self._new_id))

    def _not_missing(self, key: bytes) -> None:
        if key in self.state.missing or key in self.state.lacking:
            self.change(incomplete_rows.complete_row(self.state, key))

    def _moves_unread(self) -> bool:
        """Return whether a change may move a row past the cursor: the columns that order it may change."""
        job = self.state.active
        return job is not None and job.surrogate_key is not None

    def _job_windows(self) -> list[Window]:
        return [window for window in self.windows.values() if window.job is not None]

    def _drop_stale(self) -> None:
        """Read windows again, a while later, if their rows can't be known.

        For a job, read all windows again, because a later chunk begins where an earlier one ended.
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
        """Do not read at once what could not be known: nothing has changed yet."""
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
        """Drop what was read of a job since the last saved place."""
        for ticket in [ticket for ticket, window in self.windows.items() if window.job is not None]:
            del self.windows[ticket]
        self._reach.clear()
        self._read_out.clear()
