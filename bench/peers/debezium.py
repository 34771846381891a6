"""Debezium on Kafka Connect, exactly-once, tuned for speed as its users would tune it.

    a table            -> snapshot         -> events in Kafka
    a backlog of log   -> postgres_stream, binlog_stream -> events in Kafka
    the log from now   -> following        -> events in Kafka

Cost is that of the worker's process during the phase, without the start of the JVM.
The JSON has no schemas, which is Debezium's cheapest format.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.address import Address
from bench.cost import metered
from bench.peers.connect import Connect, worker
from bench.peers.slot import PUBLICATION, copied, held
from bench.score import Outcome
from bench.visible import Seen, make_topic, watch
from bench.workloads.orders import TABLE
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.versions import CONNECT, debezium

CLASSES = {
    "postgres": "io.debezium.connector.postgresql.PostgresConnector",
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
}
SPEED = {
    "max.batch.size": "20480",
    "max.queue.size": "81920",
    "poll.interval.ms": "50",
    "snapshot.fetch.size": "10240",
}
NAME = "debezium"
LOOK_AFTER_S, QUIET_LIMIT_S = 5.0, 60.0

SILENT = define(
    "bench.debezium_silent",
    Definite,
    "Debezium runs, and no event came of it for {seconds} s",
    hint="run the bench again with --quick",
)


class Source(NamedTuple):
    """Whose table, and where its events go."""

    kind: str
    at: Address
    bootstrap: str
    of: str = TABLE

    @property
    def table(self) -> str:
        """The table as Debezium names it, which is the end of its topic's name."""
        return f"{'public' if self.kind == 'postgres' else self.at.database}.{self.of}"


def name_of(kind: str) -> str:
    """Name the contender on a server of this kind: MariaDB's is the one that ours is compared with."""
    return "debezium-mysql" if kind == "mysql" else NAME


class BinlogStart(NamedTuple):
    """Where a backlog begins: the prefix whose schema history is known, and its offsets there."""

    prefix: str
    offsets: Mapping[str, Any]


def snapshot(metric: str, source: Source, rows: int) -> Outcome:
    """Read the whole table, once."""
    given = config(source, new_prefix()) | {"snapshot.mode": "initial_only"}
    with _worker(source) as connect, metered(connect.pid) as meter:
        seen = _phase(connect, source, given, rows)
    return Outcome({metric: seen.rate}, meter.cost)


def postgres_stream(metric: str, source: Source, backlog: str, changes: int) -> Outcome:
    """Read the changes that already wait in a slot; a copy of it, so that others can do the same."""
    with copied(source.at, backlog) as slot, _worker(source) as connect:
        given = config(source, new_prefix()) | {"snapshot.mode": "no_data", "slot.name": slot}
        with metered(connect.pid) as meter:
            seen = _phase(connect, source, given, changes)
    return Outcome({metric: seen.rate}, meter.cost)


@contextmanager
def following(source: Source) -> Iterator[tuple[str, Connect]]:
    """Follow PostgreSQL's log from now on, with the least wait between polls: its topic, and the worker."""
    given = config(source, new_prefix()) | {"snapshot.mode": "no_data", "poll.interval.ms": "1"}
    topic = f"{given['topic.prefix']}.{source.table}"
    make_topic(source.bootstrap, topic)
    with held(source.at) as slot, _worker(source) as connect:
        connect.create(NAME, given | {"slot.name": slot})
        connect.wait(NAME, "RUNNING")
        yield topic, connect


def attended(connect: Connect) -> Callable[[float], None]:
    """Make a check that raises when the connector has failed, or nothing has come of it for too long."""

    def check(quiet: float) -> None:
        if quiet > LOOK_AFTER_S:
            connect.check(NAME)
        if quiet > QUIET_LIMIT_S:
            raise SILENT(seconds=int(quiet))

    return check


def binlog_start(source: Source) -> BinlogStart:
    """Let a connector learn the empty table, and return its position: a backlog will begin there."""
    prefix = new_prefix()
    with _worker(source) as connect:
        make_topic(source.bootstrap, f"{prefix}.{source.table}")
        connect.create(NAME, config(source, prefix) | {"snapshot.mode": "no_data"})
        connect.wait_for_offsets(NAME)
        connect.stop(NAME)
        return BinlogStart(prefix, connect.offsets(NAME))


def binlog_stream(metric: str, source: Source, start: BinlogStart, changes: int) -> Outcome:
    """Read the changes written to the binlog since `start`."""
    given = config(source, start.prefix) | {"snapshot.mode": "no_data"}
    topic = f"{start.prefix}.{source.table}"
    with _worker(source) as connect, watch(source.bootstrap, topic) as watched:
        connect.create(NAME, given, stopped=True)
        connect.wait(NAME, "STOPPED")
        connect.set_offsets(NAME, start.offsets)
        with metered(connect.pid) as meter:
            connect.resume(NAME)
            seen = watched.until(changes, lambda: connect.check(NAME))
    return Outcome({metric: seen.rate}, meter.cost)


def _phase(connect: Connect, source: Source, given: Mapping[str, str], events: int) -> Seen:
    topic = f"{given['topic.prefix']}.{source.table}"
    make_topic(source.bootstrap, topic)
    with watch(source.bootstrap, topic) as watched:
        connect.create(NAME, given)
        return watched.until(events, lambda: connect.check(NAME))


def config(source: Source, prefix: str) -> dict[str, str]:
    """Configure the connector as all benches do."""
    shared = {
        "connector.class": CLASSES[source.kind],
        "tasks.max": "1",
        "exactly.once.support": "required",
        "topic.prefix": prefix,
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(source.at.port),
        "database.user": source.at.user,
        "database.password": source.at.password,
        "table.include.list": source.table,
        **SPEED,
    }
    if source.kind == "postgres":
        return shared | {
            "database.dbname": source.at.database,
            "plugin.name": "pgoutput",
            "publication.name": PUBLICATION,
            "publication.autocreate.mode": "disabled",
        }
    return shared | {
        "database.include.list": source.at.database,
        "database.server.id": "7201",
        "schema.history.internal.kafka.bootstrap.servers": source.bootstrap,
        "schema.history.internal.kafka.topic": f"{prefix}-history",
    }


def new_prefix() -> str:
    """Name a connector's topics and whatever else it owns."""
    return f"debezium-{secrets.token_hex(4)}"


@contextmanager
def _worker(source: Source) -> Iterator[Connect]:
    with (
        tempfile.TemporaryDirectory(prefix="connect-") as folder,
        worker(Path(folder), source.bootstrap, (*CONNECT, debezium(source.kind))) as connect,
    ):
        yield connect
