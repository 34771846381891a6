"""Databases of a task share its readers and windows: each has its turn, and none waits for another's lock."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.database import Database
from tests.fakes.source import FakeReader
from tests.fakes.source_world import FakeSourceWorld
from tests.fakes.whole import FakeWhole
from tests.unit.producers.snapshot.desk import ASK, Desk
from tests.unit.producers.test_readers import KEY, Reader, Source, outcome, until
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Whole
from wrackline.producers.reading.readers import ChunkOutcome, FailureOutcome, Readers
from wrackline.producers.reading.shared_budget import LONG_S, ReaderTurns, WindowBytes
from wrackline.producers.reading.whole_reads import WholeReads
from wrackline.producers.snapshot.work_items import KeySpan, Read, SnapshotLimits, Ticket
from wrackline.schemas.tables.table import KeyKind, SourcePartition
from wrackline.testing.sources.source_world import Insert, orders

FIRST, SECOND = PARTITIONS = [SourcePartition("server", name) for name in ("db0", "db1")]


class Clock:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def both(clock: Clock) -> Iterator[tuple[Readers, Readers]]:
    """The readers of two databases, which share one turn."""
    Reader.made = []
    world = FakeSourceWorld(partitions=2, source_of=Source)
    for partition in PARTITIONS:
        world.commit(partition, Insert({"shop": "a", "number": 1, "label": "x", "big": None}))
    turns = ReaderTurns(1, clock)
    first, second = (Readers(world.source, one, 1, clock, turns=turns) for one in PARTITIONS)
    yield first, second
    for readers in (first, second):
        readers.close()


def read(of: SourcePartition, condition: str | None = None) -> Read:
    return Read(Ticket("run/1"), ChunkRequest(orders(of).id, KEY, condition=condition), ())


def open_connections() -> int:
    return sum(not reader.closed for reader in Reader.made)


def test_no_more_connections_are_open_than_there_are_turns(both: tuple[Readers, Readers]) -> None:
    first, second = both
    first.begin(read(FIRST, "waits"))
    until(lambda: bool(Reader.made))
    second.begin(read(SECOND))
    time.sleep(0.3)
    assert (second.outcomes(), len(Reader.made)) == ([], 1), "the first one reads"
    Reader.made[0].give_up()
    assert isinstance(outcome(first), FailureOutcome)
    assert isinstance(outcome(second), ChunkOutcome)
    assert open_connections() == 1


def test_an_idle_connection_is_closed_for_a_database_that_wants_to_read(
    both: tuple[Readers, Readers],
) -> None:
    for readers, partition in itertools.islice(itertools.cycle(zip(both, PARTITIONS, strict=True)), 6):
        readers.begin(read(partition))
        assert isinstance(outcome(readers), ChunkOutcome)
        assert open_connections() == 1
    assert len(Reader.made) == 6


def test_a_connection_is_kept_while_nobody_else_reads_and_closed_after_a_while(
    both: tuple[Readers, Readers], clock: Clock
) -> None:
    for _ in range(3):
        both[0].begin(read(FIRST))
        assert isinstance(outcome(both[0]), ChunkOutcome)
    assert len(Reader.made) == 1
    time.sleep(0.3)
    assert open_connections() == 1
    clock.now += 60
    until(lambda: open_connections() == 0)


def test_a_database_with_much_to_read_lets_others_read_between_two_chunks(
    both: tuple[Readers, Readers], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = both
    order: list[str] = []
    begun, asked = threading.Event(), threading.Event()

    def read_slowly(self: Reader, request: ChunkRequest) -> Chunk:
        begun.set()
        assert asked.wait(10)
        clock.now += 2
        order.append(request.table.database)
        return FakeReader.read(self, request)

    monkeypatch.setattr(Reader, "read", read_slowly)
    for _ in range(5):
        first.begin(read(FIRST))
    assert begun.wait(10)
    second.begin(read(SECOND))
    until(lambda: second._turns is not None and second._turns.wanted)
    asked.set()
    until(lambda: len(order) == 6)
    assert order[1] == "db1"


def test_a_read_that_waits_for_a_lock_holds_up_no_other_database(
    both: tuple[Readers, Readers], clock: Clock
) -> None:
    first, second = both
    first.begin(read(FIRST, "waits"))
    until(lambda: bool(Reader.made))
    second.begin(read(SECOND))
    until(lambda: second._turns is not None and second._turns.wanted)
    clock.now += LONG_S + 0.1
    assert isinstance(outcome(second), ChunkOutcome)
    assert first.outcomes() == []


def test_a_reader_that_waits_for_its_turn_ends_when_it_is_closed(both: tuple[Readers, Readers]) -> None:
    first, second = both
    first.begin(read(FIRST, "waits"))
    until(lambda: bool(Reader.made))
    second.begin(read(SECOND))
    until(lambda: second._turns is not None and second._turns.wanted)
    second.close()
    assert not any(thread.is_alive() for thread in second._threads)
    assert first._turns is not None
    assert not first._turns.wanted


@pytest.fixture
def wholes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases whose table without a key is being read."""
    begun: list[str] = []
    begin, end = FakeWhole.__init__, FakeWhole.close

    def noted(of: FakeWhole, database: Database, *given: Any) -> None:
        begin(of, database, *given)
        begun.append(database.shape.id.database)

    def closed(of: FakeWhole) -> None:
        begun.remove(of._shape.id.database)
        end(of)

    monkeypatch.setattr(FakeWhole, "__init__", noted)
    monkeypatch.setattr(FakeWhole, "close", closed)
    return begun


def without_keys() -> FakeSourceWorld:
    world = FakeSourceWorld(partitions=2, source_of=Source)
    for partition in PARTITIONS:
        for number in range(3):
            world.commit(partition, Insert({"shop": "a", "number": number, "label": "x", "big": None}))
        base = world.databases[partition]
        base.shape = replace(base.shape, key=(), key_kind=KeyKind.NONE)
    Reader.made = []
    return world


@pytest.fixture
def keyless(clock: Clock) -> Iterator[tuple[Readers, Readers]]:
    """The same of two databases whose tables have no key, and three rows."""
    world, turns = without_keys(), ReaderTurns(1, clock)
    first, second = (Readers(world.source, one, 1, clock, turns=turns) for one in PARTITIONS)
    yield first, second
    for readers in (first, second):
        readers.close()


def piece(of: SourcePartition, number: int) -> Read:
    """Read the row of this number, behind the one before."""
    after = None if number == 1 else (f"{of.database}/{number - 1}",)
    return Read(Ticket(f"{of.database}/{number}"), ChunkRequest(orders(of).id, (), after, most_rows=1), ())


def test_of_whole_reads_no_more_are_open_than_there_are_turns(
    keyless: tuple[Readers, Readers], clock: Clock, wholes: list[str]
) -> None:
    """Each has a connection of its own from its first piece to its last."""
    first, second = keyless
    first.begin(piece(FIRST, 1))
    assert isinstance(outcome(first), ChunkOutcome)
    second.begin(piece(SECOND, 1))
    until(lambda: second._turns is not None and second._turns.wanted)
    for number in (2, 3):
        clock.now += 5
        time.sleep(0.3)
        assert (second.outcomes(), wholes, open_connections()) == ([], ["db0"], 1)
        first.begin(piece(FIRST, number))
        assert isinstance(outcome(first), ChunkOutcome)
    assert isinstance(outcome(second), ChunkOutcome)
    assert (wholes, open_connections()) == (["db1"], 1)


def test_a_whole_read_that_is_not_continued_for_a_while_gives_its_turn_to_others(
    keyless: tuple[Readers, Readers], clock: Clock, wholes: list[str]
) -> None:
    """As one that is paused, or whose rows wait for the log."""
    first, second = keyless
    first.begin(piece(FIRST, 1))
    assert isinstance(outcome(first), ChunkOutcome)
    second.begin(piece(SECOND, 1))
    until(lambda: second._turns is not None and second._turns.wanted)
    clock.now += 11
    assert isinstance(outcome(second), ChunkOutcome)
    assert wholes == ["db0", "db1"]


def test_a_whole_read_keeps_the_turn_of_the_thread_that_has_read_its_last_piece(clock: Clock) -> None:
    world = without_keys()
    reader, reads = world.source.reader(FIRST), WholeReads(clock)
    assert isinstance(reader, Whole)

    def elsewhere(call: Callable[[], object]) -> object:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(call).result()

    assert not reads.is_ours()
    reads.piece(reader, piece(FIRST, 1))
    assert (reads.is_ours(), elsewhere(reads.is_ours)) == (True, False)
    elsewhere(lambda: reads.piece(reader, piece(FIRST, 2)))
    assert not reads.is_ours()
    assert reads.piece(reader, piece(FIRST, 3)).complete
    assert not reads.is_ours()


def test_turns_are_given_in_the_order_of_asking_and_one_more_only_to_who_has_none() -> None:
    clock, given = Clock(), list[str]()
    turns = ReaderTurns(1, clock)
    held = turns.take(FIRST, lambda: False)
    assert held is not None
    asks = [("again", FIRST), ("second", SECOND)]
    for name, whose in asks:
        before = len(turns._waiting)
        threading.Thread(target=note(turns, name, whose, given), daemon=True).start()
        until(lambda before=before: len(turns._waiting) > before)  # type: ignore[misc]  # of this round
    clock.now += LONG_S + 0.1
    until(lambda: given == ["second"])
    turns.give(held)
    time.sleep(0.05)
    assert given == ["second"], "the one that was given too many is still there"


def note(turns: ReaderTurns, name: str, whose: SourcePartition, given: list[str]) -> Callable[[], None]:
    def take() -> None:
        turns.take(whose, lambda: False)
        given.append(name)

    return take


def test_windows_of_all_databases_are_counted_together() -> None:
    windows = WindowBytes()
    assert windows.beside(FIRST, 100) == 0
    assert windows.beside(SECOND, 30) == 100
    assert windows.beside(FIRST, 50) == 30
    assert windows.beside(SECOND, 0) == 50


def test_windows_of_other_databases_take_room_and_one_chunk_always_fits() -> None:
    desk = Desk(limits=SnapshotLimits(readers=2, most_bytes=100, chunk_rows=3, slice_rows=2))
    desk.machine.bytes_beside = 95
    desk.machine.request(ASK)
    (plan,) = desk.work()
    spans = [KeySpan(None, ("3",)), KeySpan(("3",), ("6",))]
    desk.machine.planned(plan.ticket, ("id",), spans)
    assert len(desk.work()) == 1
    assert desk.machine.work_index.held == 12, "others count the chunk that is being read"
    desk.machine.bytes_beside = 0
    assert len(desk.work()) == 1


@pytest.mark.parametrize(("databases", "share"), [(1, 8 << 20), (2, 4 << 20), (200, 1 << 20)])
def test_a_chunk_is_smaller_where_each_of_many_databases_may_hold_one(databases: int, share: int) -> None:
    assert SnapshotLimits(databases=databases).share == share
