"""Kafka Connect as a peer's home: one distributed worker with exactly-once sources, controlled by REST.

    worker(folder, bootstrap, coordinates)  ->  Connect: create, state, offsets, resume

A worker gets its own group, so its first connector finds no old state.  It logs nothing, because a log
must not slow down a peer; a task's trace shows errors.
"""

import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.versions import Coordinate

HEAP = "-Xmx2g"
STATE_LIMIT_S = 60.0
POLL_S = 0.1

CONNECTOR_FAILED = define(
    "bench.connector_failed",
    Definite,
    "connector {connector} failed: {trace}",
    hint="compare its configuration with its documentation; it is built in bench/peers/debezium.py",
)
NO_STATE = define(
    "bench.connector_state",
    Definite,
    "connector {connector} did not become {wanted} within {limit} s",
    hint="run the bench again; if it stays so, give the machine more memory",
)


class Connect:
    """A running worker, seen through its REST interface."""

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self._port = port

    @property
    def pid(self) -> int:
        """The worker's process number."""
        if self._process.pid is None:
            raise CONNECTOR_FAILED(connector="of this worker", trace="the worker has ended")
        return self._process.pid

    def create(self, name: str, config: Mapping[str, str], *, stopped: bool = False) -> None:
        """Create a connector; stopped, so that its offsets can be set before it runs."""
        state = "STOPPED" if stopped else "RUNNING"
        self.ask("POST", "/connectors", {"name": name, "config": dict(config), "initial_state": state})

    def wait(self, name: str, wanted: str) -> None:
        """Wait until the connector, and all its tasks, are in this state."""
        deadline = time.monotonic() + STATE_LIMIT_S
        while time.monotonic() < deadline:
            if self._states(name) == {wanted}:
                return
            time.sleep(POLL_S)
        raise NO_STATE(connector=name, wanted=wanted, limit=int(STATE_LIMIT_S))

    def check(self, name: str) -> None:
        """Raise what a failed task says."""
        self._states(name)

    def offsets(self, name: str) -> dict[str, Any]:
        """The connector's offsets, in the form that `set_offsets` takes."""
        return dict(self.ask("GET", f"/connectors/{name}/offsets"))

    def wait_for_offsets(self, name: str) -> None:
        """Wait until the connector has committed offsets."""
        deadline = time.monotonic() + STATE_LIMIT_S
        while time.monotonic() < deadline:
            self.check(name)
            if self.offsets(name)["offsets"]:
                return
            time.sleep(POLL_S)
        raise NO_STATE(connector=name, wanted="one with offsets", limit=int(STATE_LIMIT_S))

    def set_offsets(self, name: str, offsets: Mapping[str, object]) -> None:
        """Set a stopped connector's offsets."""
        self.ask("PATCH", f"/connectors/{name}/offsets", offsets)

    def stop(self, name: str) -> None:
        """Stop the connector and wait for it."""
        self.ask("PUT", f"/connectors/{name}/stop")
        self.wait(name, "STOPPED")

    def resume(self, name: str) -> None:
        """Let the connector run."""
        self.ask("PUT", f"/connectors/{name}/resume")

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send one request; the worker answers 409 or 500 while it still joins its group."""
        deadline = time.monotonic() + STATE_LIMIT_S
        while True:
            try:
                return _send(f"http://127.0.0.1:{self._port}{path}", method, body)
            except HTTPError as exc:
                if exc.code not in {404, 409, 500} or time.monotonic() > deadline:
                    raise CONNECTOR_FAILED(connector=path, trace=exc.read().decode(errors="replace")) from exc
            time.sleep(POLL_S)

    def _states(self, name: str) -> set[str]:
        status = self.ask("GET", f"/connectors/{name}/status")
        parts = [status["connector"], *status["tasks"]]
        for part in parts:
            if part["state"] == "FAILED":
                raise CONNECTOR_FAILED(connector=name, trace=part.get("trace", "no trace"))
        states = {part["state"] for part in parts}
        # a connector without its task does not run yet
        return states if status["tasks"] or states == {"STOPPED"} else {"UNASSIGNED"}


@contextmanager
def worker(
    folder: Path,
    bootstrap: str,
    coordinates: Sequence[Coordinate],
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Connect]:
    """Start a worker with these jars, Connect's own among them, and more settings; stop it at the end."""
    port = choose(folder, "rest")["rest"]
    properties = folder / "worker.properties"
    settings = {**_settings(bootstrap, folder.name, port), **more}
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    jars = fetch(coordinates)
    command = [java.find_java().program, HEAP, "-cp", classpath(jars)]
    command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]
    process = Process(Program("connect", command, folder, [port], lambda: _answers(port)))
    process.start()
    try:
        yield Connect(process, port)
    finally:
        process.kill()  # a worker that leaves its group politely takes seconds, and nobody needs its state


def avro(registry: str) -> dict[str, str]:
    """Configure both converters for Avro in Confluent's wire format, through the registry at this address."""
    one = {
        "": "io.apicurio.registry.utils.converter.AvroConverter",
        ".apicurio.registry.url": registry.replace("ccompat/v7", "registry/v2"),
        ".apicurio.registry.as-confluent": "true",
        ".apicurio.registry.use-id": "contentId",
        ".apicurio.registry.headers.enabled": "false",
        ".apicurio.registry.auto-register": "true",
    }
    return {f"{side}.converter{name}": value for side in ("key", "value") for name, value in one.items()}


def _settings(bootstrap: str, group: str, port: int) -> dict[str, object]:
    converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": f"http://127.0.0.1:{port}",
        "exactly.once.source.support": "enabled",
        "key.converter": converter,
        "key.converter.schemas.enable": "false",
        "value.converter": converter,
        "value.converter.schemas.enable": "false",
        "config.storage.topic": f"{group}-configs",
        "config.storage.replication.factor": 1,
        "offset.storage.topic": f"{group}-offsets",
        "offset.storage.replication.factor": 1,
        "offset.storage.partitions": 1,
        "status.storage.topic": f"{group}-status",
        "status.storage.replication.factor": 1,
        "status.storage.partitions": 1,
        "producer.compression.type": "lz4",
        "plugin.discovery": "service_load",  # a scan of the whole class path takes ten seconds
    }


def _answers(port: int) -> bool:
    try:
        _send(f"http://127.0.0.1:{port}/connectors", "GET", None)
    except (URLError, OSError, http.client.HTTPException):
        return False
    return True


def _send(url: str, method: str, body: Mapping[str, object] | None) -> Any:  # noqa: ANN401 - JSON
    content = None if body is None else json.dumps(body).encode()
    request = Request(url, content, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - our own worker
    with urlopen(request, timeout=90) as answer:  # noqa: S310 - the same
        text = answer.read()
    return json.loads(text) if text else None
