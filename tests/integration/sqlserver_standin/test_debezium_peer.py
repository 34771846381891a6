"""Debezium's connector reads the stand-in: a reader that was written for real servers finds what was changed.

The jars are not part of the product: without them the test is skipped, and says how to fetch them.  What its
events have is compared with the statements that were run, in order, so it judges the change tables, the
catalogue and the wire together.  A disagreement is a fault of the stand-in, or something that Debezium does.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bench.peers.connect import Connect, worker
from tests.integration.interop.connectors import JSON, connector
from tests.integration.running.world import committed, wait_until
from tests.integration.sqlserver_standin.test_process import served, world
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.control.local.stack.servers import Broker
from wrackline.control.runtime.spark.jars import are_fetched
from wrackline.schemas.versions import SQLSERVER_PEER

pytestmark = [pytest.mark.full, pytest.mark.servers]

FETCH = (
    "from wrackline.control.runtime.spark.jars import fetch; from wrackline.schemas.versions import"
    " SQLSERVER_PEER; fetch(SQLSERVER_PEER)"
)
PREFIX, NAME = "peer", "standin-peer"
TOPIC = f"{PREFIX}.shop.dbo.orders"
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
    if not are_fetched(SQLSERVER_PEER):
        pytest.skip(f'Debezium\'s connector is not there; to fetch it: .venv/bin/python -c "{FETCH}"')
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


def events(bootstrap: str) -> list[tuple[str, Image, Image]]:
    found = []
    for _, value in committed(bootstrap, TOPIC):
        if value is not None:
            event = json.loads(value)
            found.append((event["op"], _image(event["before"]), _image(event["after"])))
    return found


def _image(row: dict[str, Any] | None) -> Image:
    return None if row is None else (row["id"], row["note"])


def test_debezium_finds_what_was_changed(peer: Connect, kafka: Broker) -> None:
    with served("--scan-every", "0.1") as port, world(port) as cursor:
        cursor.execute(BEFORE)
        with connector(peer, NAME, config(port, kafka.bootstrap)):
            wait_until(lambda: _arrived(peer, kafka, len(SNAPSHOT)))
            for text in STATEMENTS:
                cursor.execute(text)
            wait_until(lambda: _arrived(peer, kafka, len(SNAPSHOT) + len(CHANGES)))
        found = events(kafka.bootstrap)
    assert set(found[: len(SNAPSHOT)]) == SNAPSHOT
    assert found[len(SNAPSHOT) :] == CHANGES


def _arrived(peer: Connect, kafka: Broker, count: int) -> bool:
    peer.check(NAME)
    return len(events(kafka.bootstrap)) >= count
