"""Servers of MySQL's family that no other test uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.tiers import alternatives
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer

KINDS = {"mariadb": mariadb.pinned_edition, "mysql": mysql.pinned_mysql}


@pytest.fixture(params=alternatives(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two."""
    return str(request.param)


@pytest.fixture
def own(kind: str, tmp_path: Path) -> Iterator[MysqlServer]:
    """A server of that kind."""
    made = binlog_server.server(tmp_path / kind, KINDS[kind]())
    made.process.start()
    yield made
    made.process.resume()
    made.process.stop()
