"""The readers' model: plans and reads that continue beside the log, a stage at a time.

    waiting at the gate -> open mark (signal alone) -> SELECT, one instant -> close mark -> handed back
                             '---- any of these may fail, or be the last thing before a crash ----'

Between two stages anything may happen to the database and the log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

from tests.fakes.place import Place
from tests.fakes.source import FenceMark, MessageMark, SignalMark
from tests.simulation.chance import Chance
from tests.simulation.database import Database, Signalled, Spoke, Table, select
from tests.simulation.settings import Settings
from tests.simulation.shapes import Key, Row, bound, table_of
from tests.simulation.stream import read_tail, void_tail
from tests.simulation.whole import WholeRead
from wrackline.producers.contract.row_chunks import Bound, Chunk, ChunkRequest, Mark, Slice
from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Position
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, VisibilityCheck, Void, Work
from wrackline.schemas.errors import Definite, Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId

LOST = define("test.simulated_loss", Transient, "the connection was lost", hint="nothing to do")
REFUSED = define("test.simulated_refusal", Definite, "the rows of {table} can't be read", hint="grant it")


class Stage(IntEnum):
    """What was done of a work; each step forward is one."""

    GATE = 0
    OPEN = 1
    SELECT = 2
    CLOSE = 3
    ANSWER = 4


@dataclass(eq=False)
class Job:
    """A work under way."""

    work: Work
    stage: Stage = Stage.GATE
    chunk: Chunk | None = None
    spans: tuple[KeySpan, ...] = ()
    mark: Mark | None = None

    @property
    def result(self) -> str:
        """What it read, in words."""
        if self.chunk is None:
            return ", ".join(f"up to {'/'.join(map(str, span.upto or ()))}" for span in self.spans)
        slices = ("; ".join(_key(key) for key, _ in one.rows) for one in self.chunk.slices)
        return " | ".join(slices) + (" and no more" if self.chunk.complete else "")


class Readers:
    """All readers of one run of the task."""

    whole_of: Callable[..., WholeRead] = WholeRead

    def __init__(self, chance: Chance, settings: Settings, database: Database) -> None:
        self.chance, self.settings, self.database = chance, settings, database
        self.jobs: list[Job] = []
        self.whole: WholeRead | None = None  # the one that is open
        self.now = 0.0

    def advance(self, job: Job, machine: Machine, now: float, fails: float) -> str:
        """Do the job's next stage; say what it was."""
        self.now = now
        if fails and self.chance.happens(fails):
            self.jobs.remove(job)
            if isinstance(job.work, Read) and not job.work.request.key:
                self.whole = None  # with its connection
            refused = self.chance.happens(0.05)
            error = REFUSED(table=_table(job.work)) if refused else LOST()
            self.failed(job, machine, error, now)
            return error.code
        if isinstance(job.work, VisibilityCheck):
            self.jobs.remove(job)
            machine.visibility(job.work.ticket, self.unseen(job.work))
            return "look"
        if job.stage is Stage.GATE and self.database.hidden and (hidden := self.unseen(job.work)):
            if not self.chance.happens(self.settings.fails):
                return "waits at the gate"
            self.jobs.remove(job)
            machine.failed(job.work.ticket, LOST(), now, hidden)
            return "gave up at the gate"
        job.stage = Stage(job.stage + 1)
        if isinstance(job.work, Plan):
            self._plan(job, job.work, machine)
        elif isinstance(job.work, Void):
            self._void(job, job.work, machine)
        else:
            self._read(job, job.work, machine)
        return job.stage.name.lower()

    def failed(self, job: Job, machine: Machine, error: WracklineError, now: float) -> None:
        """Report an error to the machine."""
        machine.failed(job.work.ticket, error, now)

    def unseen(self, work: Work) -> list[Commit]:
        """Transactions that were streamed before and that a SELECT would not show."""
        hidden = {transaction.name for transaction in self.database.hidden}
        return [commit for commit in work.streamed if commit.transaction in hidden]

    def _plan(self, job: Job, plan: Plan, machine: Machine) -> None:
        key = self.table(plan.table).shape.schema.key
        if job.stage is Stage.SELECT and key:
            job.spans = () if plan.keys else self.spans(plan)
        elif job.stage is Stage.ANSWER and not key:
            self.jobs.remove(job)
            machine.planned(plan.ticket, (), (KeySpan(),))
        elif job.stage is Stage.ANSWER:
            self.jobs.remove(job)
            machine.planned(plan.ticket, (plan.surrogate_key,) if plan.surrogate_key else key, job.spans)

    def _void(self, job: Job, void: Void, machine: Machine) -> None:
        if job.stage is Stage.ANSWER:
            self.jobs.remove(job)
            shape = self.table(void.table).shape

            def value(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
                del ts_ms, snapshot, chunk
                return shape.head(None, None) + void_tail(cast("Place", released_at))

            machine.voided(void.ticket, value)

    def spans(self, plan: Plan) -> tuple[KeySpan, ...]:
        """The table's spans up to its last key, cut anywhere."""
        table = self.table(plan.table)
        if plan.surrogate_key:
            keys: list[Bound] = sorted((row[table.shape.version],) for row in table.rows.values())
        else:
            keys = [key for key, _ in select(table, plan.low, plan.high, ())]
        first = () if plan.low is None else (KeySpan(only=(plan.low,)),)
        if not keys:
            return first
        ends = [key for key in keys[:-1] if self.chance.happens(self.settings.cuts)]
        parts = zip([plan.low, *ends], [*ends, keys[-1]], strict=True)
        return (*first, *(KeySpan(after, upto) for after, upto in parts))

    def _read(self, job: Job, read: Read, machine: Machine) -> None:
        if not read.request.key:
            self._piece(job, read, machine)
        elif job.stage is Stage.OPEN and self.settings.mark is MarkKind.SIGNAL:
            self.mark(read.ticket, Edge.OPEN)
        elif job.stage is Stage.SELECT:
            job.chunk = self.select(read.request)
        elif job.stage is Stage.CLOSE:
            job.mark = self.mark(read.ticket, Edge.CLOSE)
        elif job.stage is Stage.ANSWER and job.chunk is not None and job.mark is not None:
            self.jobs.remove(job)
            machine.chunk(read.ticket, job.chunk, job.mark)

    def _piece(self, job: Job, read: Read, machine: Machine) -> None:
        """The next piece of the read that is open, or of a new one; another one's is no piece of it."""
        if job.stage is Stage.OPEN and read.request.after is None:
            self.whole = self.whole_of(self.database, self.table(read.request.table))
            self.whole.last = read.ticket
        elif job.stage is Stage.SELECT:
            behind = (read.ticket,) if read.request.after is None else read.request.after
            if self.whole is None or (self.whole.last,) != behind:
                self.jobs.remove(job)
                self.failed(job, machine, LOST(), self.now)
                return
            self.whole.last = read.ticket
            job.chunk = self.whole.next(read.request, 1 + self.chance.below(read.request.most_rows))
        elif job.stage is Stage.ANSWER and job.chunk is not None and job.chunk.mark is not None:
            self.jobs.remove(job)
            machine.chunk(read.ticket, job.chunk, job.chunk.mark)

    def mark(self, name: str, edge: Edge) -> Mark:
        """Make this moment findable, as the history's kind of mark does it."""
        if self.settings.mark is MarkKind.SIGNAL:
            identity = f"{name}-{edge.value}"
            self.database.append(Signalled(identity, f"snapshot-window-{edge.value}", "{}"))
            return SignalMark(name, identity)
        if self.settings.mark is MarkKind.MESSAGE:
            self.database.append(Spoke(name.encode(), alone=self.chance.happens(0.3)))
            return MessageMark(name, name.encode())
        ahead = 1 if self.chance.happens(0.1) else 0  # inserted into the log and not flushed yet
        return FenceMark(name, self.database.end + ahead)

    def select(self, request: ChunkRequest) -> Chunk:
        """What one statement returns now; a reader may end a chunk before it is full."""
        table = self.table(request.table)
        rows = self.rows(table, request)
        most = request.most_rows
        if self.chance.happens(0.1):
            most = min(most, 1 + self.chance.below(3))
        taken = rows[:most]
        complete = len(taken) == len(rows) and (len(taken) < most or self.chance.happens(0.5))
        shape, slices = table.shape, []
        for at in range(0, len(taken), request.slice_rows):
            part = taken[at : at + request.slice_rows]
            held = [(shape.key_bytes(key), shape.head(None, row)) for key, row in part]
            last = self.last(taken, part)
            upto = last[0] if request.key == shape.schema.key else (last[1][shape.version],)
            slices.append(Slice(held, upto, sum(len(k) + len(v) for k, v in held)))
        place = self.database.end

        def tail(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
            del ts_ms, snapshot, chunk
            return read_tail(self.released(cast("Place", released_at), place))

        return Chunk(shape.schema, tuple(slices), complete, tail)

    def rows(self, table: Table, request: ChunkRequest) -> list[tuple[Key, Row]]:
        """The rows of a request's range, in the database's order."""
        if request.key == table.shape.schema.key:
            return select(table, request.after, request.upto, request.only)
        at = table.shape.version  # a surrogate: as text, and it moves with every write
        low, high = (request.after or ("",))[0], (request.upto or ("~",))[0]
        found = sorted((row[at] or "", key) for key, row in table.rows.items())
        return [(key, table.rows[key]) for place, key in found if (low or "") < place <= (high or "")]

    def last(self, taken: list[tuple[Key, Row]], part: list[tuple[Key, Row]]) -> tuple[Key, Row]:
        """The row after which a resume begins, once a slice is out."""
        del taken
        return part[-1]

    def released(self, released_at: Place, read_at: int) -> Place:
        """The place that stands in a row's seq."""
        del read_at
        return released_at

    def table(self, name: TableId) -> Table:
        """A table of the database."""
        return self.database.tables[table_of(name)]


def _table(work: Work) -> TableId | None:
    match work:
        case Plan(table=table) | Void(table=table) | Read(request=ChunkRequest(table=table)):
            return table
        case VisibilityCheck():
            return None


def in_words(work: Work) -> str:
    """A work, short."""
    if isinstance(work, VisibilityCheck):
        return f"{work.ticket}: look for {', '.join(commit.transaction for commit in work.streamed)}"
    if isinstance(work, Void):
        return f"{work.ticket}: end of all rows of {work.table.name}"
    if isinstance(work, Plan):
        return f"{work.ticket}: plan of {work.table.name}"
    request = work.request
    part = f"after {request.after} up to {request.upto}" if not request.only else f"only {request.only}"
    return f"{work.ticket}: read of {request.table.name} {part}"


def _key(key: bytes | None) -> str:
    return "a row" if key is None else "/".join(map(str, bound(key)))
