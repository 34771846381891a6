"""The servers of docker-compose.yml take the settings that stand there: the same programs, without images.

Kafka's image turns KAFKA_A_B into a.b; what is left is the broker's own affair.  Only addresses, ports and
folders are of this machine.
"""

import re
import tarfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import orjson
import psycopg
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # as their pages do

from tests.unit.deploy.files import services
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack import kafka, postgres, registry
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.cache import fill_once
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.schemas.versions import APICURIO, KAFKA

pytestmark = pytest.mark.deep

SCHEMA = '{"type":"record","name":"A","fields":[]}'


@contextmanager
def running(
    name: str, folder: Path, command: list[str], port: int, ready: Callable[[], bool], **environment: str
) -> Iterator[Process]:
    process = Process(Program(name, command, folder, [port], ready, environment=environment))
    process.start()
    try:
        yield process
    finally:
        process.stop()


def test_kafka_takes_its_settings(tmp_path: Path) -> None:
    ports = choose(tmp_path, "inside", "host", "controller")
    named = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): str(value)
        for name, value in services()["kafka"]["environment"].items()
        if name != "KAFKA_HEAP_OPTS"
    }
    named["log.dirs"] = str(tmp_path / "data")
    for name in ("listeners", "advertised.listeners", "controller.quorum.voters"):
        moved = re.sub(r"//(kafka|localhost)?:", "//127.0.0.1:", named[name])
        for theirs, ours in (("9092", "inside"), ("29092", "host"), ("9093", "controller")):
            moved = re.sub(rf":{theirs}\b", f":{ports[ours]}", moved)
        named[name] = moved
    settings = tmp_path / "server.properties"
    settings.write_text("".join(f"{name}={value}\n" for name, value in named.items()))
    jvm = [java.find_java().program, "-Xmx512m", "-cp", classpath(fetch(KAFKA))]
    bootstrap = f"127.0.0.1:{ports['inside']}"
    program = Program(
        "kafka",
        [*jvm, "kafka.Kafka", str(settings)],
        tmp_path,
        list(ports.values()),
        partial(kafka.answers, bootstrap),
        prepare=lambda run: run(
            [
                *jvm,
                "kafka.tools.StorageTool",
                "format",
                "--config",
                str(settings),
                "--cluster-id=d3JhY2tsaW5lLXRlc3QtMQ",
            ]
        ),
    )
    process = Process(program)
    process.start()
    try:
        assert kafka.answers(f"127.0.0.1:{ports['host']}")
        broker = ConfigResource(ConfigResource.Type.BROKER, "1")
        admin = AdminClient({"bootstrap.servers": bootstrap})
        [found] = admin.describe_configs([broker]).values()
        told = {name: entry.value for name, entry in found.result(30).items()}
        assert {name: told.get(name) for name in named} == named
    finally:
        process.stop()


def test_the_registry_keeps_its_schemas(tmp_path: Path) -> None:
    port = choose(tmp_path, "registry")["registry"]
    url = services()["registry"]["environment"]["REGISTRY_DATASOURCE_URL"]
    folder = services()["registry"]["volumes"][0].partition(":")[2]
    ready = partial(registry.answers, port)
    command = [
        java.find_java().program,
        "-Xmx384m",
        f"-Dquarkus.http.port={port}",
        "-Dquarkus.http.host=127.0.0.1",
    ]
    command += ["-jar", str(next(fill_once(f"apicurio-{APICURIO.version}", unpack).glob("*-runner.jar")))]
    with running(
        "registry",
        tmp_path,
        command,
        port,
        ready,
        REGISTRY_DATASOURCE_URL=url.replace(folder, str(tmp_path / "volume")),
    ) as process:
        subject = f"127.0.0.1:{port}/apis/ccompat/v7/subjects/a-value/versions"
        content = {"Content-Type": "application/json"}
        body = orjson.dumps({"schema": SCHEMA})
        with urllib.request.urlopen(
            urllib.request.Request(f"http://{subject}", body, content), timeout=30
        ) as answer:
            number = orjson.loads(answer.read())["id"]
        process.kill()
        process.start()
        with urllib.request.urlopen(f"http://{subject}/1", timeout=30) as answer:
            assert orjson.loads(answer.read())["id"] == number


def unpack(folder: Path) -> None:
    with tarfile.open(fetch([APICURIO])[0]) as archive:
        archive.extractall(folder, filter="data")


def test_postgres_takes_its_settings(tmp_path: Path) -> None:
    words = [str(word).removeprefix("-c") for word in services()["postgres"]["command"]]
    settings = dict(word.split("=", 1) for word in words)
    server = postgres.postgres(tmp_path, 17, settings=settings)
    server.process.start()
    try:
        with psycopg.connect(server.dsn) as reader:
            told = {name: reader.execute(f"SHOW {name}").fetchone() for name in settings}
        assert told == {name: (value,) for name, value in settings.items()}
    finally:
        server.process.stop()
