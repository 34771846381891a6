"""PostgreSQL keeps the source contract, with marks of every kind."""

from collections.abc import Iterator

import pytest

from tests.fixtures.servers import Database
from tests.fixtures.tiers import alternatives
from tests.integration.postgres.world import PgWorld, TwoDatabasesWorld
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld


class TestPostgres(SourceSuite):
    @pytest.fixture(params=alternatives(MarkKind), ids=lambda kind: kind.value)
    def world(self, request: pytest.FixtureRequest, database: Database) -> Iterator[SourceWorld]:
        world = PgWorld(database, request.param)
        yield world
        world.close()


@pytest.mark.full
class TestTwoDatabases(SourceSuite):
    @pytest.fixture
    def world(self, database: Database) -> Iterator[SourceWorld]:
        world = TwoDatabasesWorld(database)
        yield world
        world.close()
