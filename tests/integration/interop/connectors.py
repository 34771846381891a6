"""Connectors for one test, and how they read and write JSON without schemas."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.peers.connect import Connect

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}


@contextmanager
def connector(connect: Connect, name: str, config: Mapping[str, str]) -> Iterator[None]:
    """Run a connector until the end of the block."""
    connect.create(name, config)
    try:
        yield
    finally:
        connect.ask("DELETE", f"/connectors/{name}")
