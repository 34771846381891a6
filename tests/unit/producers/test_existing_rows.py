"""Existing rows beside the log: what goes out where, and what is reported when, over the fake source."""

import time
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from math import inf

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.fakes.source_world import FakeSourceWorld
from wrackline.producers.contract.snapshot_requests import SnapshotRequest
from wrackline.producers.contract.steps import Batch, Begin, Commit, Fault, Progress, Rows, Signal
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.reading.interleave import Interleaver, ReopenError
from wrackline.producers.reading.readers import Outcome, Readers
from wrackline.producers.reading.request_intake import Read, RequestIntake
from wrackline.producers.snapshot import key_bounds
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.work_items import SnapshotLimits, Work
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka import signals
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import Insert, orders

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION).id
UNFIT = define("test.unfit", OperatorNeeded, "it does not fit", hint="make it fit")


class Log:
    """A stream of which only the asking is used: the batches are the test's own."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self) -> None:
        self.asked += 1


class Topic:
    """A topic of signals as the task sees it."""

    def __init__(self) -> None:
        self.waiting: list[Read] = []
        self.kepts = 0
        self.heard = True

    def take(self) -> Collection[Read]:
        taken, self.waiting = self.waiting, []
        return taken

    def commit(self) -> None:
        self.kepts += 1

    def close(self) -> None:
        pass


class CountingReaders(Readers):
    """Know how much they have under way."""

    under_way = 0

    def begin(self, work: Work) -> None:
        self.under_way += 1
        super().begin(work)

    def outcomes(self) -> Sequence[Outcome]:
        taken = super().outcomes()
        self.under_way -= len(taken)
        return taken


class World:
    """One lane without a task: the test is the loop."""

    def __init__(
        self,
        kept: dict[TableId, Json] | None = None,
        refused: MutableMapping[str, WracklineError] | None = None,
        skipped: str = "",
    ) -> None:
        self.source = FakeSourceWorld()
        self.database = self.source.databases[PARTITION]
        self.machine = Machine(kept or {}, SnapshotLimits(), "run", bound_of=key_bounds.bound_of)
        self.log, self.topic, self.told = Log(), Topic(), list[WracklineError]()
        policy = CutPolicy(linger=0.0, quiet=1e9, skipped=frozenset(skipped))
        self.cutter = Cutter(
            PARTITION, policy, str, PlainControl(counts=False), opened=0.0, fresh=False, refused=refused
        )
        self.readers = CountingReaders(self.source.source, PARTITION, 2, time.monotonic)
        self.existing = Interleaver(
            self.machine,
            self.readers,
            self.log,  # type: ignore[arg-type]  # all that is used of it
            self.cutter,
            RequestIntake(self.machine, [TABLE], self.told.append, self.topic),
            clock=time.monotonic,
            now_ms=lambda: 0,
        )

    def insert(self, count: int, label: str = "x") -> None:
        for number in range(count):
            values = {"shop": "a", "number": number, "label": label, "big": None}
            self.source.commit(PARTITION, Insert(values))

    def read_all(self) -> None:
        self.machine.request(SnapshotRequest("one", (TABLE,)))

    def published(self) -> list[Record]:
        found: list[Record] = []
        while (publication := self.cutter.take(time.monotonic())) is not None:
            found += [record[:3] for record in publication.records]
        return found


@pytest.fixture
def opened() -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**given: object) -> World:
        made.append(World(**given))  # type: ignore[arg-type]  # the test's own
        return made[-1]

    yield make
    for world in made:
        world.existing.close()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def outside(world: World, place: int) -> Batch:
    del world
    return Batch((Progress(Place(0, place)),), 0)


def execute(request: str, table: str = "public.orders") -> Read:
    body = f'{{"type":"execute-snapshot","data":{{"data-collections":["{table}"]}}}}'
    return signals.parse_message(body.encode(), request)


def test_a_log_that_ends_each_batch_inside_a_transaction_does_not_starve_the_rows(
    opened: Callable[..., World],
) -> None:
    world = opened()
    world.insert(30)
    world.read_all()
    place = world.database.end
    records: list[Record] = []

    def all_out() -> bool:
        nonlocal place
        place += 1
        steps = (Commit(str(place), Place(0, place), 0), Begin(str(place + 1), 0))
        world.existing.feed(Batch(steps, 0))
        world.existing.advance(hears=True)
        records.extend(world.published())
        return len(records) == 30

    world.existing.feed(Batch((Begin(str(place + 1), 0),), 0))
    until(all_out)
    assert len({key for _, key, _ in records}) == 30


@pytest.mark.parametrize("moves", [False, True])
def test_while_the_log_moves_little_waits_before_its_events(
    opened: Callable[..., World],
    moves: bool,  # noqa: FBT001 - pytest's
) -> None:
    world = opened()
    world.insert(600, "x" * 5_000)
    world.read_all()

    def all_read() -> bool:
        place = Place(0, world.database.end)
        steps = (Begin("1", 0), Rows((), place), Commit("1", place, 0)) if moves else (Progress(place),)
        world.existing.feed(Batch(steps, 0))
        world.existing.advance(hears=True)
        return not world.readers.under_way and world.existing.due() == inf

    until(all_read)
    assert (world.cutter.ahead < 1 << 20) is moves
    found = len(world.published())
    while found < 600:
        world.existing.advance(hears=True)
        more = len(world.published())
        assert more, "what waits is given out as Kafka takes it"
        found += more


def test_the_server_is_asked_for_its_position_only_while_there_is_a_listener(
    opened: Callable[..., World],
) -> None:
    world = opened()
    world.insert(3)
    world.read_all()
    world.existing.feed(outside(world, 1))

    def waits() -> bool:
        world.existing.advance(hears=False)
        return world.machine.waiting

    until(waits)
    assert world.log.asked == 0
    world.existing.advance(hears=True)
    assert world.log.asked == 1


def test_rows_that_are_refused_are_reported_at_once(opened: Callable[..., World]) -> None:
    world = opened(refused={str(TABLE): UNFIT()})
    world.insert(3)
    world.read_all()
    found: list[Fault] = []

    def told() -> bool:
        found.extend(world.existing.feed(outside(world, world.database.end)))
        found.extend(world.existing.advance(hears=True))
        return bool(found)

    until(told)
    assert [(fault.table, fault.error.code) for fault in found] == [(TABLE, "test.unfit")]


def test_a_truncate_goes_before_rows_that_are_read_again_whatever_is_skipped(
    opened: Callable[..., World],
) -> None:
    world = opened(skipped="t")
    world.insert(3)
    world.machine.request(SnapshotRequest("one", (TABLE,), anew=True))
    taken: list[Publication] = []

    def read() -> bool:
        world.existing.feed(outside(world, world.database.end))
        world.existing.advance(hears=True)
        while (publication := world.cutter.take(time.monotonic())) is not None:
            taken.append(publication)
        return sum(len(one.records) for one in taken) >= 4

    until(read)
    assert [key is None for one in taken for _, key, *_ in one.records] == [True, False, False, False]
    first = next(one for one in taken if one.records)
    assert first.tally.events[TABLE, "t"] == 1
    state = first.states[TABLE]
    assert state is not None
    assert not parse_state(state, TABLE).gap, "in its own Kafka transaction"


def test_a_table_that_is_taken_up_waits_until_kafka_has_its_state(opened: Callable[..., World]) -> None:
    world = opened(kept={TABLE: table_fault.fault_state(Fault(TABLE, UNFIT()))})
    world.existing.feed(outside(world, 1))
    world.cutter.save({TABLE._replace(name="other"): Json(b"{}")}, 0.0)
    assert world.cutter.take(time.monotonic()) is not None, "a transaction from before the request"
    world.topic.waiting.append(execute("one"))
    world.existing.advance(hears=True)
    assert list(world.machine.unstreamed) == [TABLE]
    world.existing.saved()
    publication = world.cutter.take(time.monotonic())
    assert publication is not None
    assert TABLE in publication.states
    with pytest.raises(ReopenError):
        world.existing.saved()


def test_a_message_is_kept_only_once_kafka_has_what_came_of_it(opened: Callable[..., World]) -> None:
    world = opened()
    world.existing.feed(outside(world, 1))
    world.cutter.save({TABLE._replace(name="other"): Json(b"{}")}, 0.0)
    assert world.cutter.take(time.monotonic()) is not None
    world.topic.waiting.append(execute("one"))
    world.existing.advance(hears=True)
    world.existing.saved()
    assert world.topic.kepts == 0, "that transaction was begun before the message was taken"
    taken = world.cutter.take(time.monotonic())
    assert taken is not None
    assert "one" in (taken.states[TABLE] or b"").decode()
    world.cutter.save({TABLE._replace(name="other"): Json(b"{}")}, 0.0)  # the next one always waits already
    world.existing.saved()
    assert world.topic.kepts == 1
    assert world.cutter.take(time.monotonic()) is not None
    world.existing.saved()
    assert world.topic.kepts == 1, "once for each time that something was taken"


def test_a_request_that_cannot_be_carried_out_ends_itself_alone(opened: Callable[..., World]) -> None:
    """T-W15."""
    world = opened()
    world.insert(3)
    world.existing.feed(outside(world, world.database.end))
    data = '{"data-collections":["public.orders"],"keys":[["a"],["b"]]}'  # the key has two columns

    def told() -> bool:
        world.existing.advance(hears=True)
        world.existing.feed(outside(world, world.database.end))
        return bool(world.told)

    world.existing.feed(Batch((Signal("one", "execute-snapshot", data, Place(0, world.database.end)),), 0))
    until(told)
    assert [error.code for error in world.told] == ["snapshot.read_broken"]
    world.topic.waiting.append(execute("two"))
    records: list[Record] = []

    def all_out() -> bool:
        world.existing.advance(hears=True)
        world.existing.feed(outside(world, world.database.end))
        records.extend(world.published())
        return len(records) == 3

    until(all_out)


def test_all_is_done_once_the_last_rows_are_taken_and_what_waited_was_heard(
    opened: Callable[..., World],
) -> None:
    world = opened()
    world.insert(5)
    world.read_all()
    records: list[Record] = []

    def all_out() -> bool:
        world.existing.feed(outside(world, world.database.end))
        world.existing.advance(hears=True)
        settled = not world.machine.reading
        if settled:
            assert not world.existing.over, "what it gave is not taken yet"
        records.extend(world.published())
        return settled

    assert not world.existing.over
    until(all_out)
    heard = [(world.existing.over, world.topic.heard)]
    world.topic.heard = False
    heard.append((world.existing.over, world.topic.heard))
    assert heard == [(True, True), (False, False)], "more may have been requested"
    assert len(records) == 5
    assert world.existing.unread is None
