"""SQL Server's source keeps the contract over the stand-in, with one database and several.

The stand-in speaks TDS over a model of change data capture.  It is not a SQL Server.
"""

from collections.abc import Iterator

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.fixtures.tiers import alternatives
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld


class TestSqlServer(SourceSuite):
    @pytest.fixture(params=alternatives([(1, MarkKind.SIGNAL), (3, MarkKind.FENCE)]), ids=str)
    def world(self, request: pytest.FixtureRequest) -> Iterator[SourceWorld]:
        made = SqlServerWorld(*request.param)
        yield made
        made.close()
