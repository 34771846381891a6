"""Rows with values that do not fit, from MySQL and MariaDB: letters and nulls of chunk and log, each once."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.pipes import Pipe
from tests.integration.mysql.world import FLAVOURS
from tests.integration.running.letters import letters, number_of
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers

SETTINGS = """value.unfit = "null"
column.unfit.letter = [".*.orders.day"]"""


@pytest.fixture(params=alternatives(FLAVOURS))
def pipe(
    request: pytest.FixtureRequest,
    started: Callable[[str], MysqlServer],
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[Pipe]:
    """A pipeline over a table with dates."""
    made = Pipe(
        tmp_path,
        request.param,
        started(request.param),
        kafka,
        registry,
        topic_prefix,
        ("a",),
        "initial",
        SETTINGS,
    )
    yield made
    made.close()


def told(pipe: Pipe) -> list[int]:
    return sorted(number_of(one["key"]) for one in letters(pipe.kafka, pipe.registry, pipe.prefix))


@pytest.mark.full  # PostgreSQL's is in the gate
def test_letters_and_nulls_of_chunk_and_log_are_there_once_though_the_task_is_killed(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    (database,) = pipe.databases
    table, zero, day = f"{database}.orders", "0000-00-00", "2026-01-01"
    pipe.execute("SET SESSION sql_mode = ''")
    pipe.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, day date NOT NULL, due date NOT NULL)")
    pipe.execute(
        f"INSERT INTO {table} VALUES (1,'{day}','{day}'), (2,'{zero}','{day}'), (3,'{day}','{zero}')"
    )

    def rows() -> list[tuple[int, Any]]:
        events = pipe.events(database, "orders")
        return sorted((number_of(one.key), (one.value["after"] or {}).get("due") is None) for one in events)

    monkeypatch.setenv(failpoints.VARIABLE, "before_commit=kill@3")
    running = pipe.run()
    assert running.process.wait(60) < 0
    monkeypatch.delenv(failpoints.VARIABLE)
    running = pipe.run()
    wait_until(lambda: rows() == [(1, False), (3, True)])
    assert told(pipe) == [2]
    assert running.stop(signal.SIGKILL) < 0

    pipe.execute(
        f"INSERT INTO {table} VALUES (4,'{day}','{day}'), (5,'{zero}','{zero}'), (6,'{day}','{zero}')"
    )
    monkeypatch.setenv(failpoints.VARIABLE, "before_confirm=kill@2")
    running = pipe.run()
    assert running.process.wait(60) < 0
    monkeypatch.delenv(failpoints.VARIABLE)
    pipe.run()
    pipe.execute(f"INSERT INTO {table} VALUES (7,'{day}','{day}')")
    wait_until(lambda: rows() == [(1, False), (3, True), (4, False), (6, True), (7, False)])
    assert told(pipe) == [2, 5]
    done = pipe.command("snapshot", "status", "--json")
    (state,) = [one for name, one in json.loads(done.stdout)["tables"].items() if name.endswith(".orders")]
    assert state["letters"] == {"day": 2, "due": 1}
    assert state["nulls"] == {"due": 2}
    assert state["reason"] is None
