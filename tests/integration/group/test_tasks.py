"""A connector whose databases are dealt to tasks: each task moves between the workers of a group."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.servers import drop_slots
from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import committed, wait_until

pytestmark = pytest.mark.servers


@pytest.fixture
def beside(world: GroupWorld) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A second database, with the table of the first connector."""
    other = f"{world.database.name}_b"
    world.sql.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(other)))
    with psycopg.connect(world.database.server.database_dsn(other), autocommit=True) as connection:
        connection.execute("CREATE TABLE t1 (id int PRIMARY KEY, note text)")
        yield connection
    for worker in world.workers:
        if worker.process.poll() is None:
            worker.kill()
    drop_slots(world.sql, other)
    world.sql.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(other)))


def places(world: GroupWorld, of: Worker) -> list[str]:
    """Which worker runs each task that runs."""
    status = asked("GET", f"{of.url}/connectors/{world.name(1)}/status")[1]
    return [one["worker_id"] for one in status["tasks"] if one["state"] == "RUNNING"]


@pytest.mark.full  # test_group_hands.py holds it for one worker
def test_a_task_moves_to_a_worker_that_joins_and_back_from_one_that_is_killed(
    world: GroupWorld, beside: psycopg.Connection[tuple[object, ...]]
) -> None:
    """T-C07."""
    first, name = world.start(), world.name(1)
    config = world.config(
        1, **{"tasks.max": "2", "database.names": f"{world.database.name},{beside.info.dbname}"}
    )
    del config["database.dbname"]
    assert asked("POST", f"{first.url}/connectors", {"name": name, "config": config})[0] == 201
    wait_until(lambda: places(world, first) == [first.id] * 2)
    count = 0

    def arrives() -> None:
        nonlocal count
        count += 1
        world.insert(1, count, count)
        beside.execute("INSERT INTO t1 VALUES (%s, 'n')", [count])
        world.arrived(1, count)
        topic = f"{name}.{beside.info.dbname}.public.t1"
        wait_until(lambda: len(committed(world.kafka.bootstrap, topic)) >= count)
        values = [value for _, value in committed(world.kafka.bootstrap, topic)]
        assert len(values) == len(set(values)) == count

    arrives()
    second = world.start()
    wait_until(lambda: sorted(places(world, first)) == sorted([first.id, second.id]))
    arrives()
    second.kill()
    wait_until(lambda: places(world, first) == [first.id] * 2)
    arrives()
    fewer = {**config, "tasks.max": "1"}
    assert asked("PUT", f"{first.url}/connectors/{name}/config", fewer)[0] == 200
    wait_until(lambda: places(world, first) == [first.id])
    arrives()
