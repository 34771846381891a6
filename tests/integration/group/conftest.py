"""What the tests here begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.group.world import GroupWorld
from wrackline.control.local.stack.servers import Broker, SchemaRegistry


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[GroupWorld]:
    """A database, and a group without a worker."""
    made = GroupWorld(tmp_path, database, kafka, registry, topic_prefix)
    yield made
    made.close()
