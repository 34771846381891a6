"""The readers' threads over the fake source: what goes wrong is one read's, and nothing outlives its end."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.fakes.database import Database
from tests.fakes.place import Place
from tests.fakes.source import FakeReader, FakeSource
from tests.fakes.source_world import FakeSourceWorld
from tests.fakes.whole import FakeWhole
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Commit
from wrackline.producers.reading.readers import (
    ChunkOutcome,
    FailureOutcome,
    Outcome,
    PlanOutcome,
    Readers,
    VisibilityOutcome,
)
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, Ticket, VisibilityCheck
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import KeyKind, SourcePartition, TableId
from wrackline.testing.sources.source_world import Insert, orders

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION).id
KEY = ("shop", "number")
CANARY = "kanarienvogel"
REQUEST = ChunkRequest(TABLE, KEY)


class Reader(FakeReader):
    """Fails where a request says so, and waits to be given up where another does."""

    made: list["Reader"]

    def __init__(self, database: Database, kind: MarkKind, around: Surroundings) -> None:
        super().__init__(database, kind, around)
        self.closed = False
        self.given_up = threading.Event()
        Reader.made.append(self)

    def read(self, request: ChunkRequest) -> Chunk:
        if request.condition == "fails":
            raise KeyError(CANARY)
        if request.condition == "waits":
            assert self.given_up.wait(20)
            raise TimeoutError(CANARY)
        return super().read(request)

    def give_up(self) -> None:
        self.given_up.set()

    def close(self) -> None:
        self.closed = True


class Source(FakeSource):
    """A fake source with such readers."""

    reader_of = Reader


@pytest.fixture
def world() -> FakeSourceWorld:
    Reader.made = []
    made = FakeSourceWorld(source_of=Source)
    for number in range(3):
        made.commit(PARTITION, Insert({"shop": "a", "number": number, "label": "x", "big": None}))
    return made


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[FakeWhole]:
    """The whole reads that were closed."""
    made: list[FakeWhole] = []

    def close(read_on: FakeWhole) -> None:
        made.append(read_on)

    monkeypatch.setattr(FakeWhole, "close", close)
    return made


@pytest.fixture
def readers(world: FakeSourceWorld) -> Iterator[Readers]:
    made = Readers(world.source, PARTITION, 1, time.monotonic)
    yield made
    made.close()


def outcome(readers: Readers) -> Outcome:
    """The next one that is done."""
    found: list[Outcome] = []

    def came() -> bool:
        found.extend(readers.outcomes())
        return bool(found)

    until(came)
    (one,) = found
    return one


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def read(condition: str | None = None, *streamed: Commit) -> Read:
    return Read(Ticket("run/1"), ChunkRequest(TABLE, KEY, condition=condition), streamed)


def test_an_unforeseen_error_fails_one_read_and_shows_only_its_place(readers: Readers) -> None:
    readers.begin(read("fails"))
    failed = outcome(readers)
    assert isinstance(failed, FailureOutcome)
    assert isinstance(failed.error, OperatorNeeded)
    assert failed.error.code == "snapshot.read_broken"
    assert "KeyError at test_readers.py:" in failed.error.sentence
    assert CANARY not in str(failed.error)
    assert Reader.made[0].closed
    readers.begin(read())
    assert isinstance(outcome(readers), ChunkOutcome)
    assert len(Reader.made) == 2, "the next work opens another"


def test_every_outcome_is_reported(world: FakeSourceWorld) -> None:
    told = threading.Event()
    readers = Readers(world.source, PARTITION, 1, time.monotonic, told.set)
    for condition in ("fails", None):
        told.clear()
        readers.begin(read(condition))
        assert told.wait(20)
        assert len(readers.outcomes()) == 1
    readers.close()


def test_a_gate_that_stays_shut_says_what_is_hidden(world: FakeSourceWorld) -> None:
    hidden = Commit(world.commit(PARTITION, hidden=True), Place(0, 9), 0)
    seen = Commit("tx1", Place(0, 1), 0)
    passed = iter(range(0, 10_000, 20))
    readers = Readers(world.source, PARTITION, 1, lambda: float(next(passed)))
    readers.begin(read(None, seen, hidden))
    shut = outcome(readers)
    assert isinstance(shut, FailureOutcome)
    assert isinstance(shut.error, Transient)
    assert (shut.error.code, shut.hidden) == ("snapshot.gate_shut", [hidden])
    readers.begin(VisibilityCheck(Ticket("run/2"), (seen, hidden)))
    assert outcome(readers) == VisibilityOutcome(Ticket("run/2"), [hidden])
    world.show(PARTITION, hidden.transaction)
    readers.begin(read(None, seen, hidden))
    assert isinstance(outcome(readers), ChunkOutcome)
    readers.close()


def test_a_plan_names_key_and_spans(readers: Readers) -> None:
    readers.begin(Plan(Ticket("run/1"), TABLE, ()))
    assert outcome(readers) == PlanOutcome(Ticket("run/1"), KEY, (KeySpan(upto=("a", "2")),), None, 3)


def test_rows_of_one_value_of_a_chosen_column_are_distinguished_by_the_key(
    world: FakeSourceWorld, readers: Readers
) -> None:
    assert world.databases[PARTITION].shape.key == KEY
    readers.begin(Plan(Ticket("run/1"), TABLE, (), surrogate_key="label"))
    planned = outcome(readers)
    assert isinstance(planned, PlanOutcome)
    assert planned.key == ("label", *KEY)
    readers.begin(Plan(Ticket("run/2"), TABLE, (), surrogate_key="number"))
    again = outcome(readers)
    assert isinstance(again, PlanOutcome)
    assert again.key == ("number", "shop")


@pytest.fixture
def keyless(world: FakeSourceWorld) -> FakeSourceWorld:
    base = world.databases[PARTITION]
    base.shape = replace(base.shape, key=(), key_kind=KeyKind.NONE)
    return world


@pytest.mark.usefixtures("keyless")
def test_a_table_without_a_key_is_refused_in_words_where_nothing_reads_it_at_once(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reader, "whole", None)
    readers.begin(Plan(Ticket("run/1"), TABLE, ()))
    failed = outcome(readers)
    assert isinstance(failed, FailureOutcome)
    assert (failed.error.code, str(TABLE) in failed.error.sentence) == ("snapshot.no_key", True)


@pytest.mark.usefixtures("keyless")
def test_a_part_of_a_table_without_a_key_is_refused_in_words(readers: Readers) -> None:
    for part in (
        Plan(Ticket("run/1"), TABLE, (), condition="label = 'x'"),
        Plan(Ticket("run/1"), TABLE, (), high=("1",)),
        Plan(Ticket("run/1"), TABLE, (), keys=(("1",),)),
    ):
        readers.begin(part)
        failed = outcome(readers)
        assert isinstance(failed, FailureOutcome)
        assert failed.error.code == "snapshot.no_part"


def test_an_order_by_a_column_that_is_not_there_or_left_out_is_refused_at_once(
    world: FakeSourceWorld, readers: Readers
) -> None:
    base = world.databases[PARTITION]
    kept = tuple(column for column in base.shape.columns if column.name != "label")
    base.shape = replace(base.shape, columns=kept)  # as a source whose settings leave `label` out
    for column in ("nowhere", "label"):
        readers.begin(Plan(Ticket("run/1"), TABLE, (), surrogate_key=column))
        failed = outcome(readers)
        assert isinstance(failed, FailureOutcome)
        assert failed.error.code == "snapshot.no_surrogate"
        assert f"no column {column}, or the settings leave it out" in failed.error.sentence
        assert "--surrogate-key" in failed.error.hint


def whole(number: int, behind: int | None = None) -> Read:
    after = None if behind is None else (f"run/{behind}",)
    return Read(Ticket(f"run/{number}"), ChunkRequest(TABLE, (), after, most_rows=1), ())


def test_the_pieces_of_a_whole_read_follow_each_other_whichever_reader_takes_them(
    keyless: FakeSourceWorld, closed: list[FakeWhole]
) -> None:
    readers = Readers(keyless.source, PARTITION, 2, time.monotonic)
    found: list[tuple[int, bool]] = []
    for work in (whole(1), whole(2, 1), whole(3, 2)):
        readers.begin(work)
        done = outcome(readers)
        assert isinstance(done, ChunkOutcome)
        assert done.chunk.piece is not None
        assert (done.chunk.mark, len(done.chunk.slices)) == (done.mark, 1)
        found.append((done.chunk.piece.before, done.chunk.complete))
    assert found == [(0, False), (1, False), (2, True)]
    assert len(closed) == 1
    readers.close()


@pytest.mark.usefixtures("keyless")
def test_a_piece_that_is_no_longer_wanted_takes_nothing_from_the_read_begun_since(readers: Readers) -> None:
    for work, ends in (
        (whole(1), ChunkOutcome),
        (whole(2), ChunkOutcome),
        (whole(3, 1), FailureOutcome),
        (whole(4, 2), ChunkOutcome),
    ):
        readers.begin(work)
        done = outcome(readers)
        assert isinstance(done, ends), work
        if isinstance(done, FailureOutcome):
            assert isinstance(done.error, Transient)
            assert done.error.code == "snapshot.read_lost"


def test_reads_that_start_over_while_one_waits_to_begin_hold_one_thread_and_no_more(
    keyless: FakeSourceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a slot waits for all transactions that write; a read that is paused and resumed does not."""
    waiting: list[Reader] = []

    def whole_of(reader: Reader, table: TableId) -> FakeWhole:
        waiting.append(reader)
        assert reader.given_up.wait(40)
        raise TimeoutError(table)

    monkeypatch.setattr(Reader, "whole", whole_of)
    readers = Readers(keyless.source, PARTITION, 3, time.monotonic)

    def begin(number: int) -> None:
        readers.begin(whole(number))
        until(lambda: len(waiting) == number)

    begin(1)
    for number in (2, 3):
        begin(number)
        assert outcome(readers).ticket == f"run/{number - 1}"
    readers.begin(read())
    assert isinstance(outcome(readers), ChunkOutcome), "the others' threads are free"
    readers.close()


def test_a_read_that_is_not_continued_is_closed_after_a_while(
    keyless: FakeSourceWorld, closed: list[FakeWhole]
) -> None:
    now = [0.0]
    readers = Readers(keyless.source, PARTITION, 1, lambda: now[0])
    for work, seconds, left in ((whole(1), 0.0, 0), (read(), 599.0, 0), (read(), 601.0, 1)):
        now[0] = seconds
        readers.begin(work)
        outcome(readers)
        assert len(closed) == left
    readers.close()


def test_what_is_under_way_is_given_up_at_the_end_and_no_thread_stays(world: FakeSourceWorld) -> None:
    before = set(threading.enumerate())
    readers = Readers(world.source, PARTITION, 1, time.monotonic)
    readers.begin(read("waits"))
    until(lambda: bool(Reader.made))
    readers.close()
    assert set(threading.enumerate()) <= before
    assert [(one.given_up.is_set(), one.closed) for one in Reader.made] == [(True, True)]


def test_one_that_waits_at_the_gate_ends_too(world: FakeSourceWorld) -> None:
    before = set(threading.enumerate())
    hidden = Commit(world.commit(PARTITION, hidden=True), Place(0, 9), 0)
    readers = Readers(world.source, PARTITION, 1, time.monotonic)
    readers.begin(read(None, hidden))
    until(lambda: bool(Reader.made))
    readers.close()
    assert set(threading.enumerate()) <= before
    assert readers.outcomes() == []
