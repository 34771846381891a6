"""The thread that mines: what it hands out, when, and how it ends."""

import time
from collections.abc import Callable, Generator, Iterator
from threading import Event

import pytest

from tests.unit.producers.oracle.mining_world import MiningWorld, redo
from wrackline.producers.sources.oracle.connect.server_errors import SERVER_LOST
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mining_thread import MiningThread, mining_thread
from wrackline.producers.sources.oracle.mining.position import CommitPlace, OraclePosition, last_at
from wrackline.schemas.errors import Transient

LOOK = OracleLook({})
LONG_S = 60.0


def piece(upto: int | None, size: int = 0) -> MinedPiece:
    return MinedPiece([], size, upto, LOOK, frozenset({1}), frozenset())


class FakeMiner:
    """Hands out what it is given."""

    def __init__(self) -> None:
        self.ranges: list[list[MinedPiece] | Exception] = [[]]  # the last comes again and again
        self.mined = 0
        self.behind = False
        self.closed = Event()

    def mine(self) -> Generator[MinedPiece]:
        found = self.ranges[min(self.mined, len(self.ranges) - 1)]
        self.mined += 1
        self.behind = self.mined < len(self.ranges)
        if isinstance(found, Exception):
            raise found
        yield from found

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def miner() -> FakeMiner:
    return FakeMiner()


@pytest.fixture
def make(miner: FakeMiner) -> Iterator[Callable[..., MiningThread]]:
    made: list[MiningThread] = []

    def begin(interval_s: float = LONG_S, most_bytes: int = 1_000) -> MiningThread:
        thread = MiningThread(miner, lambda: None, interval_s, most_bytes)
        made.append(thread)
        thread.start(lambda: None)
        return thread

    yield begin
    for thread in made:
        thread.close()
        assert miner.closed.is_set()


def taken(thread: MiningThread, count: int = 1) -> list[MinedPiece]:
    found: list[MinedPiece] = []
    deadline = time.monotonic() + 10
    while len(found) < count and time.monotonic() < deadline:
        if (one := thread.take()) is not None:
            found.append(one)
        else:
            time.sleep(0.002)
    return found


def test_the_place_is_said_at_the_beginning(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(100)]]
    assert [(one.upto, one.question) for one in taken(make())] == [(100, True)]


def test_a_question_is_answered_without_news(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(100)]]
    thread = make(interval_s=0.01)
    taken(thread)
    thread.ask()
    assert [(one.upto, one.question) for one in taken(thread)] == [(100, True)]


def test_ranges_without_news_are_not_handed_out(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(100)], [piece(100)], [piece(101)]]
    thread = make(interval_s=0.01)
    assert [one.upto for one in taken(thread, 2)] == [100, 101]


def test_while_it_is_behind_it_does_not_rest(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(100)], [piece(200)], [piece(300)]]
    assert [one.upto for one in taken(make(), 3)] == [100, 200, 300]


def test_the_end_of_a_range_answers_and_no_other_piece(
    make: Callable[..., MiningThread], miner: FakeMiner
) -> None:
    miner.ranges = [[piece(None, 5), piece(None, 5), piece(100, 5)]]
    assert [(one.upto, one.question) for one in taken(make(), 3)] == [
        (None, False),
        (None, False),
        (100, True),
    ]


def test_what_waits_is_bounded(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(None, 600) for _ in range(9)]]
    thread = make(most_bytes=1_000)
    time.sleep(0.2)
    assert len(thread._pieces) == 2
    assert len(taken(thread, 9)) == 9


def test_an_error_comes_behind_the_pieces(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(100)], SERVER_LOST(doing="mine", reason="gone")]
    thread = make()
    assert miner.closed.wait(10)
    assert thread.take() is not None
    with pytest.raises(Transient, match=r"oracle.server_lost"):
        thread.take()
    with pytest.raises(Transient, match=r"oracle.server_lost"):
        thread.take()


def test_a_thread_that_waits_for_room_ends(make: Callable[..., MiningThread], miner: FakeMiner) -> None:
    miner.ranges = [[piece(None, 900) for _ in range(50)]]
    thread = make(most_bytes=1_000)
    time.sleep(0.05)
    thread.stop()
    assert miner.closed.wait(10)


def test_it_mines_a_database_and_ends_its_sessions() -> None:
    world = MiningWorld()
    world.model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    at = world.miner._after
    position = OraclePosition(1, last_at(at), oldest=at + 1, incarnation=world.incarnation, done=last_at(at))
    thread = mining_thread(
        world.connector, world.settings, position, world.look, frozenset({"SHOP"}), 1 << 20
    )
    rang = Event()
    thread.start(rang.set)
    assert rang.wait(10)
    found = taken(thread)
    assert len(redo(found)) == 1
    assert found[0].question
    assert isinstance(position.place, CommitPlace)
    thread.close()
    assert world.model.driver.connections == 0


def test_a_call_of_the_server_is_cut_by_the_end() -> None:
    world = MiningWorld()
    waiting = world.model.stall("START_LOGMNR")
    thread = MiningThread(world.miner, world.miner.cancel, LONG_S, 1 << 20)
    thread.start(lambda: None)
    assert waiting.wait(10)
    began = time.monotonic()
    thread.close()
    assert time.monotonic() - began < 4
    assert thread.take() is None
    assert world.model.driver.connections == 0
