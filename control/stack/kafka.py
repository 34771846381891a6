"""A Kafka broker in KRaft mode from its own jars, broker and controller in one process.

In: a folder. Out: `bootstrap`, and a second way in for a proxy: clients that start at `127.0.0.1:proxy_port`
are told to stay there, and whatever a test runs on that port forwards to `behind_proxy`. It is right for
tests and demos on one machine: replication 1, acknowledged records survive `kill -9` of the broker (not of
the machine), rows of 64 MB fit with both their images, abandoned transactions are aborted within a second.
"""

import base64
import subprocess
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from wrackline.control.stack import java
from wrackline.control.stack.jars import classpath, fetch
from wrackline.control.stack.ports import choose
from wrackline.control.stack.process import Process, Program, listening, tail
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import KAFKA

FORMAT_FAILED = define(
    "stack.kafka_format",
    OperatorNeeded,
    "Kafka could not prepare its data folder {folder}",
    hint="read its log: less {log}",
)

_MB = 1024 * 1024
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 8,  # fifty folders would be made at the first group otherwise
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 8,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "broker.session.timeout.ms": 3000,  # a killed broker's successor waits for this long
    "broker.heartbeat.interval.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.dedupe.buffer.size": 16 * _MB,
    "message.max.bytes": 144 * _MB,  # an update of a 64 MB row carries it before and after
    "replica.fetch.max.bytes": 144 * _MB,
    "socket.request.max.bytes": 160 * _MB,
}


class Kafka:
    """One broker; `process` starts, kills, pauses and restarts it."""

    def __init__(self, folder: Path, *, port: int | None = None) -> None:
        fixed = {} if port is None else {"broker": port}
        ports = choose(folder, "broker", "controller", "proxied", "proxy", fixed=fixed)
        self.bootstrap = f"127.0.0.1:{ports['broker']}"
        self.proxy_port = ports["proxy"]
        self.behind_proxy = f"127.0.0.1:{ports['proxied']}"
        self._folder = folder.absolute()
        self._config = self._folder / "server.properties"
        self._java = [java.find().program, "-Xmx768m", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        self._java += ["-cp", classpath(fetch(KAFKA))]
        self._configure(ports)
        listened = [ports["broker"], ports["controller"], ports["proxied"]]
        command = [*self._java, "kafka.Kafka", str(self._config)]
        self.process = Process(Program("kafka", command, self._folder, listened, self._ready))

    def start(self) -> None:
        """Start the broker; its data folder is formatted before the first start."""
        if not (self._folder / "data" / "meta.properties").exists():
            self._format()
        self.process.start()

    def _configure(self, ports: dict[str, int]) -> None:
        at = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        settings = _SETTINGS | {
            "controller.quorum.voters": f"1@{at['controller']}",
            "listeners": f"PLAINTEXT://{at['broker']},PROXIED://{at['proxied']},CONTROLLER://{at['controller']}",
            "advertised.listeners": f"PLAINTEXT://{at['broker']},PROXIED://{at['proxy']}",
            "log.dirs": str(self._folder / "data"),
        }
        self._config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = [*self._java, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format"]
        command += ["--config", str(self._config), "--cluster-id", cluster]
        with self.process.log.open("ab") as log:
            ended = subprocess.run(command, stdout=log, stderr=log, timeout=60, check=False)
        if ended.returncode != 0:
            failed = FORMAT_FAILED(folder=self._folder, log=self.process.log)
            failed.add_note(tail(self.process.log))
            raise failed

    def _ready(self) -> bool:
        if not listening(int(self.bootstrap.rpartition(":")[2])):
            return False
        try:
            # The port opens before the broker may take part; only then do clients learn of it.
            return bool(AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=2).brokers)
        except KafkaException:
            return False
