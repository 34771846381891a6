"""`wrackline run` over a stand-in for SQL Server, two databases, killed in mid stream: topics are tables."""

import signal
import subprocess
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import orjson
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.fixtures.prepared import Forked, run_command
from tests.fixtures.sqlserver_world import PASSWORD, USER
from tests.integration.running.world import Running, committed, environment, wait_until
from wrackline.control.local.sqlserver_standin.agent import Agent
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

ROWS = 600  # before the first start
ROUNDS = 3  # each is killed
FILE = """
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
[source]
connector.class = "sqlserver"
database.hostname = "127.0.0.1"
database.port = {port}
database.user = "{user}"
database.password = "${{env:WRACKLINE_DB_PASSWORD}}"
database.names = "shop,stock"
driver.encrypt = "false"
poll.interval.ms = 50
table.include.list = '{tables}'
signal.data.collection = "dbo.signals"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""


class Pipeline:
    """Two databases on a stand-in, and one pipeline over them."""

    def __init__(
        self,
        folder: Path,
        model: ModelServer,
        port: int,
        kafka: Broker,
        registry: SchemaRegistry,
        prefix: str,
    ) -> None:
        self.model, self.kafka, self.registry, self.prefix = model, kafka, registry, prefix
        self.folder, self.file = folder, folder / "pipeline.toml"
        self.started: list[Running] = []
        self.file.write_text(
            FILE.format(
                prefix=prefix,
                port=port,
                user=USER,
                tables=r"dbo\.orders",
                brokers=kafka.bootstrap,
                registry=registry.url,
            )
        )
        self.around = environment() | {"WRACKLINE_DB_PASSWORD": PASSWORD}

    def run(self) -> Running:
        printed = self.folder / f"printed-{len(self.started)}"
        with printed.open("wb") as out:
            command = ["run", "--text", str(self.file)]
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=self.around)
        self.started.append(Running(process, printed))
        self.started[-1].says("running\n")
        return self.started[-1]

    def execute(self, database: str, sql: str) -> list[tuple[Any, ...]]:
        session = SqlSession(self.model, USER, database, 51, lambda: False)
        found = [one for one in session.run(sql, {}) if isinstance(one, QueryRows)]
        return [tuple(row) for row in found[-1].rows] if found else []

    def copy(self, database: str) -> dict[bytes | None, dict[str, Any]]:
        """The rows that a reader of each key's newest event has."""
        rows: dict[bytes | None, tuple[str, dict[str, Any] | None]] = {}
        with SchemaRegistryClient({"url": self.registry.url}) as registry:
            shapes: dict[int, Any] = {}
            for key, value in committed(self.kafka.bootstrap, f"{self.prefix}.{database}.dbo.orders"):
                if value is None:
                    continue
                number = int.from_bytes(value[1:5], "big")
                if number not in shapes:
                    shapes[number] = orjson.loads(registry.get_schema(number).schema_str or "")
                event: Any = fastavro.schemaless_reader(BytesIO(value[5:]), shapes[number], None)
                if event["seq"] >= rows.get(key, ("", None))[0]:
                    rows[key] = event["seq"], event["after"]
        return {key: after for key, (_, after) in rows.items() if after is not None}

    def is_copied(self, database: str) -> bool:
        table = self.execute(database, "SELECT id, amount, note FROM dbo.orders;")
        return sorted(table) == sorted(
            (one["id"], one["amount"], one["note"]) for one in self.copy(database).values()
        )


@pytest.fixture
def pipeline(
    tmp_path: Path, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[Pipeline]:
    model = ModelServer()
    model.create_login(USER, PASSWORD, administrator=True)
    for name in ("shop", "stock"):
        database = model.create_database(name)
        columns = {"id": "int", "amount": "decimal(10,2)", "note": "nvarchar(max) null"}
        database.create_table("dbo.orders", columns, ("id",))
        signals = {"id": "nvarchar(80)", "type": "nvarchar(32)", "data": "nvarchar(2048) null"}
        database.create_table("dbo.signals", signals, ("id",))
        database.enable_cdc()
        with database.transaction() as one:
            one.insert("dbo.orders", *({"id": n, "amount": n, "note": f"é {n}"} for n in range(ROWS)))
        database.enable_table("dbo.orders")
        database.enable_table("dbo.signals")
        database.scan()
    with Agent(model, scan_every=0.1), SqlServerStandin(model) as server:
        made = Pipeline(tmp_path, model, server.port, kafka, registry, topic_prefix)
        yield made
        for running in made.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()


def test_killed_in_mid_stream_each_topic_is_its_table(pipeline: Pipeline) -> None:
    random = Random(7)
    for _ in range(ROUNDS):
        running = pipeline.run()
        for _ in range(40):
            database, key = random.choice(("shop", "stock")), random.randint(0, ROWS - 1)
            pipeline.execute(
                database,
                "UPDATE dbo.orders SET amount = amount + 1,"
                f" note = N'{random.random()}' WHERE id < {key % 9};"
                f" DELETE FROM dbo.orders WHERE id = {key};"
                f" INSERT INTO dbo.orders VALUES ({key}, 7, NULL);"
                f" UPDATE dbo.orders SET id = id + {ROWS} WHERE id = {random.randint(0, ROWS - 1)};"
                f" DELETE FROM dbo.orders WHERE id >= {ROWS};",
            )
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    running = pipeline.run()
    for database in ("shop", "stock"):
        wait_until(lambda: pipeline.is_copied(database))  # noqa: B023 - at once
    assert running.stop() == Exit.OK


def test_a_check_finds_what_is_not_captured_with_the_sql_that_repairs_it(pipeline: Pipeline) -> None:
    pipeline.model.databases["shop"].disable_table("dbo_orders")
    pipeline.model.databases["stock"].disable_cdc()
    done = run_command(["check", str(pipeline.file)], env=pipeline.around)
    assert done.returncode != 0
    assert (
        "EXEC [shop].sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'orders'" in done.stdout
    )
    assert "USE [stock]; EXEC sys.sp_cdc_enable_db;" in done.stdout, done.stdout


def test_an_assessment_tries_each_database_and_leaves_nothing(pipeline: Pipeline) -> None:
    done = run_command(["assess", str(pipeline.file), "--probe", "--json"], env=pipeline.around)
    found = orjson.loads(done.stdout)
    assert done.returncode == Exit.OK, done.stdout
    tried = [(one["id"], one["ok"]) for one in found["trials"]]
    each = [("login", True), ("log", True), ("rows", True)]
    assert tried == [*each, *each, ("transaction", True), ("versions", True)]
    assert (found["forecast"]["rows"], found["forecast"]["logMostSeconds"]) == (2 * ROWS, 3 * 86_400)
    for database in ("shop", "stock"):
        assert pipeline.execute(database, "SELECT id FROM dbo.signals;") == []
    listed = AdminClient({"bootstrap.servers": pipeline.kafka.bootstrap}).list_topics(timeout=30).topics
    assert not [topic for topic in listed if pipeline.prefix in topic]


@pytest.mark.full  # test_sqlserver_capture_stopped.py holds it, and test_databases.py what status shows
def test_a_stopped_agent_is_shown_by_status_and_nothing_is_lost(pipeline: Pipeline) -> None:
    """T-Q05, with the jobs of both databases; each is an error of its database."""

    def status() -> str:
        return run_command(["status", str(pipeline.file)], env=pipeline.around).stdout

    running = pipeline.run()
    for database in ("shop", "stock"):
        wait_until(lambda: pipeline.is_copied(database))  # noqa: B023 - at once
    pipeline.model.run_agent(runs=False)
    for database in ("shop", "stock"):
        pipeline.execute(database, "UPDATE dbo.orders SET amount = amount + 1 WHERE id < 9;")
    began = time.monotonic()
    wait_until(lambda: status().count("sqlserver.agent_stands") >= 2)
    assert time.monotonic() - began < 60
    assert not pipeline.is_copied("shop")
    pipeline.model.run_agent(runs=True)
    for database in ("shop", "stock"):
        wait_until(lambda: pipeline.is_copied(database))  # noqa: B023 - at once
    assert running.stop() == Exit.OK
