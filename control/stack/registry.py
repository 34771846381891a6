"""A schema registry with the Confluent REST interface that keeps its schemas and their ids.

In: a folder. Out: `url`, for any Confluent client. It is Apicurio with its own embedded database put into a
file, each commit written before it is acknowledged: what was registered once has the same id after
`kill -9` and a restart. (Apicurio's default keeps that database in memory and forgets.)
"""

import tarfile
import urllib.error
import urllib.request
from pathlib import Path

from wrackline.control.stack import java
from wrackline.control.stack.cache import once
from wrackline.control.stack.jars import fetch
from wrackline.control.stack.ports import choose
from wrackline.control.stack.process import Process, Program
from wrackline.schemas.versions import APICURIO


class Registry:
    """One schema registry; `process` starts, kills, pauses and restarts it."""

    def __init__(self, folder: Path, *, port: int | None = None) -> None:
        fixed = {} if port is None else {"registry": port}
        listened = choose(folder, "registry", fixed=fixed)["registry"]
        self.url = f"http://127.0.0.1:{listened}/apis/ccompat/v7"
        data = folder.absolute() / "data" / "registry"
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": listened,
            "quarkus.datasource.jdbc.url": f"jdbc:h2:file:{data};WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE",
            "quarkus.datasource.jdbc.initial-size": 2,
            "quarkus.datasource.jdbc.min-size": 2,
        }
        command = [java.find().program, "-Xmx384m", "-XX:TieredStopAtLevel=1"]
        command += [f"-D{name}={value}" for name, value in settings.items()]
        command += ["-jar", str(_program())]
        self.process = Process(Program("registry", command, folder.absolute(), [listened], self._ready))

    def start(self) -> None:
        """Start the registry."""
        self.process.start()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=2) as answer:  # noqa: S310 our own http address
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _program() -> Path:
    """Return Apicurio's jar, unpacked once with its libraries beside it."""
    name = f"apicurio-{APICURIO.version}"
    return next(once(name, _unpack).glob("*-runner.jar"))


def _unpack(folder: Path) -> None:
    with tarfile.open(fetch([APICURIO])[0]) as archive:
        archive.extractall(folder, filter="data")
