"""What most tests here begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.running.world import World
from wrackline.control.local.stack.servers import Broker, SchemaRegistry


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a table, and a pipeline over it."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()
