"""A Kafka broker in KRaft mode from its own jars, broker and controller in one process; or several of them.

In: a folder. Out: a `Broker`, or a `Cluster`. It is right for
tests and demos on one machine: acknowledged records survive `kill -9` of the broker (not of
the machine), rows of 64 MB fit with both their images, abandoned transactions are aborted within a second.
One broker has replication 1. A cluster replicates to three and acknowledges what two have.
"""

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program, Run, is_listening
from wrackline.control.local.stack.servers import HOST, Broker, Cluster
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.schemas.versions import KAFKA

_MB = 1024 * 1024
SETTINGS = {
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
REPLICATED = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
    "replica.lag.time.max.ms": 5000,  # for so long what a killed broker leads or follows waits for it
}


@dataclass(frozen=True, slots=True)
class ExtraListener:
    """One more way in: a listener with a port and settings (below `listener.name.<name>.`) of its own."""

    name: str
    protocol: str  # SSL, SASL_SSL, SASL_PLAINTEXT
    settings: Mapping[str, str] = field(default_factory=dict)


def broker(folder: Path, *, port: int | None = None, ways: Sequence[ExtraListener] = ()) -> Broker:
    """Make a broker, not yet started, whose data, log and ports are in this folder."""
    folder = folder.absolute()
    ports = _ports(folder, {} if port is None else {"broker": port})
    more = choose(folder, *(way.name for way in ways))
    return _make_broker(folder, ports, more, _with_listeners(places(ports), ways, more), _new_cluster())


def cluster(folder: Path, *, size: int = 3) -> Cluster:
    """Make brokers that replicate to one another, not yet started, each in a folder of its own."""
    folders = [folder.absolute() / f"broker-{number}" for number in range(1, size + 1)]
    ports = [_ports(one) for one in folders]
    voters = ",".join(f"{number}@{HOST}:{own['controller']}" for number, own in enumerate(ports, 1))
    identity = _new_cluster()
    brokers = []
    for number, (own_folder, own) in enumerate(zip(folders, ports, strict=True), 1):
        settings = REPLICATED | {**places(own), "node.id": str(number), "controller.quorum.voters": voters}
        brokers.append(_make_broker(own_folder, own, {}, settings, identity))
    return Cluster(brokers)


def _ports(folder: Path, fixed: Mapping[str, int] = MappingProxyType({})) -> dict[str, int]:
    return choose(folder, "broker", "controller", "proxied", "proxy", fixed=fixed)


def _new_cluster() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _make_broker(
    folder: Path,
    ports: Mapping[str, int],
    more: Mapping[str, int],
    settings: Mapping[str, object],
    identity: str,
) -> Broker:
    config = folder / "server.properties"
    lines = {**SETTINGS, **settings, "log.dirs": folder / "data"}
    config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    jvm = [java.find_java().program, "-Xmx768m", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
    jvm += ["-cp", classpath(fetch(KAFKA))]
    program = Program(
        name="kafka",
        command=[*jvm, "kafka.Kafka", str(config)],
        folder=folder,
        ports=[ports["broker"], ports["controller"], ports["proxied"], *more.values()],
        ready=partial(answers, f"{HOST}:{ports['broker']}"),
        prepare=partial(_format, folder, jvm, config, identity),
    )
    return Broker(Process(program), ports["broker"], ports["proxy"], ports["proxied"], more)


def places(ports: Mapping[str, int]) -> dict[str, str]:
    """Return the settings that name the ports."""
    at = {name: f"{HOST}:{port}" for name, port in ports.items()}
    return {
        "controller.quorum.voters": f"1@{at['controller']}",
        "listeners": f"PLAINTEXT://{at['broker']},PROXIED://{at['proxied']},CONTROLLER://{at['controller']}",
        "advertised.listeners": f"PLAINTEXT://{at['broker']},PROXIED://{at['proxy']}",
    }


def _with_listeners(
    at: Mapping[str, str], ways: Sequence[ExtraListener], ports: Mapping[str, int]
) -> dict[str, str]:
    """Add the further ways in to the settings that name the ports."""
    listed = [f"{way.name.upper()}://{HOST}:{ports[way.name]}" for way in ways]
    made = dict(at)
    for name in ("listeners", "advertised.listeners"):
        made[name] = ",".join([at[name], *listed])
    protocols = [f"{way.name.upper()}:{way.protocol}" for way in ways]
    made["listener.security.protocol.map"] = ",".join(
        [str(SETTINGS["listener.security.protocol.map"]), *protocols]
    )
    for way in ways:
        made |= {f"listener.name.{way.name}.{name}": value for name, value in way.settings.items()}
    return made


def _format(folder: Path, jvm: Sequence[str], config: Path, identity: str, run: Run) -> None:
    if (folder / "data" / "meta.properties").exists():
        return
    tool = ["-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format"]
    run([*jvm, *tool, "--config", str(config), f"--cluster-id={identity}"])  # it may begin with a dash


def answers(bootstrap: str) -> bool:
    """Whether a broker takes part at this address; its port opens before that."""
    if not is_listening(int(bootstrap.rpartition(":")[2])):
        return False
    try:
        return bool(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=2).brokers)
    except KafkaException:
        return False
