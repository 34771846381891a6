"""Debezium's connector and ours read one stand-in: a reader that was written for real servers is the judge.

What its events have is compared with the statements that were run, in order, so it judges the change tables,
the catalogue and the wire together.  What ours have is then compared with its: keys, rows, operations, and
where each event says that it comes from.  A disagreement is a fault of the stand-in or of ours, or one of
`MEANT`.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.peers.connect import Connect, worker
from tests.fixtures.prepared import Forked
from tests.integration.interop.connectors import JSON, connector
from tests.integration.running.world import Running, committed, environment, wait_until
from tests.integration.sqlserver_standin.test_process import served, world
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.spark.jars import FETCH_FAILED, fetch
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.versions import SQLSERVER_PEER

pytestmark = [pytest.mark.full, pytest.mark.servers]

PREFIX, NAME = "peer", "standin-peer"
TOPIC = f"{PREFIX}.shop.dbo.orders"
SIGNALS = (  # ours marks its reads there; without it, it waits for a commit of somebody else's
    "CREATE TABLE dbo.signals (id nvarchar(80) PRIMARY KEY, type nvarchar(32), data nvarchar(2048) NULL);"
    " EXEC sys.sp_cdc_enable_table N'dbo', N'signals', @role_name = NULL;"
)
BEFORE = "INSERT INTO dbo.orders VALUES (1, N'one'), (2, N'größe'), (3, NULL), (4, N'four');"
STATEMENTS = (
    "INSERT INTO dbo.orders VALUES (10, N'ten'), (11, N'🌊');",
    (
        "BEGIN TRANSACTION; UPDATE dbo.orders SET note = N'uno' WHERE id = 1; DELETE FROM dbo.orders"
        " WHERE id = 2; INSERT INTO dbo.orders VALUES (2, N'again'); COMMIT;"
    ),
    "UPDATE dbo.orders SET note = NULL WHERE id >= 10;",
    "BEGIN TRANSACTION; DELETE FROM dbo.orders; ROLLBACK;",
    "UPDATE dbo.orders SET id = 30 WHERE id = 3;",
    "DELETE FROM dbo.orders WHERE id = 4;",
)
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
database.names = "shop"
driver.encrypt = "false"
poll.interval.ms = 50
table.include.list = 'dbo\\.orders'
signal.data.collection = "dbo.signals"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""
PLACE = ("commit_lsn", "change_lsn", "event_serial_no")
MEANT: Mapping[tuple[str, str], str] = MappingProxyType(  # operation and field of `source`: why ours differs
    {
        ("r", "commit_lsn"): "Debezium reads all tables at the log's end when it starts; ours has the mark of"
        " the chunk that the row was read with, which tells rows of a later read apart",
    }
)
Image = tuple[int, str | None] | None
SNAPSHOT: set[tuple[str, Image, Image]] = {
    ("r", None, (1, "one")),
    ("r", None, (2, "größe")),
    ("r", None, (3, None)),
    ("r", None, (4, "four")),
}
CHANGES: list[tuple[str, Image, Image]] = [
    ("c", None, (10, "ten")),
    ("c", None, (11, "🌊")),
    ("u", (1, "one"), (1, "uno")),
    ("d", (2, "größe"), None),
    ("c", None, (2, "again")),
    ("u", (10, "ten"), (10, None)),
    ("u", (11, "🌊"), (11, None)),
    ("d", (3, None), None),
    ("c", None, (30, None)),
    ("d", (4, "four"), None),
]


@pytest.fixture
def peer(kafka: Broker, tmp_path: Any) -> Iterator[Connect]:
    """A worker with Debezium's connector for SQL Server."""
    try:
        fetch(SQLSERVER_PEER)
    except WracklineError as error:
        if error.code == FETCH_FAILED.code:
            pytest.skip(str(error))
        raise
    with worker(tmp_path, kafka.bootstrap, SQLSERVER_PEER) as running:
        yield running


def config(port: int, bootstrap: str) -> dict[str, str]:
    return JSON | {
        "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
        "tasks.max": "1",
        "topic.prefix": PREFIX,
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.names": "shop",
        "database.encrypt": "false",
        "driver.encrypt": "false",
        "table.include.list": "dbo.orders",
        "snapshot.isolation.mode": "read_committed",  # others lock in ways that are not modelled
        "poll.interval.ms": "100",
        "tombstones.on.delete": "false",
        "schema.history.internal.kafka.bootstrap.servers": bootstrap,
        "schema.history.internal.kafka.topic": f"{PREFIX}-history",
    }


def events(bootstrap: str) -> list[tuple[Any, dict[str, Any]]]:
    """Debezium's keys and events."""
    return [
        (json.loads(key or b"null"), json.loads(value))
        for key, value in committed(bootstrap, TOPIC)
        if value is not None
    ]


class OurReader:
    """`wrackline run` over the same database, and the events that it has written."""

    def __init__(self, port: int, kafka: Broker, registry: SchemaRegistry, folder: Path, prefix: str) -> None:
        self.kafka, self.registry, self.topic = kafka, registry, f"{prefix}.shop.dbo.orders"
        self.file = folder / "pipeline.toml"
        self.file.write_text(
            FILE.format(prefix=prefix, port=port, user=USER, brokers=kafka.bootstrap, registry=registry.url)
        )
        self.printed = folder / "printed"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it until the end of the block."""
        around = environment() | {"WRACKLINE_DB_PASSWORD": PASSWORD}
        with self.printed.open("wb") as out:
            command = ["run", "--text", str(self.file)]
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=around)
        try:
            running = Running(process, self.printed)
            running.says("running\n")
            yield
            assert running.stop() == Exit.OK
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def events(self) -> list[tuple[Any, dict[str, Any]]]:
        """Our keys and events."""
        with SchemaRegistryClient({"url": self.registry.url}) as client:

            @cache
            def shape(number: int) -> Any:
                return json.loads(client.get_schema(number).schema_str or "")

            def read(data: bytes | None) -> Any:
                assert data is not None
                return fastavro.schemaless_reader(
                    BytesIO(data[5:]), shape(int.from_bytes(data[1:5], "big")), None
                )

            found = committed(self.kafka.bootstrap, self.topic)
            return [(read(key), read(value)) for key, value in found if value is not None]


def _image(row: dict[str, Any] | None) -> Image:
    return None if row is None else (row["id"], row["note"])


def rows_of(found: list[tuple[Any, dict[str, Any]]]) -> list[tuple[str, Image, Image]]:
    return [(event["op"], _image(event["before"]), _image(event["after"])) for _, event in found]


def said(found: list[tuple[Any, dict[str, Any]]]) -> list[dict[str, Any]]:
    """What is compared of each event, without what is meant to differ."""
    return [
        {
            "key": key,
            "op": event["op"],
            "before": _image(event["before"]),
            "after": _image(event["after"]),
        }
        | {name: event["source"][name] for name in PLACE if (event["op"], name) not in MEANT}
        for key, event in found
    ]


def test_debezium_finds_what_was_changed_and_we_say_the_same(
    peer: Connect, kafka: Broker, registry: SchemaRegistry, tmp_path: Path, topic_prefix: str
) -> None:
    """Both read the same change tables, so each place must be the same to the last byte."""
    with served("--scan-every", "0.1") as port, world(port) as cursor:
        cursor.execute(SIGNALS)
        cursor.execute(BEFORE)
        ours = OurReader(port, kafka, registry, tmp_path, topic_prefix)
        with connector(peer, NAME, config(port, kafka.bootstrap)), ours.running():
            wait_until(lambda: _arrived(peer, kafka, ours, len(SNAPSHOT)))
            for text in STATEMENTS:
                cursor.execute(text)
            wait_until(lambda: _arrived(peer, kafka, ours, len(SNAPSHOT) + len(CHANGES)))
            theirs, mine = events(kafka.bootstrap), ours.events()
    assert set(rows_of(theirs[: len(SNAPSHOT)])) == SNAPSHOT
    assert rows_of(theirs[len(SNAPSHOT) :]) == CHANGES
    read, streamed = said(mine)[: len(SNAPSHOT)], said(mine)[len(SNAPSHOT) :]
    assert streamed == said(theirs)[len(SNAPSHOT) :]
    assert sorted(read, key=str) == sorted(said(theirs)[: len(SNAPSHOT)], key=str)
    for op, name in MEANT:
        pairs = [(a, b) for (_, a), (_, b) in zip(by_key(mine, op), by_key(theirs, op), strict=True)]
        assert all(a["source"][name] != b["source"][name] for a, b in pairs), "it does not differ any more"


def by_key(found: list[tuple[Any, dict[str, Any]]], op: str) -> list[tuple[Any, dict[str, Any]]]:
    return sorted((one for one in found if one[1]["op"] == op), key=lambda one: str(one[0]))


def _arrived(peer: Connect, kafka: Broker, ours: OurReader, count: int) -> bool:
    peer.check(NAME)
    return len(events(kafka.bootstrap)) >= count and len(ours.events()) >= count
