"""The task is killed at each place of a read, and again at the next one as soon as it has started.

Whatever happens: the topics equal the tables, no key goes back, and what Kafka has of a read is not read
again: a start continues after the last slice that was committed.
"""

import itertools
import signal
import time
from collections import Counter
from collections.abc import Callable

import orjson
import pytest

from tests.chaos.checks import check_all
from tests.chaos.conftest import Opened
from tests.chaos.evidence import Reader
from tests.chaos.fold import equal
from tests.chaos.holds import Holds
from tests.chaos.marks import NOT_OF_ROWS
from tests.chaos.world import World
from tests.integration.running.world import PATIENCE, wait_until
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """A database whose rows are read in small chunks."""
    return read_in_chunks(7)


def dies(world: World, armed: str) -> None:
    """Start it, and wait until the failpoint kills it."""
    running = world.run(armed, wait=False)
    ended = running.process.wait(PATIENCE)
    assert ended == -signal.SIGKILL, f"{armed} was not reached:\n{running.output}"


def released(world: World, table: str) -> Counter[bytes]:
    """How often each key of a table was read, as far as Kafka has it; for a table that nobody writes."""
    records = Reader(world.kafka.bootstrap).read([world.topic(table)])
    return Counter(record.key or b"" for record in records)


def spans(world: World, table: str) -> int:
    """In how many parts the table was read, by what was saved."""
    most = 0
    for record in Reader(world.kafka.bootstrap).read([world.offsets]):
        key = orjson.loads(record.key or b"[]")
        if isinstance(key, list) and key[1].get("table", [""])[-1] == table and record.value is not None:
            jobs = orjson.loads(record.value).get("snapshot", {}).get("jobs", [])
            most = max([most, *(len(job.get("ranges") or ()) for job in jobs)])
    return most


def read_once(world: World) -> None:
    """Assert that all holds, and that no row that nobody writes was read twice."""
    world.caught_up()
    equal(world, ["orders"])
    seen = check_all(world, but=NOT_OF_ROWS)
    read = Counter(event.key for event in seen.events if event.op == "r" and event.id < -1000)
    assert read, "nothing was read"
    assert set(read.values()) == {1}, "a start read again what was released"


def some(look: Callable[[], object], seconds: float = 0.3) -> bool:
    """Whether there is something, or soon will be."""
    deadline = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(found)


# window open; read and not marked; mark passed and nothing out; a slice out or on its way
CHAIN = ("before_select=kill@3", "after_select=kill@1", "before_slice=kill@3", "after_slice=kill@2")


@pytest.mark.full
def test_killed_at_one_place_of_a_read_after_the_other(world: World) -> None:
    """T-W12."""
    world.insert("orders", 300)
    with world.writing(count=1, pace=0.1):
        for armed in CHAIN:
            dies(world, armed)
        world.run()
    read_once(world)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", failpoints.READ)
def test_killed_at_a_place_of_a_read_and_at_each_other_right_after_it(world: World, first: str) -> None:
    world.insert("orders", 900)
    with world.writing(count=2, pace=0.1):
        for then, times in itertools.product(failpoints.READ, (1, 3)):
            dies(world, f"{first}=kill@{times}")
            dies(world, f"{then}=kill@1")
        world.run()
    read_once(world)


@pytest.mark.full
def test_killed_with_one_slice_of_several_out(world: World) -> None:
    world.settings |= {"incremental.snapshot.chunk.size": "40", "snapshot.max.threads": "1"}
    world.insert("orders", 40, 350_000)  # more slices than wait for Kafka at once
    holds = Holds(world, ("before_slice",))
    running = world.run(holds.armed)
    holds.next()
    while not some(lambda: released(world, "orders")):  # what is under way to Kafka arrives meanwhile
        holds.let_go("before_slice")
        holds.next()
    running.process.kill()
    running.process.wait()
    out = released(world, "orders")
    assert 0 < len(out) < 40, "the chunk is half published"
    dies(world, "before_slice=kill@1")
    dies(world, "after_select=kill@1")
    assert released(world, "orders") == out
    world.run()
    read_once(world)


@pytest.mark.full
def test_killed_and_resumed_over_several_spans(world: World) -> None:
    rows = 104_000  # so many that a table is read in parts
    world.settings["incremental.snapshot.chunk.size"] = "4000"
    with world.session() as session:
        session.execute("ALTER TABLE lines DISABLE TRIGGER USER")  # nobody asks the ledger for these
        session.execute("INSERT INTO lines (id) SELECT -g FROM generate_series(1, %s) g", [rows])
        session.execute("ANALYZE lines")
    for armed in ("before_slice=kill@9", "after_close_mark=kill@6", "after_commit=kill@2"):
        dies(world, armed)
        assert len(released(world, "lines")) < rows
    world.run()
    wait_until(lambda: len(released(world, "lines")) == rows)
    assert spans(world, "lines") > 2
    assert set(released(world, "lines").values()) == {1}, "a span was read twice"
