"""Receipts in Kafka: what becomes of a request stands there, in order, with the rows that it speaks of."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.fixtures.servers import Database
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints
from wrackline.schemas.kafka.receipts import (
    MOVES,
    Receipt,
    ReceiptKey,
    RequestState,
    ScanStatus,
    decode,
    parse_key,
)
from wrackline.schemas.kafka.topic_names import control_topics, internal_topics

pytestmark = pytest.mark.servers
ROWS = 30


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with rows that the pipeline reads only on request."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.sql.execute("INSERT INTO orders SELECT n, 'n' FROM generate_series(1, %s) n", [ROWS])
    made.sql.execute("ANALYZE orders")
    sink = f'notification.enabled.channels = "sink"\nnotification.sink.topic.name = "{topic_prefix}.told"'
    small = "incremental.snapshot.chunk.size = 5"
    made.file.write_text(made.file.read_text().replace("[source]", f"[source]\n{sink}\n{small}", 1))
    yield made
    made.close()


def ask(world: World, request: str, kind: str = "execute-snapshot", **data: object) -> None:
    """Send a request as any Kafka client would."""
    body = {"id": request, "type": kind, "data": {name.replace("_", "-"): it for name, it in data.items()}}
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap})
    producer.produce(control_topics(world.prefix).signal, json.dumps(body), world.prefix)
    assert producer.flush(30) == 0


def told(world: World) -> list[Receipt]:
    """Every committed receipt, oldest first; of any request only legal moves follow each other."""
    found: list[Receipt] = []
    for key, value in world.events(internal_topics(world.group).requests):
        whose = parse_key(key)
        assert whose is not None
        assert whose[:3] == ReceiptKey(world.prefix, world.prefix, world.database.name, "")[:3]
        found.append(decode(value or b"", partition=0, offset=0))
        assert found[-1].id == whose.id
    for request in {receipt.id for receipt in found}:
        of_it = [receipt for receipt in found if receipt.id == request]
        assert of_it[0].state in {RequestState.ACCEPTED, RequestState.FAILED}
        for before, after in pairwise(of_it):
            assert after.state is before.state or after.state in MOVES[before.state], (before, after)
            assert rows(before) <= rows(after), "a table that was begun is not begun again"
    return found


def rows(receipt: Receipt) -> int:
    return sum(table.rows for table in receipt.tables)


def states(receipts: Sequence[Receipt], request: str) -> list[str]:
    """Through which states a request went."""
    through = [receipt.state.value for receipt in receipts if receipt.id == request]
    return [state for place, state in enumerate(through) if place == 0 or through[place - 1] != state]


def over(world: World) -> set[str]:
    """The requests of which nothing more comes."""
    return {receipt.id for receipt in told(world) if receipt.over}


def shown(world: World) -> dict[str, Any]:
    """What `wrackline snapshot status` says of the requests."""
    done = world.command("snapshot", "status", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return {request["id"]: request for request in json.loads(done.stdout)["requests"]}


def test_a_request_s_receipts_can_be_read_in_kafka_and_by_the_command(world: World) -> None:
    world.run()
    orders = ["public.orders"]
    nonsense = [{"data-collection": "public.orders", "filter": "pg_sleep(9) = 1"}]
    unfit = [{"data-collection": "public.orders", "filter": "nothing = 1"}]
    ask(world, "one", data_collections=orders)
    ask(world, "unknown", data_collections=["public.nobody"])
    ask(world, "nonsense", data_collections=orders, additional_conditions=nonsense)
    ask(world, "wrong", data_collections=orders, additional_conditions=unfit)
    ask(world, "hold", "pause-snapshot")
    ask(world, "on", "resume-snapshot")
    wait_until(lambda: over(world) == {"one", "unknown", "nonsense", "wrong", "hold", "on"})
    receipts = told(world)
    newest = {receipt.id: receipt for receipt in receipts}
    assert states(receipts, "one")[0] == "accepted"
    assert set(states(receipts, "one")) >= {"accepted", "running", "succeeded"}
    (table,) = newest["one"].tables
    assert (table.rows, table.expected, table.percent, table.scan) == (ROWS, ROWS, 100, ScanStatus.SUCCEEDED)
    assert states(receipts, "unknown") == states(receipts, "nonsense") == ["failed"]
    assert (newest["wrong"].state, newest["wrong"].code) == (RequestState.FAILED, "pg.condition_column")
    assert states(receipts, "hold") == ["accepted", "succeeded"]
    by_command = shown(world)
    assert by_command["one"]["state"] == "succeeded"
    assert by_command["one"]["tables"][0]["percent"] == 100
    assert by_command["unknown"]["code"] == "signal.no_table"
    assert by_command["nonsense"]["code"] == "signal.rejected"
    seen = world.command("snapshot", "status").stdout
    assert f"{ROWS} rows" in seen
    assert "no table that this pipeline captures" in seen
    notes = [value or b"" for _, value in world.events(f"{world.prefix}.told")]
    of_one = [note for note in notes if b"\x06one" in note]  # Avro: the id comes first
    assert b"TABLE_SCAN_COMPLETED" in of_one[-2]
    assert b"COMPLETED" in of_one[-1]


@pytest.mark.parametrize(
    "place",
    [
        "after_slice=kill@4",
        *(
            pytest.param(f"{place}_commit=kill@{time}", marks=pytest.mark.deep)
            for place in ("before", "after")
            for time in (2, 3)
        ),
    ],
)
def test_a_receipt_continues_where_the_task_was_killed_between_two(
    world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv(failpoints.VARIABLE, place)
    running = world.run()
    ask(world, "one", data_collections=["public.orders"])
    assert running.process.wait(60) < 0
    before = told(world)
    assert over(world) == set()
    monkeypatch.delenv(failpoints.VARIABLE)
    world.run()
    wait_until(lambda: over(world) == {"one"})
    receipts = told(world)
    assert receipts[: len(before)] == before
    assert states(receipts, "one") == ["accepted", "running", "succeeded"]
    assert receipts[-1].tables[0].rows == ROWS == len(world.events())


@pytest.mark.full
def test_deleted_receipts_stop_nothing(world: World) -> None:
    """Of those that are over nothing is left; what is asked from then on has receipts again."""
    running, topic = world.run(), internal_topics(world.group).requests
    ask(world, "before", data_collections=["public.orders"])
    wait_until(lambda: "before" in over(world))
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    ask(world, "behind", data_collections=["public.orders"])
    wait_until(lambda: "behind" in over(world))
    world.arrived(2 * ROWS)
    assert "offsets reset" not in running.output
    assert running.stop() == Exit.OK
