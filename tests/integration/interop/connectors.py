"""Connectors for one test, which read and write JSON without schemas, or Avro by Apicurio's converter."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.peers.connect import Connect
from wrackline.control.local.stack.servers import SchemaRegistry

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}


def avro(registry: SchemaRegistry) -> dict[str, str]:
    """Configure both converters for Confluent's wire format."""
    one = {
        "": "io.apicurio.registry.utils.converter.AvroConverter",
        ".apicurio.registry.url": registry.url.replace("ccompat/v7", "registry/v2"),
        ".apicurio.registry.as-confluent": "true",
        ".apicurio.registry.use-id": "contentId",
        ".apicurio.registry.headers.enabled": "false",
        ".apicurio.registry.auto-register": "true",
    }
    return {f"{side}.converter{name}": value for side in ("key", "value") for name, value in one.items()}


@contextmanager
def connector(connect: Connect, name: str, config: Mapping[str, str]) -> Iterator[None]:
    """Run a connector until the end of the block."""
    connect.create(name, config)
    try:
        yield
    finally:
        connect.ask("DELETE", f"/connectors/{name}")
