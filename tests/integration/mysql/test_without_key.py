"""A table without a key through `wrackline run`: one read at one place, started over where it was killed.

The topic is folded as a bag of rows: what is older than the last `t` event is void, an update takes its old
row out and puts the new one in.
"""

import itertools
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.evidence import Decoder, Reader
from tests.fixtures.tiers import alternatives
from tests.integration.mysql.log_files import ask
from tests.integration.mysql.reads_world import ReadsWorld
from tests.integration.mysql.world import FLAVOURS, root
from tests.integration.running.world import PATIENCE, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack

pytestmark = pytest.mark.servers

ROWS = 400
WRITES = (
    "INSERT INTO orders (id, n, note) VALUES ({key}, {n}, 'new')",
    "UPDATE orders SET n = {n} WHERE id = {key} LIMIT 1",
    "DELETE FROM orders WHERE id = {key} LIMIT 1",
)
_ORDINAL = 8  # digits of a seq
Bag = Counter[tuple[int, int, str | None]]


@pytest.fixture(params=alternatives(FLAVOURS))
def world(
    request: pytest.FixtureRequest, stack: Stack, tmp_path: Path, kafka: Broker, registry: SchemaRegistry
) -> Iterator[ReadsWorld]:
    """A table without a key, with rows that are equal, read in small pieces."""
    settings = {"incremental.snapshot.chunk.size": "50"}
    made = ReadsWorld(tmp_path, getattr(stack, request.param)(), kafka, registry, settings)
    ask(made.sql, "ALTER TABLE orders DROP PRIMARY KEY, MODIFY id bigint NULL")
    for _ in range(2):
        made.fill(ROWS // 2)
    yield made
    made.close()


def test_a_read_that_is_killed_starts_over_and_reads_the_whole_table(world: ReadsWorld) -> None:
    with _writing(world):
        for armed in ("before_slice=kill@2", "before_slice=kill@4"):
            running = world.run(armed, wait=False)
            assert running.process.wait(PATIENCE) == -signal.SIGKILL, running.output
        world.run()
        wait_until(lambda: sum(_folded(world).values()) > ROWS // 2)
    wait_until(lambda: _folded(world) == _there(world), look=0.3)
    assert world.alive()


def _there(world: ReadsWorld) -> Bag:
    return Counter((row[0], row[1], row[2]) for row in ask(world.sql, "SELECT id, n, note FROM orders"))


def _folded(world: ReadsWorld) -> Bag:
    decoder = Decoder(world.registry.url)
    records = Reader(world.kafka.bootstrap).read([world.topic("orders")])
    events = [decoder.decode(record.value) for record in records if record.value is not None]
    floor = max((event["seq"] for event in events if event["op"] == "t"), default="")
    read = {event["seq"][:-_ORDINAL] for event in events if event["op"] == "r" and event["seq"] >= floor}
    assert read <= {floor[:-_ORDINAL]}, "rows of one read are as old as its place"
    bag: Bag = Counter()
    for event in events:
        if event["op"] != "t" and event["seq"] >= floor:
            for image, sign in ((event["before"], -1), (event["after"], 1)):
                if image is not None:
                    bag[image["id"], image["n"], image["note"]] += sign
    return +bag


@contextmanager
def _writing(world: ReadsWorld) -> Iterator[None]:
    stop, chance, numbers = threading.Event(), random.Random(3), itertools.count(1)

    def write() -> None:
        with root(world.server, database=world.prefix) as session:
            while not stop.wait(0.02):
                given = {"key": 1_000 * chance.randint(1, ROWS // 2), "n": next(numbers)}
                ask(session, chance.choice(WRITES).format(**given))

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        stop.set()
        writing.join()
