"""A schema registry with the Confluent REST interface that keeps its schemas and their ids.

In: a folder. Out: a `SchemaRegistry`. It is Apicurio with its own embedded database put into a
file, each commit written before it is acknowledged: what was registered once has the same id after
`kill -9` and a restart. (Apicurio's default keeps that database in memory and forgets.)
"""

import tarfile
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack.servers import HOST, SchemaRegistry
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.cache import fill_once
from wrackline.control.runtime.spark.jars import fetch
from wrackline.schemas.versions import APICURIO

DATABASE = "jdbc:h2:file:{file};WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE"


def registry(folder: Path, *, port: int | None = None) -> SchemaRegistry:
    """Make a schema registry, not yet started, whose data, log and port are in this folder."""
    folder = folder.absolute()
    listened = choose(folder, "registry", fixed={} if port is None else {"registry": port})["registry"]
    settings = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": listened,
        "quarkus.datasource.jdbc.url": DATABASE.format(file=folder / "data" / "registry"),
        "quarkus.datasource.jdbc.initial-size": 2,
        "quarkus.datasource.jdbc.min-size": 2,
    }
    command = [java.find_java().program, "-Xmx384m", "-XX:TieredStopAtLevel=1"]
    command += [f"-D{name}={value}" for name, value in settings.items()]
    command += ["-jar", str(_program())]
    ready = partial(answers, listened)
    return SchemaRegistry(Process(Program("registry", command, folder, [listened], ready)), listened)


def answers(port: int) -> bool:
    """Whether a registry answers on this port."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/apis/ccompat/v7/subjects", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _program() -> Path:
    """Return Apicurio's jar, unpacked once with its libraries beside it."""
    name = f"apicurio-{APICURIO.version}"
    return next(fill_once(name, _unpack).glob("*-runner.jar"))


def _unpack(folder: Path) -> None:
    with tarfile.open(fetch([APICURIO])[0]) as archive:
        archive.extractall(folder, filter="data")
