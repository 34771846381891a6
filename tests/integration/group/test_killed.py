"""Three workers under load, each of which is killed in turn: nothing is lost or doubled."""

from threading import Event, Thread
from typing import Self

import psycopg
import pytest
from psycopg import sql

from tests.integration.group.world import GroupWorld
from tests.integration.running.world import wait_until

pytestmark = pytest.mark.servers


class Load:
    """Inserts into all tables by turns, each row in a transaction of its own, until it is ended."""

    def __init__(self, world: GroupWorld, tables: int) -> None:
        self._dsn, self._tables, self._over = world.database.dsn, tables, Event()
        self.rows = 0
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            while not self._over.wait(0.2):
                self.rows += 1
                for number in range(self._tables):
                    connection.execute(
                        sql.SQL("INSERT INTO {} VALUES (%s, 'n')").format(sql.Identifier(f"t{number}")),
                        [self.rows],
                    )


@pytest.mark.parametrize(
    "count", [3, pytest.param(6, marks=pytest.mark.full), pytest.param(30, marks=pytest.mark.deep)]
)
def test_no_event_is_lost_or_doubled_however_often_a_worker_is_killed(world: GroupWorld, count: int) -> None:
    """T-E20."""
    workers = [world.start() for _ in range(3)]
    for number in range(count):
        world.make(workers[0], number)
    world.runs(workers[0], count)  # each on a worker that is killed below, because all three are
    with Load(world, count) as load:
        for killed in workers:
            killed.kill()
            workers = [*workers[1:], world.start()]
            world.held(workers[-1], count, {one.id for one in workers})
            before = load.rows  # of each table, and every one of them comes to Kafka again
            for number in range(count):
                wait_until(lambda: len(world.events(number)) > before)  # noqa: B023 - at once
    for number in range(count):
        world.arrived(number, load.rows)
