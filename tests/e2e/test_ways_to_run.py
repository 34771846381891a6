"""The ways to start Spark: spark-submit, a cluster, a Spark Connect server.  The copy is the same."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.e2e.copying import Copying, expected
from tests.e2e.written import ID, NOTE, Server
from tests.integration.consuming.world import SPARK_PATIENCE
from tests.integration.running.world import COMMAND
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program, is_listening
from wrackline.control.local.stack.servers import HOST, Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.spark import java
from wrackline.schemas.tables.table import Column

pytestmark = [
    pytest.mark.servers,
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # the registry's client leaves one
]

SPARK = Path(pyspark.__path__[0]) / "bin"
SUBMIT = str(SPARK / "spark-submit")
HERE = ("--conf", f"spark.driver.host={HOST}", "--conf", "spark.ui.enabled=false")
SMALL = ("--conf", "spark.executor.memory=512m", "--conf", "spark.sql.shuffle.partitions=1")


@pytest.fixture
def environment() -> dict[str, str]:
    """Spark's own scripts look for Java and Python here."""
    return {"JAVA_HOME": str(java.find_java().home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST}


@pytest.fixture
def copying(
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    namespace: str,
    environment: dict[str, str],
) -> Callable[..., Copying]:
    def make(*lines: str) -> Copying:
        server = Server(kafka, registry, topic_prefix, namespace)
        target = ("[target]", 'kind = "iceberg"', f'warehouse = "{tmp_path / "lake"}"')
        port = choose(tmp_path, "status")["status"]
        return Copying(tmp_path, server, registry, port, [*target, *lines], environment)

    return make


@pytest.fixture
def running() -> Iterator[Callable[[Program], Process]]:
    """Start servers; they end with the test."""
    started: list[Process] = []

    def start(program: Program) -> Process:
        made = Process(program)
        made.start()
        started.append(made)
        return made

    yield start
    for process in reversed(started):
        process.kill()


def told(*words: str) -> str:
    """Return what a command of ours prints."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=True).stdout.strip()


def submitted(made: Copying, *options: str) -> list[str]:
    """Return the documented command, with these options of spark-submit's."""
    jars = told("spark", "jars", str(made.file))
    return [SUBMIT, *options, *HERE, "--jars", jars, told("spark", "application")]


@pytest.mark.full
def test_spark_submit_runs_the_application(
    copying: Callable[..., Copying], spark: SparkSession, tmp_path: Path
) -> None:
    made = copying("[spark]", f'master = "spark://{HOST}:1"')  # no server is there; spark-submit says where
    made.table.reshape([ID, NOTE, Column("Note", 6, NOTE.type)])
    with made.table.transaction():
        made.table.event("c", {"id": 1, "note": "small", "Note": "large"})
    careless = ("--conf", "spark.sql.caseSensitive=false")  # would make one name of two
    command = [*submitted(made, "--master", "local[2]", *careless), "consume", str(made.file), "--once"]
    process = made.started(command)
    assert process.process.wait(SPARK_PATIENCE) == 0, made.told()
    lake = tmp_path / "lake" / made.table.id.schema / made.table.id.name
    copy = spark.newSession().read.format("iceberg").load(str(lake))
    assert [tuple(row)[:3] for row in copy.collect()] == [(1, "small", "large")]


@pytest.mark.deep
def test_a_cluster_merges_whoever_starts_the_driver(
    copying: Callable[..., Copying],
    running: Callable[[Program], Process],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    ports = choose(tmp_path / "cluster", "master", "page")
    master = f"spark://{HOST}:{ports['master']}"

    def workers() -> int:
        try:
            with urlopen(f"http://{HOST}:{ports['page']}/json/", timeout=5) as answer:
                return len(json.load(answer)["workers"])
        except (URLError, OSError):
            return 0

    of_master = [str(SPARK / "spark-class"), "org.apache.spark.deploy.master.Master", "--host", HOST]
    of_master += ["--port", str(ports["master"]), "--webui-port", str(ports["page"])]
    of_worker = [str(SPARK / "spark-class"), "org.apache.spark.deploy.worker.Worker", "--host", HOST]
    of_worker += ["--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / "work"), master]
    numbers = list(ports.values())
    folder = tmp_path / "cluster"
    running(
        Program(
            "master", of_master, folder, numbers, lambda: is_listening(ports["page"]), environment=environment
        )
    )
    running(
        Program("worker", of_worker, tmp_path / "worker", [], lambda: workers() == 1, environment=environment)
    )

    made = copying("[spark]", 'master = "local[1]"')
    assert made.merged_by(submitted(made, "--master", master, *SMALL)) == expected()
    assert list((tmp_path / "work").glob("app-*")), "no executor has run there"


@pytest.mark.deep
def test_a_spark_connect_server_merges(
    copying: Callable[..., Copying],
    running: Callable[[Program], Process],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    port = choose(tmp_path / "server", "connect")["connect"]
    made = copying("[spark]", f'remote = "sc://{HOST}:{port}"')
    serve = [SUBMIT, "--master", "local[2]", *HERE, "--conf", f"spark.connect.grpc.binding.address={HOST}"]
    serve += ["--conf", f"spark.connect.grpc.binding.port={port}"]
    serve += ["--jars", told("spark", "jars", str(made.file))]
    serve += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    program = Program(
        "connect", serve, tmp_path / "server", [port], lambda: is_listening(port), environment=environment
    )
    server = running(program)
    assert made.merged_by() == expected()

    process = made.started([*COMMAND, "consume", str(made.file)])
    process.told("running")
    server.kill()
    with made.table.transaction():
        made.table.event("d", {"id": 1})
    assert process.process.wait(SPARK_PATIENCE) == Exit.TRANSIENT
    assert "consume.spark_gone" in made.told()
