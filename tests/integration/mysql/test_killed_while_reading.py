"""`wrackline run` is killed in the midst of its reads, beside a writer: a start continues where Kafka says.

Whatever happens, the topic folds to the table, no key goes back, and a row that nobody writes is read once.
"""

import itertools
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.reads_world import APART, CHANGES, ReadsWorld
from tests.integration.mysql.test_changed_around_reads import MARKS
from tests.integration.mysql.world import FLAVOURS
from tests.integration.running.world import PATIENCE, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack

pytestmark = pytest.mark.servers

ROWS = 200
WRITTEN = 100  # the first of them, which the writer changes
# window open; read and not marked; mark passed and nothing out; a slice out or on its way
CHAIN = ("before_select=kill@3", "after_select=kill@2", "before_slice=kill@3", "after_slice=kill@2")


@pytest.fixture(params=alternatives(itertools.product(FLAVOURS, MARKS)), ids=" by ".join)
def world(
    request: pytest.FixtureRequest, stack: Stack, tmp_path: Path, kafka: Broker, registry: SchemaRegistry
) -> Iterator[ReadsWorld]:
    """A table whose rows are read in small chunks, on each server and with each kind of marks."""
    flavour, marks = request.param
    settings = {
        "incremental.snapshot.chunk.size": "7",
        "incremental.snapshot.watermarking.strategy": marks,
    }
    made = ReadsWorld(tmp_path, getattr(stack, flavour)(), kafka, registry, settings)
    yield made
    made.close()


def test_killed_at_one_place_of_a_read_after_the_other(world: ReadsWorld) -> None:
    world.fill(ROWS)
    with _writing(world):
        for armed in CHAIN:
            _dies(world, armed)
        world.run()
    read = world.equal()
    untouched = sum(times == 1 for times in read.values())
    assert max(read.values()) == 1, "a start read again what was released"
    assert untouched >= ROWS - WRITTEN


def _dies(world: ReadsWorld, armed: str) -> None:
    """Start it, and wait until the failpoint kills it."""
    ended = world.run(armed, wait=False).process.wait(PATIENCE)
    assert ended == -signal.SIGKILL, f"{armed} was not reached:\n{world.started[-1].output}"


@pytest.mark.deep
@pytest.mark.full
def test_killed_and_resumed_over_several_spans(world: ReadsWorld) -> None:
    rows = 104_000  # so many that a table is read in parts
    world.settings |= {"incremental.snapshot.chunk.size": "4000", "snapshot.max.threads": "2"}
    world.fill_many(rows)
    for armed in ("before_slice=kill@9", "after_close_mark=kill@6", "after_commit=kill@2"):
        _dies(world, armed)
    assert len(world.read_so_far()) < rows
    world.run()
    wait_until(lambda: len(world.read_so_far()) == rows, look=0.5)
    assert set(world.read_so_far().values()) == {1}, "a span was read twice"
    assert world.spans() > 2


@contextmanager
def _writing(world: ReadsWorld) -> Iterator[None]:
    """Change the first rows until the block ends."""
    stop, chance, kinds = threading.Event(), random.Random(11), list(CHANGES)
    kinds.remove("from_far_ahead")

    def write() -> None:
        while not stop.wait(0.03):
            world.change(chance.choice(kinds), chance.randint(1, WRITTEN) * APART, chance)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        stop.set()
        writing.join()
