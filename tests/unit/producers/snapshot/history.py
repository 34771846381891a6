"""A small random history against the machine: writers, a log, slow readers, crashes; and what came out.

    rows -> transactions (logged at once, visible later) -> machine -> committed events -> replica

Every write counts one version up, so that a key that goes back is seen at once.  `big` may be left out of
the log when it did not change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from tests.fakes.place import Place
from tests.unit.producers.snapshot.shop import (
    ENCODER,
    KEYS,
    SHAPES,
    TABLE,
    TAIL,
    Database,
    Event,
    Fence,
    Row,
    Said,
    apply,
    bound_of,
    keys_in,
    row_changes,
)
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark, Slice
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ReceiptChange,
    RequestAccepted,
    RequestJoined,
    RequestMoved,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
    TableAdvanced,
)
from wrackline.producers.contract.steps import (
    Begin,
    Commit,
    Message,
    Progress,
    Reshaped,
    Shape,
    Step,
    Truncate,
)
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import (
    KeySpan,
    Plan,
    Read,
    SnapshotLimits,
    Unsaved,
    VisibilityCheck,
    Work,
)
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import TableId, TableSchema


@dataclass
class Durable:
    """What Kafka has: events, and where to continue."""

    events: list[Event] = field(default_factory=list)
    states: dict[TableId, Json] = field(default_factory=dict)
    at: int = 0
    done: int = 0
    streamed: tuple[Commit, ...] = ()
    slips: dict[str, receipts.Receipt] = field(default_factory=dict)


def fold(kept: dict[str, receipts.Receipt], change: ReceiptChange) -> None:
    """Write a change onto the receipts; one that may not be raises."""
    match change:
        case RequestAccepted(name, kind, tables, what):
            assert name not in kept
            kept[name] = receipts.accept(name, kind, tuple(map(str, tables)), 0, what)
        case RequestJoined(name, tables):
            assert not kept[name].over
            kept[name] = receipts.join(kept[name], tuple(map(str, tables)), 0)
        case RequestMoved(name, state, error):
            kept[name] = receipts.move(kept[name], state, 0, error)
        case TableAdvanced(name, table):
            kept[name] = receipts.progress(kept[name], table, 0)


class Worker:
    """One run of a task, from a start to a crash."""

    def __init__(
        self, database: Database, kafka: Durable, run: str, limits: SnapshotLimits, *, fences: bool
    ) -> None:
        self._db, self._kafka, self._run, self._fences = database, kafka, run, fences
        self._chance = database.chance
        self._pace = self._chance.choice([0.3, 0.6, 0.75])  # how fast the log is beside the readers
        known = receipts.fold(kafka.slips.values())
        self.machine = Machine(
            kafka.states, limits, run, bound_of=bound_of, streamed=kafka.streamed, receipts=known
        )
        assert not self.machine.unsaved(), "what is saved together must say the same"
        self._at, self._done, self._clock = kafka.at, kafka.done, 0.0
        self._events: list[Event] = []
        self._states: dict[TableId, Json] = {}
        self._receipts: list[ReceiptChange] = []
        self._work: list[tuple[Work, str, tuple[Mapping[int, Row], int], Mark | None]] = []
        self._began = False
        self._ref, self._announced, self._looked = 0, -1, database.shape
        self._say(Reshaped(TABLE.id, refresh=False, shape=SHAPES[database.shape]))

    def _say(self, step: Step) -> None:
        self.machine.step(step)
        self.save()

    def save(self, unsaved: Unsaved | None = None) -> None:
        unsaved = unsaved or self.machine.unsaved()
        self._states |= unsaved.states
        self._receipts += unsaved.receipts

    def ask(self) -> None:
        """Somebody asks for something, perhaps what was asked before."""
        name = f"ask{self._chance.randrange(4)}"
        how = self._chance.choice(
            [SnapshotRequest, SnapshotRequest, PauseRequest, ResumeRequest, StopRequest]
        )
        keys = ((str(self._chance.randrange(8)),),) if self._chance.random() < 0.5 else ()
        snapshot = SnapshotRequest(name, (TABLE.id,), keys=keys)
        self.machine.request(snapshot if how is SnapshotRequest else how(f"{how.__name__}{name}"))
        self.save()

    @property
    def idle(self) -> bool:
        self.save()
        quiet = self._at >= len(self._db.log) and not self._work and not self._events and not self._states
        if quiet:
            self._look()
            self._work += [(one, "gate", ({}, 0), None) for one in self.machine.work(self._clock)]
        state = self.machine.status(TABLE.id)
        return quiet and not self._work and not self._states and state is TableStatus.STREAMING

    def step(self) -> None:
        """Something happens: the log continues, a reader continues, or Kafka commits."""
        self._clock += 1
        how = self._chance.random()
        if how < self._pace and self._at < len(self._db.log):
            self._stream()
        elif how < 0.85 and self._work:
            self._read(self._chance.randrange(len(self._work)))
        elif how < 0.9:
            self._work += [(one, "gate", ({}, 0), None) for one in self.machine.work(self._clock)]
        elif how < 0.92:
            self._look()
        elif how < 0.95:
            self._release()
        else:
            self.commit()

    def _stream(self) -> None:
        one = self._db.log[self._at]
        if not self._began:
            self._say(Begin(str(self._at), 0, self._done))
            self._began = True
        if one.said is not None:
            self._say(Message("mark", one.said.encode(), Place(0, self._at)))
        if self._done < len(one.events):
            event = one.events[self._done]
            self._done += 1
            if event[0] != "x":
                self._announce(one.shape)
                truncate = Truncate(self._ref, b"", Place(0, 0))
                self._say(truncate if event[0] == "t" else row_changes(self._ref, event))
                self._events.append(event)
            return
        self._at, self._done, self._began = self._at + 1, 0, False
        self._say(Commit(str(self._at - 1), Place(0, self._at), 0))
        if self._chance.random() < 0.7:
            self._release()

    def _announce(self, shape: int) -> None:
        """The log says a shape before the first row of it."""
        if shape != self._announced:
            before = None if self._announced < 0 else SHAPES[self._announced]
            self._ref, self._announced = self._ref + 1, shape
            self._say(Shape(self._ref, SHAPES[shape], before))

    def _look(self) -> None:
        """The catalogue is looked at beside the log, and a quiet log says where it stands."""
        if self._at == len(self._db.log):
            self._say(Progress(Place(0, self._at)))
        if self._looked != self._db.shape:
            self._looked = self._db.shape
            self._say(Reshaped(TABLE.id, refresh=True, shape=SHAPES[self._looked]))

    def _release(self) -> None:
        if self._began:
            return
        for _ in range(self._chance.choice([1, 1, 2, 9])):
            made = self.machine.release(Place(0, self._at), 0)
            if made is None:
                return
            for key, value in made.rows.whole():
                self._events.append(read_back(key, value))
            self.save(made.unsaved)

    def commit(self) -> None:
        """Events, position and states at once."""
        kafka = self._kafka
        kafka.events += self._events
        kafka.states |= self._states
        kafka.at, kafka.done, kafka.streamed = self._at, self._done, tuple(self.machine.unproven())
        for change in self._receipts:
            fold(kafka.slips, change)
        self._events, self._states, self._receipts = [], {}, []

    def _read(self, place: int) -> None:
        work, stage, (rows, shape), mark = self._work.pop(place)
        hidden = [one for one in work.streamed if self._db.log[int(one.transaction)].hidden]
        if isinstance(work, VisibilityCheck):
            self.machine.visibility(work.ticket, hidden)
            return
        if stage == "gate":
            if not hidden:
                stage, rows, shape = "read", self._db.select(), self._db.shape
        elif isinstance(work, Plan):
            self.machine.planned(work.ticket, ("id",), self._spans(rows), self._mark_of(work))
            return
        elif stage == "read":
            stage, mark = "back", self._mark_of(work)
        elif self._chance.random() < 0.1:
            self.machine.failed(work.ticket, LOST(), self._clock)
            return
        else:
            assert mark is not None
            assert isinstance(work, Read)
            self.machine.chunk(work.ticket, chunk_of(work.request, rows, SHAPES[shape]), mark)
            return
        self._work.insert(place, (work, stage, (rows, shape), mark))

    def _mark_of(self, work: Work) -> Mark:
        if self._fences:
            return Fence(work.ticket, len(self._db.log))
        self._db.say(work.ticket)
        return Said(work.ticket)

    def _spans(self, rows: Mapping[int, Row]) -> list[KeySpan]:
        if not rows:
            return []
        cuts = sorted(self._chance.sample(range(self._db.keys), self._chance.choice([0, 0, 1, 2])))
        cuts = [cut for cut in cuts if cut < max(rows)]
        bounds = [None, *[(str(cut),) for cut in cuts], (str(max(rows)),)]
        return [KeySpan(low, high) for low, high in pairwise(bounds)]


def chunk_of(request: ChunkRequest, rows: Mapping[int, Row], shape: TableSchema = TABLE) -> Chunk:
    """What a reader makes of the rows that its SELECT saw."""

    def wanted(number: int) -> bool:
        if request.after is not None and number <= int(request.after[0] or 0):
            return False
        if request.upto is not None and number > int(request.upto[0] or 0):
            return False
        return not request.only or (str(number),) in request.only

    found = [rows[number] for number in sorted(rows) if wanted(number)]
    taken = found[: request.most_rows]
    slices = []
    for start in range(0, len(taken), request.slice_rows):
        part = taken[start : start + request.slice_rows]
        heads = [(ENCODER.key(row), ENCODER.head(None, row)) for row in part]
        slices.append(Slice(heads, (str(part[-1][0]),), 10))
    complete = len(found) < request.most_rows
    return Chunk(shape, tuple(slices), complete, lambda *_, **__: TAIL)


def read_back(key: bytes | None, value: bytes) -> Event:
    """What a released row says; that is found by writing it again."""
    assert key is not None
    number, body = KEYS[key], value[: -len(TAIL)]
    assert value.endswith(TAIL)
    fields = _ints_and_text(body[7:])
    assert fields[0] == number, "the row's key is not its record's"
    return ("r", number, fields[1], fields[2])


def _ints_and_text(body: bytes) -> tuple[int, int, str]:
    numbers, at = [], 0
    for _ in range(3):
        assert body[at] == 2
        at += 1
        read = shift = 0
        while True:
            byte = body[at]
            at += 1
            read |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        numbers.append((read >> 1) ^ -(read & 1))
    assert len(body) == at + numbers[2]
    return numbers[0], numbers[1], body[at:].decode()


OVER = {receipts.RequestState.SUCCEEDED, receipts.RequestState.CANCELLED}
LOST = define("test.lost", Transient, "the connection was lost", hint="wait")


def run(seed: int, *, steps: int = 160, crash: float = 0.02) -> str | None:
    """One history; what was wrong with it, or None."""
    chance = Random(seed)
    database = Database(chance, keys=chance.choice([3, 5, 8]))
    for _ in range(chance.randrange(12)):
        database.write()
    for one in database.log:
        one.hidden = False
    kafka = Durable(at=len(database.log))
    limits = SnapshotLimits(
        readers=chance.randint(1, 4),
        chunk_rows=chance.randint(1, 4),
        slice_rows=chance.randint(1, 3),
        most_tries=1000,
        first_wait=1.0,
        longest_wait=4.0,
    )
    fences, asks, starts = chance.random() < 0.5, chance.random() < 0.3, 0

    def start() -> Worker:
        nonlocal starts
        starts += 1
        made = Worker(database, kafka, f"run{starts}", limits, fences=fences)
        made.machine.request(SnapshotRequest("first", (TABLE.id,), Purpose.INITIAL))
        made.save()
        return made

    worker = start()
    for _ in range(steps):
        if chance.random() < 0.35:
            database.write()
        else:
            worker.step()
        if asks and chance.random() < 0.03:
            worker.ask()
        if chance.random() < crash:
            worker = start()
    return settled(database, worker, kafka)


def settled(database: Database, worker: Worker, kafka: Durable) -> str | None:
    """Let all come to rest, and judge it."""
    for one in database.log:
        one.hidden = False
    worker.machine.request(ResumeRequest("at last"))
    worker.machine.request(SnapshotRequest("last", (TABLE.id,)))  # what was stopped is read after all
    worker.save()
    for _ in range(5000):
        if worker.idle:
            break
        worker.step()
    else:
        return "stuck"
    if not all(one.state in OVER for one in kafka.slips.values()):
        return "a receipt is open"
    return judged(kafka.events, database.rows)


def judged(events: Sequence[Event], truth: Mapping[int, Row]) -> str | None:
    """Whether a key went back, and whether the replica is the table."""
    replica: dict[int, Row] = {}
    newest: dict[int, int] = {}
    for event in events:
        op, number, version, big = event
        for key in keys_in(event):
            if version < newest.get(key, 0):
                return "backwards"
            newest[key] = version
        if op == "m":
            old, new = divmod(number, 100)
            replica.pop(old, None)
            replica[new] = (new, version, big)
        else:
            apply(replica, event)
    return None if replica == truth else "differs"
