"""A connector whose databases are dealt to tasks: each task moves between the workers of a group."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from psycopg import sql

from tests.fixtures.servers import drop_slots
from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import PATIENCE, committed, wait_until

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


@pytest.fixture
def eleven(world: GroupWorld) -> Iterator[list[psycopg.Connection[tuple[object, ...]]]]:
    """Eleven more databases, with the table of the first connector."""
    names = [f"{world.database.name}_{number:02}" for number in range(1, 12)]
    for name in names:
        world.sql.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with ExitStack() as opened:
        made = [
            opened.enter_context(psycopg.connect(world.database.server.database_dsn(name), autocommit=True))
            for name in names
        ]
        for one in made:
            one.execute("CREATE TABLE t1 (id int PRIMARY KEY, note text)")
        yield made
    for worker in world.workers:
        if worker.process.poll() is None:
            worker.kill()
    for name in names:
        drop_slots(world.sql, name)
        world.sql.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def places(world: GroupWorld, of: Worker) -> list[str]:
    """Which worker runs each task that runs."""
    status = asked("GET", f"{of.url}/connectors/{world.name(1)}/status")[1]
    return [one["worker_id"] for one in status["tasks"] if one["state"] == "RUNNING"]


def restarts_alone(world: GroupWorld, task: int, workers: list[Worker], asks: Worker) -> None:
    """Restart one task: its process begins again on the worker that has it, and no other process does."""
    name = world.name(1)

    def begun() -> dict[tuple[str, int], int]:
        keys = {0: name, 1: f"{name}:1"}
        return {(one.id, number): one.began(key) for one in workers for number, key in keys.items()}

    before, url = begun(), f"{asks.url}/connectors/{name}"
    (place,) = [one["worker_id"] for one in asked("GET", f"{url}/status")[1]["tasks"] if one["id"] == task]
    assert asked("POST", f"{url}/tasks/{task}/restart")[0] == 204
    expected = {**before, (place, task): before[place, task] + 1}
    wait_until(lambda: begun() == expected)
    wait_until(lambda: len(places(world, asks)) == 2)
    assert begun() == expected


def slots(world: GroupWorld) -> list[int]:
    """How many slots each worker of the group has."""
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    found = admin.describe_consumer_groups([world.group])[world.group].result(PATIENCE)
    return sorted(len(one.assignment.topic_partitions) for one in found.members)


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
    restarts_alone(world, 1, [first], asks=first)
    arrives()
    second = world.start()
    wait_until(lambda: sorted(places(world, first)) == sorted([first.id, second.id]))
    for asks in (first, second):  # one of them has the task, and the other passes the wish on
        restarts_alone(world, 1, [first, second], asks=asks)
    arrives()
    second.kill()
    wait_until(lambda: places(world, first) == [first.id] * 2)
    arrives()
    fewer = {**config, "tasks.max": "1"}
    assert asked("PUT", f"{first.url}/connectors/{name}/config", fewer)[0] == 200
    wait_until(lambda: places(world, first) == [first.id])
    arrives()


@pytest.mark.full  # test_group_slots.py holds it for slots
def test_twelve_tasks_on_three_workers_are_four_on_each_and_six_after_one_has_ended(
    world: GroupWorld, eleven: list[psycopg.Connection[tuple[object, ...]]]
) -> None:
    """T-C08."""
    workers, name = [world.start() for _ in range(3)], world.name(1)
    first, ids = workers[0], [one.id for one in workers]
    wait_until(lambda: slots(world) == [42, 43, 43])
    databases = [world.database.name, *(one.info.dbname for one in eleven)]
    config = world.config(1, **{"tasks.max": "12", "database.names": ",".join(databases)})
    del config["database.dbname"]
    assert asked("POST", f"{first.url}/connectors", {"name": name, "config": config})[0] == 201
    wait_until(lambda: Counter(places(world, first)) == dict.fromkeys(ids, 4), patience=2 * PATIENCE)
    wait_until(lambda: logs_are_kept(world) == 12, patience=2 * PATIENCE)  # what is older is not read
    world.insert(1, 1, 1)
    for one in eleven:
        one.execute("INSERT INTO t1 VALUES (1, 'n')")
    everything_arrived(world, databases, 1)
    workers[2].kill()
    wait_until(lambda: Counter(places(world, first)) == dict.fromkeys(ids[:2], 6), patience=2 * PATIENCE)
    world.insert(1, 2, 2)
    for one in eleven:
        one.execute("INSERT INTO t1 VALUES (2, 'n')")
    everything_arrived(world, databases, 2)


def logs_are_kept(world: GroupWorld) -> int:
    """How many slots the databases of the connector have."""
    slots = world.sql.execute(
        "SELECT count(*) FROM pg_replication_slots WHERE starts_with(database, %s)", [world.database.name]
    )
    [(count,)] = slots.fetchall()
    return int(count)


def everything_arrived(world: GroupWorld, databases: list[str], count: int) -> None:
    """Wait for so many records of each database: each once."""
    for database in databases:
        topic = f"{world.name(1)}.{database}.public.t1"
        wait_until(lambda of=topic: len(committed(world.kafka.bootstrap, of)) >= count)  # type: ignore[misc]
        values = [value for _, value in committed(world.kafka.bootstrap, topic)]
        assert len(values) == len(set(values)) == count, topic
