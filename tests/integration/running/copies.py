"""What a topic contains, and the copy of a reader that takes the newest event by seq."""

from io import BytesIO
from typing import Any

import fastavro
import orjson
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.integration.running.world import World

Told = tuple[str, int | None, str]  # operation, id of the row, seq


def events(world: World, topic: str = "") -> list[dict[str, Any]]:
    """Each event of a topic, of the orders' by default, as a reader sees it."""
    found: list[dict[str, Any]] = []
    shapes: dict[int, Any] = {}
    with SchemaRegistryClient({"url": world.registry.url}) as registry:
        for _, value in world.events(topic):
            if value is None:
                continue
            schema_id = int.from_bytes(value[1:5], "big")
            if schema_id not in shapes:
                shapes[schema_id] = orjson.loads(registry.get_schema(schema_id).schema_str or "")
            read: Any = fastavro.schemaless_reader(BytesIO(value[5:]), shapes[schema_id], None)
            found.append(read)
    return found


def told(world: World, topic: str = "") -> list[Told]:
    """What each event of a topic says of which row."""
    rows = [(event, event["after"] or event["before"]) for event in events(world, topic)]
    return [(event["op"], None if row is None else row["id"], event["seq"]) for event, row in rows]


def operations(world: World, topic: str = "") -> str:
    """The events' operations, in order."""
    return "".join(op for op, _, _ in told(world, topic))


def copied(world: World, topic: str = "") -> set[int]:
    """The ids of the rows that the copy has."""
    events = told(world, topic)
    floor = max((seq for op, _, seq in events if op == "t"), default="")
    newest: dict[int, tuple[str, str]] = {}
    for op, row, seq in events:
        if row is not None and seq >= floor:
            newest[row] = max(newest.get(row, ("", "")), (seq, op))
    return {row for row, (_, op) in newest.items() if op != "d"}
