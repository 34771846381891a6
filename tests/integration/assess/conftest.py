"""What tests of assessments begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.assess.world import PgAssessWorld
from wrackline.control.local.stack.servers import Broker, SchemaRegistry


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[PgAssessWorld]:
    """A good pipeline over PostgreSQL."""
    made = PgAssessWorld(tmp_path, database, kafka, registry, topic_prefix)
    yield made
    made.close()
