"""What every target promises, on a real PostgreSQL."""

from collections.abc import Iterator

import pytest

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import PostgresWorld
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import ModesSuite
from wrackline.testing.targets.target_suite import TargetSuite


class TestPostgres(TargetSuite, KeylessPromises, KeyPromises, ModesSuite, DropSuite):
    @pytest.fixture
    def world(self, database: Database) -> Iterator[PostgresWorld]:
        world = PostgresWorld(database.dsn)
        yield world
        world.target.close()
