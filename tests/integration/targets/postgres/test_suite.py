"""What every target promises, on a real PostgreSQL."""

from collections.abc import Iterator

import pytest

from tests.contract.drop_suite import DropSuite
from tests.contract.keyless_suite import KeylessPromises, KeyPromises
from tests.contract.modes_suite import ModesSuite
from tests.contract.target_suite import TargetSuite
from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import PostgresWorld


class TestPostgres(TargetSuite, KeylessPromises, KeyPromises, ModesSuite, DropSuite):
    @pytest.fixture
    def world(self, database: Database) -> Iterator[PostgresWorld]:
        world = PostgresWorld(database.dsn)
        yield world
        world.target.close()
