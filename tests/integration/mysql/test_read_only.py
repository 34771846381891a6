"""`read.only`: rows are read from a replica into which nothing is written, while they change on its primary.

The replica applies with four threads, on MySQL in an order of its own, where some transactions have tagged
GTIDs.
"""

import itertools
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.log_files import ask
from tests.integration.mysql.reads_world import APART, ReadsWorld
from tests.integration.mysql.replicas import replicated
from tests.integration.mysql.world import FLAVOURS, root
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry

pytestmark = pytest.mark.servers

ROWS = 300
WRITERS = 4
# `n` grows with every change of a row, for its rows are one writer's
WRITES = (
    "UPDATE orders SET n = {step}, price = price + 0.01 WHERE id = {key}",
    "UPDATE orders SET n = {step}, id = {new} WHERE id = {key}",
    "INSERT INTO orders (id, n, note) VALUES ({new}, {step}, 'new')",
    "DELETE FROM orders WHERE id = {last}",
)


@pytest.fixture(params=alternatives(FLAVOURS))
def world(
    request: pytest.FixtureRequest, tmp_path: Path, kafka: Broker, registry: SchemaRegistry
) -> Iterator[ReadsWorld]:
    """A table of a primary, of which a replica is read."""
    settings = {
        "read.only": "true",
        "incremental.snapshot.chunk.size": "20",
        "snapshot.max.threads": "2",
    }
    with replicated(request.param, tmp_path) as (primary, replica):
        made = ReadsWorld(tmp_path, primary, kafka, registry, settings, reader=replica)
        made.fill(ROWS)
        wait_until(lambda: _count(replica, made.prefix) == ROWS)
        yield made
        made.close()


@pytest.mark.full
def test_rows_of_a_replica_that_change_on_its_primary_fold_to_the_table(world: ReadsWorld) -> None:
    with _writing(world):
        world.run()
        world.came()
    read = world.equal()
    assert len(read) > ROWS // 2
    assert max(read.values()) == 1


@contextmanager
def _writing(world: ReadsWorld) -> Iterator[None]:
    stop = threading.Event()

    def write(number: int) -> None:
        chance, steps = random.Random(number), itertools.count(1)
        with root(world.server, database=world.prefix) as session:
            if number == 1 and not world.mariadb:
                ask(session, "SET SESSION gtid_next = 'AUTOMATIC:ours'")
            while not stop.wait(0.02):
                step = next(steps)
                key = APART * (WRITERS * chance.randrange(ROWS // WRITERS) + number)
                given = {
                    "key": key,
                    "step": step,
                    "new": key + step % APART,
                    "last": key + (step - 1) % APART,
                }
                with suppress(pymysql.err.IntegrityError):
                    ask(session, chance.choice(WRITES).format(**given))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, WRITERS + 1)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _count(server: MysqlServer, database: str) -> int:
    """How many rows there are, where the table is."""
    with root(server) as session, suppress(pymysql.err.ProgrammingError):
        return int(ask(session, f"SELECT COUNT(*) FROM {database}.orders")[0][0])
    return 0
