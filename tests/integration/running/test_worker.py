"""`wrackline worker` as processes: a crashed pipeline comes back, a failed one stays, nobody outlives it."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
import pytest
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]  # it has none
from psycopg import sql

from tests.fixtures.prepared import Forked, run_command
from tests.fixtures.servers import Database, drop_slots
from tests.integration.running.world import PATIENCE, World, environment, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.redaction import MASK

pytestmark = pytest.mark.servers


class Working:
    """A `wrackline worker --json`; what it says is in a file, a JSON object a line."""

    def __init__(self, folder: Path, *words: str | Path) -> None:
        self._said = folder / "said"
        with self._said.open("wb") as out:
            command = ["worker", "--json", *map(str, words)]
            self.process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=environment())

    @property
    def text(self) -> str:
        return self._said.read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All that it has said."""
        return [json.loads(line) for line in self.text.rpartition("\n")[0].splitlines()]

    def told(self, pipeline: str, state: str) -> list[dict[str, Any]]:
        """Every time that this pipeline was in this state."""
        return [one for one in self.lines if one["pipeline"] == pipeline and one.get("state") == state]

    @property
    def requests(self) -> str:
        """Where it takes requests."""
        wait_until(lambda: '"requests"' in self.text or self.process.poll() is not None)
        return next(
            str(told["requests"]) for told in map(json.loads, self.text.splitlines()) if "requests" in told
        )

    def waits_for(self, pipeline: str, state: str, times: int = 1) -> dict[str, Any]:
        """Wait until it was in this state so often, and return the last time."""
        wait_until(lambda: len(self.told(pipeline, state)) >= times or self.process.poll() is not None)
        told = self.told(pipeline, state)
        assert len(told) >= times, self.text
        return told[-1]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture
def worlds(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[tuple[World, World]]:
    """Two databases of one server, each with a pipeline."""
    other = Database(
        f"{database.name}_b", database.server.database_dsn(f"{database.name}_b"), database.server
    )
    with psycopg.connect(database.server.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(other.name)))
        made: list[World] = []
        for number, one in enumerate((database, other)):
            folder = tmp_path / str(number)
            folder.mkdir()
            made.append(World(folder, one, kafka, registry, f"{topic_prefix}{number}", 0))
        yield made[0], made[1]
        for world in made:
            world.close()
        drop_slots(admin, other.name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(other.name)))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Working]]:
    """Start a worker; one that still runs is ended, and its children with it."""
    started: list[Working] = []

    def begin(*worlds: World, words: tuple[str, ...] = ()) -> Working:
        started.append(Working(tmp_path, *words, *(world.file for world in worlds)))
        return started[-1]

    yield begin
    for working in started:
        if working.process.poll() is None:
            working.process.kill()
            working.process.wait()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def asks_for_its_password(world: World) -> None:
    """Let nobody in as the pipeline's role without it; everybody else needs none here."""
    ((name,),) = world.sql.execute("SHOW hba_file").fetchall()
    file = Path(str(name))
    file.write_text(f"host all {world.user} 127.0.0.1/32 scram-sha-256\n{file.read_text()}")
    world.sql.execute("SELECT pg_reload_conf()")


def kcat(world: World, *words: str) -> str:
    command = ["kcat", "-b", world.kafka.bootstrap, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def no_doubles(world: World, count: int) -> None:
    values = [value for _, value in world.events()]
    assert len(values) == len(set(values)) == count


def test_a_killed_pipeline_comes_back_and_nothing_is_lost_or_doubled(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, two = worlds
    working = start(one, two)
    killed = working.waits_for(one.prefix, "RUNNING")["pid"]
    other = working.waits_for(two.prefix, "RUNNING")["pid"]
    assert killed != other
    one.insert(1, 30)
    two.insert(1, 5)
    one.arrived(1)
    os.kill(killed, signal.SIGKILL)
    one.insert(31, 60)
    ended = working.waits_for(one.prefix, "RESTARTING")
    assert (ended["exit"], 0 < ended["wait_s"] <= 1) == (-signal.SIGKILL, True)
    # not by the count: a task that was halted for a while says that it runs again, too
    wait_until(lambda: working.told(one.prefix, "RUNNING")[-1]["pid"] != killed)
    again = working.told(one.prefix, "RUNNING")[-1]["pid"]
    assert again != other
    own = [line for line in working.lines if line["event"] == "connected"]
    assert [(line["pipeline"], line["database"]) for line in own].count((one.prefix, one.database.name)) == 2
    one.arrived(60)
    two.arrived(5)
    if shutil.which("kcat"):  # as the README says
        shown = kcat(one, "-L")
        assert f'topic "{one.topic}"' in shown
        assert f'topic "{two.topic}"' in shown
        committed = ("-X", "isolation.level=read_committed", "-f", "%p %o %T %S\\n")
        assert len(kcat(one, "-C", "-t", one.topic, "-e", "-q", *committed).splitlines()) == 60
    assert working.stop() == Exit.OK
    assert working.told(one.prefix, "STOPPED")[0]["exit"] == Exit.OK
    assert working.told(two.prefix, "STOPPED")[0]["exit"] == Exit.OK
    assert not alive(again)
    assert not alive(other)
    assert not working.told(two.prefix, "RESTARTING")
    no_doubles(one, 60)
    no_doubles(two, 5)


def asked(url: str, body: object = None) -> tuple[int, Any]:
    """Ask over HTTP, as curl would."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=60) as answer:  # noqa: S310 - ours
            return answer.status, json.load(answer)
    except HTTPError as refused:
        return refused.code, json.load(refused)


def test_rows_are_asked_for_by_rest_and_the_receipt_says_what_became_of_it(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, two = worlds
    one.insert(1, 12)
    working = start(one, two, words=("--rest-port", "0"))
    assert asked(working.requests) == (200, sorted([one.prefix, two.prefix]))
    requests = f"{working.requests}/{one.prefix}/requests"
    tables = {"data-collections": ["public.orders"]}
    signal_of_it = {"id": "again", "type": "execute-snapshot", "data": tables}
    assert asked(requests, signal_of_it) == (202, {"id": "again"})

    def over() -> bool:
        status, told = asked(f"{requests}/again")
        assert status == 404 or told["receipts"][0]["state"] != "failed", told
        return status == 200 and told["receipts"][0]["state"] == "succeeded"

    wait_until(over)
    (receipt,) = asked(f"{requests}/again")[1]["receipts"]
    assert (receipt["database"], receipt["tables"][0]["rows"]) == (one.database.name, 12)
    one.arrived(12)
    status, told = asked(requests, {"type": "execute-snapshot", "data": {"data-collection": "x"}})
    assert (status, told["code"]) == (400, "signal.unknown_field")
    assert asked(f"{working.requests}/{two.prefix}/requests/again")[0] == 404
    assert working.stop() == Exit.OK


def test_a_client_of_connect_manages_a_pipeline_while_the_other_streams(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, two = worlds
    working = start(one, two, words=("--rest-port", "0"))
    connect = KafkaConnect(working.requests.removesuffix("/connectors"))

    def comes_to(state: str) -> None:
        wait_until(lambda: connect.get_connector_status(one.prefix)["connector"]["state"] == state)

    working.waits_for(two.prefix, "RUNNING")
    comes_to("RUNNING")
    one.insert(1, 5)
    one.arrived(5)
    assert connect.get_connector_config(one.prefix)["database.password"] == MASK
    assert list(connect.list_connector_topics(one.prefix)[one.prefix]["topics"]) == [one.topic]
    (offset,) = asked(f"{working.requests}/{one.prefix}/offsets")[1]["offsets"]
    assert offset["partition"] == {"server": one.prefix, "database": one.database.name}
    connect.pause_connector(one.prefix)
    comes_to("PAUSED")
    one.insert(6, 9)
    two.insert(1, 3)
    two.arrived(3)
    assert working.process.poll() is None
    connect.resume_connector(one.prefix)
    one.arrived(9)
    connect.stop_connector(one.prefix)
    comes_to("STOPPED")
    assert connect.list_connector_tasks(one.prefix) == []
    one.insert(10, 12)
    connect.resume_connector(one.prefix)
    one.arrived(12)
    connect.restart_connector_task(one.prefix, 0)
    one.insert(13, 14)
    one.arrived(14)
    assert working.stop() == Exit.OK
    no_doubles(one, 14)


@pytest.mark.full
def test_a_pipeline_that_failed_is_begun_again_by_rest_once_it_is_repaired(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, _ = worlds
    text = one.file.read_text()
    one.file.write_text(text.replace("${env:WRACKLINE_DB_PASSWORD}", "c4n4ry-wr0ng"))
    asks_for_its_password(one)
    working = start(one, words=("--rest-port", "0"))
    connect = KafkaConnect(working.requests.removesuffix("/connectors"))
    working.waits_for(one.prefix, "FAILED")
    (task,) = connect.get_connector_status(one.prefix)["tasks"]
    assert task["state"] == "FAILED"
    assert "hint:" in task["trace"]
    assert "c4n4ry" not in str(connect.get_connector_config(one.prefix))
    assert working.process.poll() is None, "an operator may still fix it"
    one.file.write_text(text)
    connect.restart_connector(one.prefix, include_tasks=True, only_failed=True)
    working.waits_for(one.prefix, "RUNNING")
    one.insert(1, 3)
    one.arrived(3)
    assert working.stop() == Exit.OK


def test_children_end_with_a_worker_that_was_killed(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, two = worlds
    working = start(one, two)
    children = [working.waits_for(world.prefix, "RUNNING")["pid"] for world in worlds]
    one.insert(1, 3)
    one.arrived(3)
    os.kill(children[1], signal.SIGSTOP)
    os.kill(working.process.pid, signal.SIGKILL)
    working.process.wait()
    wait_until(lambda: not alive(children[0]))
    os.kill(children[1], signal.SIGCONT)  # a frozen one ends as soon as it can
    wait_until(lambda: not alive(children[1]))
    working = start(one, two)
    working.waits_for(one.prefix, "RUNNING")
    one.insert(4, 6)
    one.arrived(6)
    assert working.stop() == Exit.OK
    no_doubles(one, 6)


def test_a_pipeline_that_needs_an_operator_fails_while_the_other_streams(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, two = worlds
    text = one.file.read_text()
    one.file.write_text(text.replace("${env:WRACKLINE_DB_PASSWORD}", "c4n4ry-wr0ng"))
    asks_for_its_password(one)
    working = start(one, two)
    failed = working.waits_for(one.prefix, "FAILED")
    assert failed["error"]["kind"] in ("OperatorNeeded", "Definite")
    assert failed["error"]["hint"]
    assert failed["exit"] in (Exit.OPERATOR, Exit.DEFINITE)
    working.waits_for(two.prefix, "RUNNING")
    two.insert(1, 4)
    two.arrived(4)
    assert working.process.poll() is None
    assert working.stop() == failed["exit"]
    assert len(working.told(one.prefix, "STARTING")) == 1
    assert "c4n4ry" not in working.text


def test_a_pipeline_whose_database_stays_away_for_the_set_time_fails_and_says_why(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, _ = worlds
    text = one.file.read_text().replace(f"port = {one.database.server.port}", "port = 1")
    one.file.write_text("errors.retry.timeout = 400\n" + text)
    working = start(one)
    failed = working.waits_for(one.prefix, "FAILED")
    assert (failed["error"]["code"], failed["exit"]) == ("task.given_up", Exit.OPERATOR)
    assert "pg.unreachable" in failed["error"]["sentence"]
    assert len(working.told(one.prefix, "STARTING")) == 1, "nothing is tried again by itself"


@pytest.mark.full
def test_a_table_that_is_set_aside_is_named_by_rest_while_its_task_runs(
    worlds: tuple[World, World], start: Callable[..., Working]
) -> None:
    one, _ = worlds
    table = f"{one.database.name}.public.orders"
    chosen = 'message.key.columns = "public.orders:note"'
    one.file.write_text(one.file.read_text().replace("[kafka]", f"{chosen}\n[kafka]", 1))
    one.sql.execute("ALTER TABLE orders ALTER note SET NOT NULL, ADD UNIQUE (note)")
    one.sql.execute("INSERT INTO orders SELECT n, 'n' || n FROM generate_series(1, 3) n")
    working = start(one, words=("--rest-port", "0"))
    working.waits_for(one.prefix, "RUNNING")
    at = f"{working.requests}/{one.prefix}/status"

    def errors() -> Any:
        return asked(at)[1].get("tables_with_errors")

    assert errors() is None
    one.sql.execute("INSERT INTO orders VALUES (4, 'n4')")
    wait_until(errors)
    status = asked(at)[1]
    assert (status["connector"]["state"], status["tasks"][0]["state"]) == ("RUNNING", "RUNNING")
    told = status["tables_with_errors"]
    assert told["count"] == 1
    assert [(found["table"], found["code"]) for found in told["first"]] == [(table, "pg.key_not_logged")]
    assert 'ALTER TABLE "public"."orders" REPLICA IDENTITY FULL' in told["first"][0]["hint"]
    os.kill(working.told(one.prefix, "RUNNING")[-1]["pid"], signal.SIGKILL)
    working.waits_for(one.prefix, "RUNNING", 2)
    wait_until(errors)
    assert errors() == told, "a process that comes after it says so too"
    one.sql.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    run_command(["snapshot", "start", str(one.file), table], env=environment()).check_returncode()
    wait_until(lambda: errors() is None)
    one.arrived(4)
