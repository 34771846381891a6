"""Dead letters of the source, as they are in Kafka."""

from io import BytesIO
from typing import Any

import fastavro
import orjson
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.integration.running.world import committed
from wrackline.control.local.stack.servers import Broker, SchemaRegistry


def letters(kafka: Broker, registry: SchemaRegistry, prefix: str) -> list[dict[str, Any]]:
    """Every committed letter of a pipeline."""
    found = []
    with SchemaRegistryClient({"url": registry.url}) as client:
        for _, value in committed(kafka.bootstrap, f"{prefix}.letter"):
            assert value is not None
            schema = orjson.loads(client.get_schema(int.from_bytes(value[1:5], "big")).schema_str or "")
            read: Any = fastavro.schemaless_reader(BytesIO(value[5:]), schema, None)
            found.append(read)
    return found


def number_of(key: bytes | None) -> int:
    """A key that is one int up to 63."""
    assert key is not None
    return key[5] // 2
