"""MySQL and MariaDB keep the source contract, with both kinds of marks where the server has both."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import OF_PATH, WITHOUT_GTIDS
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld

pytestmark = pytest.mark.servers

WORLDS: Final = (
    ("mariadb", MarkKind.FENCE),
    ("mariadb", MarkKind.SIGNAL),
    (OF_PATH, MarkKind.FENCE),
    ("mysql", MarkKind.FENCE),
    ("mysql", MarkKind.SIGNAL),
    (WITHOUT_GTIDS, MarkKind.SIGNAL),
)


class TestMySql(SourceSuite):
    @pytest.fixture(params=alternatives(WORLDS), ids=lambda param: f"{param[0]} by {param[1].value}")
    def world(
        self, request: pytest.FixtureRequest, started: Callable[[str], MysqlServer]
    ) -> Iterator[SourceWorld]:
        server, kind = request.param
        made = MySqlWorld(started(server), kind)
        yield made
        made.close()
