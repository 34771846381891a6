"""The snapshot machine of one source partition: it takes what happened, and returns what to do.

    request, step, planned, chunk, failed  -->  machine  -->  work, release, unsaved

Pure: no I/O, no clock, no randomness; one thread.  Why it is right: a chunk's SELECT sees every transaction
that was streamed before the read was handed out (the gate), every change streamed since then takes its
key out of the window, and rows are released once the log has passed a mark that was set after the SELECT.
So what is released at a place equals the table's row at that place, and no key goes back (INV-3).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from wrackline.producers.contract.row_chunks import Chunk, Mark, TailOf
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    Request,
    RequestRefused,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import (
    Appeared,
    Begin,
    Commit,
    Fault,
    Found,
    Message,
    Passing,
    Position,
    Progress,
    Renamed,
    Reshaped,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
    UnfitRow,
    Vanished,
)
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.record_buffer import Unfitting
from wrackline.producers.snapshot.gate import Gate
from wrackline.producers.snapshot.receipt_changes import ReceiptChanges
from wrackline.producers.snapshot.snapshot_table import BoundOf, SnapshotTable, WantedRead
from wrackline.producers.snapshot.table_state import (
    Job,
    Outcome,
    TableDeparture,
    TableState,
    TableStatus,
    parse_state,
    render_state,
)
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.producers.snapshot.work_index import WorkIndex
from wrackline.producers.snapshot.work_items import (
    KeySpan,
    Plan,
    PlanMade,
    PlanUnderWay,
    Read,
    Release,
    SnapshotLimits,
    Ticket,
    Unsaved,
    VisibilityCheck,
    Void,
    VoidMade,
    Work,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.kafka.receipts import StoredReceipts
from wrackline.schemas.tables.table import TableId, TableSchema


class _WorkUnderWay(NamedTuple):
    """Work under way: its table (a look has none), and the transactions that it looks for."""

    table: SnapshotTable | None
    streamed: Sequence[Commit]


class Machine:
    """Used on the task's own thread; readers' threads hand their results to it there."""

    def __init__(
        self,
        kept: Mapping[TableId, Json],
        limits: SnapshotLimits,
        run: str,
        *,
        bound_of: BoundOf,
        streamed: Sequence[Commit] = (),
        receipts: StoredReceipts | None = None,
    ) -> None:
        """Continue from the saved states of the tables, and the receipts of requests.

        `run` names this start: marks of other starts mean nothing.  `bound_of` reads a record's key as the
        server writes it, None where it can't.  `streamed` are the transactions that `unproven` named
        when the position was saved.
        """
        self._limits, self._run, self._bound_of = limits, run, bound_of
        self.bytes_beside = 0  # that the windows of other machines hold, which share the room
        self._gate = Gate(run, limits.most_streamed, streamed)
        self._numbers = 0
        self._out: dict[Ticket, _WorkUnderWay] = {}
        self._last_look: float | None = None  # when a reader was last sent to look
        self._refs: dict[int, tuple[SnapshotTable, TableSchema]] = {}
        self.work_index = WorkIndex()
        self._unsaved: dict[TableId, SnapshotTable] = {}
        states = {table: parse_state(state, table) for table, state in kept.items()}
        self._ledger = ReceiptChanges(states, receipts)
        self._tables: dict[TableId, SnapshotTable] = {}
        for table, state in states.items():
            self._table(table, state)
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            Begin: self._gate.begin,
            Rows: self._rows,
            UnfitRow: self._unfit,
            Truncate: self._truncate,
            Shape: self._shape,
            Reshaped: self._reshaped,
            Found: self._take_shape,
            Fault: self._fault,
            Appeared: self._appeared,
            Vanished: lambda step: self._gone(step.table, TableDeparture(step.dropped)),
            Renamed: lambda step: self._gone(step.old, TableDeparture(dropped=True, renamed_to=step.new)),
            Commit: self._passing,
            Progress: self._passing,
            Message: self._passing,
            Signal: self._passing,
        }

    def request(self, asked: Request) -> None:
        """Take a request; the same id twice is one, but a first read also takes tables that came since."""
        if isinstance(asked, SnapshotRequest):
            named = [self._table(table) for table in dict.fromkeys(asked.tables)]
            if self._knows(asked, self._tables.values()):
                named = [table for table in named if not table.state.knows(asked.id)]
                if asked.purpose is not Purpose.INITIAL or not named:
                    return
                if not self._ledger.under_way(asked.id):  # its receipt stays as it is: the tables get another
                    for table in named:
                        table.change(table.state.remembering(asked.id, Outcome.SUCCEEDED))
                    asked = replace(asked, id=self.new_id())
            self._ledger.accept(asked.id, asked.kind, [table.id for table in named])
            for table in named:
                table.ask(_job_of(asked, table.id), anew=asked.anew)
        else:
            self._obey(asked)

    def _knows(self, asked: Request, tables: Collection[SnapshotTable]) -> bool:
        """Return whether a request with this id was taken before."""
        return self._ledger.was(asked.id) or any(table.state.knows(asked.id) for table in tables)

    def refuse(self, refused: RequestRefused) -> None:
        """Take a request that can't be carried out: its receipt says why."""
        self._ledger.refuse(refused)

    def _obey(self, asked: StopRequest | PauseRequest | ResumeRequest) -> None:
        """Stop, pause or resume at once."""
        named = [self._table(table) for table in asked.tables] or list(self._tables.values())
        if self._knows(asked, named):
            return
        for table in named:
            table.change(table.state.remembering(asked.id, Outcome.SUCCEEDED))
            if isinstance(asked, StopRequest):
                table.stop()
            else:
                table.pause(paused=isinstance(asked, PauseRequest))
        read_on = [
            table.id for table in named if isinstance(asked, StopRequest) and table.state.active is not None
        ]
        self._ledger.obeyed(asked, [table.id for table in named], read_on)

    def step(self, step: Step) -> None:
        """Take the log's next step before the cutter; then give the cutter `unsaved`, then the step."""
        self._handlers[type(step)](step)

    def voided(self, ticket: Ticket, void: TailOf) -> None:
        """Note that a table's `t` event can be made; an unwanted ticket is ignored."""
        table = self._back(ticket)
        if table is not None and table.plan is not None and table.plan.ticket == ticket:
            table.plan = VoidMade(ticket, table.plan.job, void)

    def planned(
        self,
        ticket: Ticket,
        key: Sequence[str],
        spans: Sequence[KeySpan],
        mark: Mark | None = None,
        expected: int | None = None,
    ) -> None:
        """Take a plan, with its mark if one was requested; an unwanted ticket is ignored."""
        passed = mark is None or self._gate.passed(mark)
        table = self._back(ticket)
        if table is not None and table.plan is not None and table.plan.ticket == ticket:
            if mark is None or passed:
                table.planned((key, spans, expected))
            else:
                table.plan = PlanMade(ticket, table.plan.job, mark, (key, spans, expected))
            self.work_index.note(table)

    def chunk(self, ticket: Ticket, chunk: Chunk, mark: Mark) -> None:
        """Take a chunk whose close mark is set; a ticket that is no longer wanted is ignored."""
        passed = self._gate.passed(mark)
        table = self._back(ticket)
        window = table.windows.get(ticket) if table is not None else None
        if table is not None and window is not None:
            table.arrive(window, chunk, mark, passed=passed)
            self.work_index.note(table)

    def visibility(self, ticket: Ticket, hidden: Sequence[Commit]) -> None:
        """Take the result of a look: these transactions are still hidden, all others of the look are not."""
        self._back(ticket, hidden)

    def failed(
        self, ticket: Ticket, error: WracklineError, now: float, hidden: Sequence[Commit] | None = None
    ) -> None:
        """Note that work failed: a Transient error is tried again later; others fail the table.

        `hidden`: what was not visible when the reader gave up at the gate; None where it failed elsewhere.
        """
        out = self._out.pop(ticket, None)
        if out is None:
            return
        self._gate.back(ticket)
        if hidden is not None:
            self._gate.seen(out.streamed, hidden)
        table = out.table
        if table is None:
            self._last_look = now + self._limits.longest_wait
            return
        window = table.windows.pop(ticket, None)
        if window is not None:
            table.fail(window.job, error, now)
        elif table.plan is not None and table.plan.ticket == ticket:
            job, table.plan = table.plan.job, None
            table.fail(job, error, now)
        self.work_index.note(table)

    def work(self, now: float) -> Sequence[Work]:
        """Return what readers must begin now; nothing inside a source transaction with rows not seen yet."""
        made: list[Work] = []
        if self._gate.inside or len(self._out) >= self._limits.readers:
            return made
        for table in self.work_index.most_urgent_first():
            if len(self._out) >= self._limits.readers:
                break
            job = table.plans(now)
            if job is not None:
                made.append(self._void(table, job) if table.voids(job) else self._plan(table, job))
            if not table.keyless or not self.work_index.others_read_keyless(table):
                made += [self._read(table, wish) for wish in table.wishes(now) if self._may_read()]
            self.work_index.note(table)
        if not self._out and self._shall_look(now):
            made.append(self._look(now))
        return made

    def due(self, now: float) -> float:
        """Return the moment when a wait ends, so that `work` may return something; inf if no table waits."""
        waits = (table.wait_until for table in self.work_index.wanting.values())
        return min((wait for wait in waits if wait > now), default=inf)

    def release(self, place: Position, ts_ms: int) -> Release | None:
        """Return the next slice that may go out at this place outside a transaction; call until None.

        Every step up to the place must have been taken, and no step after it.
        """
        for table in (*self.work_index.planning.values(), *self.work_index.windowed.values()):
            void = table.void(place, ts_ms)
            if void is not None:
                self.work_index.note(table)
                return Release(table.id, void, self.unsaved(), op="t")
        for table in self.work_index.windowed.values():
            rows = table.release(place, ts_ms)
            if rows is not None:
                self.work_index.note(table)
                return Release(table.id, rows, self.unsaved())
        return None

    def unsaved(self) -> Unsaved:
        """Return states and receipts that changed since the last call, and go out without rows."""
        states = {table.id: render_state(table.state) for table in self._unsaved.values()}
        self._unsaved.clear()
        return Unsaved(states, self._ledger.take())

    def counted(self, unfit: Mapping[Unfitting, int]) -> None:
        """Note that so many values that do not fit are reported with the next save."""
        for (table, column, letter), times in unfit.items():
            self._table(table).counted(column, times, letter=letter)

    def unproven(self) -> Sequence[Commit]:
        """Return transactions streamed lately that no reader has seen yet: save them with every position."""
        return self._gate.unproven(self._limits.most_unproven)

    @property
    def unstreamed(self) -> Collection[TableId]:
        """Requested tables whose changes the stream does not hand out: save, then open it again."""
        return self.work_index.unstreamed.keys()

    @property
    def reading(self) -> bool:
        """Whether rows are wanted, being read, or held."""
        return bool(self.work_index.wanting or self.work_index.windowed or self._out)

    @property
    def waiting(self) -> bool:
        """Whether something waits for its mark: the stream must ask the server for its place (rule 8)."""
        marked = any(isinstance(table.plan, PlanMade) for table in self.work_index.planning.values())
        return marked or any(window.stage is WindowStage.WAITING for window in self.work_index.windows())

    def status(self, table: TableId) -> TableStatus | None:
        """Return a table's status; None for a table that the machine does not know."""
        return self._tables[table].state.status if table in self._tables else None

    @property
    def states(self) -> Mapping[TableId, TableState]:
        """The state of every table."""
        return {table.id: table.state for table in self._tables.values()}

    def _table(self, table: TableId, state: TableState | None = None) -> SnapshotTable:
        found = self._tables.get(table)
        if found is None:
            found = self._tables[table] = SnapshotTable(
                table,
                TableState() if state is None else state,
                self._limits,
                bound_of=self._bound_of,
                changed=self._changed,
                held_up=self._ledger.held_up,
                new_id=self.new_id,
            )
            self.work_index.note(found)
        return found

    def new_id(self) -> str:
        """Name a request of the worker's own."""
        return f"{self._run}/own/{self._number()}"

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _changed(self, table: SnapshotTable, before: TableState, after: TableState) -> None:
        self._unsaved[table.id] = table
        self._ledger.changed(table.id, before, after)
        self.work_index.note(table)

    def _void(self, table: SnapshotTable, job: Job) -> Void:
        streamed = self._gate.streamed()
        ticket = self._ticket(_WorkUnderWay(table, streamed))
        table.plan = PlanUnderWay(ticket, job.id)
        return Void(ticket, table.id, streamed)

    def _plan(self, table: SnapshotTable, job: Job) -> Plan:
        streamed = self._gate.streamed()
        ticket = self._ticket(_WorkUnderWay(table, streamed))
        table.begin(job)
        table.plan = PlanUnderWay(ticket, job.id)
        return Plan(
            ticket,
            table.id,
            streamed,
            job.surrogate_key,
            job.condition,
            job.low,
            job.high,
            job.keys,
            job.refreshes,
        )

    def _read(self, table: SnapshotTable, wish: WantedRead) -> Read:
        streamed = self._gate.streamed()
        ticket = self._ticket(_WorkUnderWay(table, streamed))
        read = Read(ticket, wish.request, streamed)
        job = None if wish.job is None else wish.job.id
        word = table.word_of(wish.job)
        table.windows[ticket] = Window(read, self._limits.share, job, wish.number, word, wish.missing)
        self.work_index.note(table)
        return read

    def _shall_look(self, now: float) -> bool:
        """Return whether the last look was a while ago, while no reader works; so few names must be saved."""
        if self._last_look is None:
            self._last_look = now
        many = len(self._gate) >= self._limits.look_at
        rest = self._limits.look_rest if many else self._limits.look_every
        return len(self._gate) > 0 and now >= self._last_look + rest

    def _look(self, now: float) -> VisibilityCheck:
        self._last_look = now
        streamed = self._gate.streamed()
        return VisibilityCheck(self._ticket(_WorkUnderWay(None, streamed)), streamed)

    def _ticket(self, out: _WorkUnderWay) -> Ticket:
        ticket = Ticket(f"{self._run}/{self._number()}")
        self._out[ticket] = out
        self._gate.out(ticket)
        return ticket

    def _back(self, ticket: Ticket, hidden: Sequence[Commit] = ()) -> SnapshotTable | None:
        """Note that a reader is back: what it had to look for is visible, except what it names."""
        out = self._out.pop(ticket, None)
        if out is None:
            return None
        self._gate.back(ticket)
        self._gate.seen(out.streamed, hidden)
        return out.table

    def _may_read(self) -> bool:
        """Return whether a reader is free and a chunk fits beside the windows; one chunk always fits."""
        if len(self._out) >= self._limits.readers:
            return False
        held = self.work_index.held
        return not held or held + self.bytes_beside + self._limits.share <= self._limits.most_bytes

    def _rows(self, step: Rows) -> None:
        self._gate.touch(step.upto)
        watching = self.work_index.watching
        if not watching and not any(row[4] is not None for row in step.rows):
            return
        for ref, op, key, value, partial in step.rows:
            if key is None:
                continue
            if partial is None:
                if ref in watching:
                    watching[ref].full(key)
            else:
                table, shape = self._refs[ref]
                table.partial("c" if partial.again else op, key, value, partial, shape)

    def _unfit(self, step: UnfitRow) -> None:
        if step.misfit.letter:
            self._refs[step.ref][0].letter(step.misfit.key)

    def _truncate(self, step: Truncate) -> None:
        self._gate.touch(step.upto)
        self._refs[step.ref][0].truncate()

    def _shape(self, step: Shape) -> None:
        table = self._table(step.table.id)
        self._refs[step.ref] = table, step.table
        table.refs.add(step.ref)
        table.shaped(step.table, step.filled, refresh=False)
        self.work_index.note(table)

    def _reshaped(self, step: Reshaped) -> None:
        table = self._table(step.table)
        table.shaped(step.shape, step.filled, refresh=step.refresh, void=step.void)
        self.work_index.note(table)

    def _take_shape(self, step: Found) -> None:
        table = self._table(step.table.id)
        table.shaped(step.table, step.filled, refresh=False)
        self.work_index.note(table)

    def _appeared(self, step: Appeared) -> None:
        self._table(step.table).came(step.shape, complete=step.complete)

    def _gone(self, table: TableId, departure: TableDeparture) -> None:
        if departure.renamed_to in self._tables:
            self._tables[departure.renamed_to].came(None, complete=False)
        if table in self._tables:
            self._tables[table].gone(departure)
            self.work_index.note(self._tables[table])

    def _fault(self, step: Fault) -> None:
        table = self._table(step.table)
        table.aside(table_fault.reason_of(step))
        self.work_index.note(table)

    def _passing(self, step: Passing) -> None:
        self._gate.passing(step)
        for window in self.work_index.windows():
            window.take_passing(step)
        for table in list(self.work_index.planning.values()):
            plan = table.plan
            if isinstance(plan, PlanMade) and plan.mark.passed(step):
                table.planned(plan.plan)
                self.work_index.note(table)


def _job_of(asked: SnapshotRequest, table: TableId) -> Job:
    return Job(
        asked.id,
        asked.purpose,
        asked.kind,
        asked.conditions.get(table),
        asked.surrogate_key,
        asked.low,
        asked.high,
        asked.keys,
    )
