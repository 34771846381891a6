"""MySQL and MariaDB keep the source contract: three servers, one of them also without GTIDs."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import pytest

from tests.contract.log_suite import LogPromises
from tests.contract.source_world import SourceWorld
from tests.integration.mysql.source_world import MySqlWorld
from wrackline.control.stack import binlog_server, mariadb, mysql
from wrackline.control.stack.servers import MysqlServer
from wrackline.control.stack.stack import Stack

pytestmark = pytest.mark.servers

SERVERS: Final = ("mariadb", "mariadb of PATH", "mysql", "mysql without GTIDs")


@pytest.fixture(scope="session")
def started(stack: Stack) -> Iterator[Callable[[str], MysqlServer]]:
    """Start each server when it is first asked for."""
    made: dict[str, MysqlServer] = {}

    def start(name: str) -> MysqlServer:
        if name in {"mariadb", "mysql"}:
            return stack.mysql() if name == "mysql" else stack.mariadb()
        if name not in made:
            if name == "mariadb of PATH" and shutil.which("mariadbd") is None:
                pytest.skip("no MariaDB on PATH")
            edition = (
                mariadb.of_path()
                if name == "mariadb of PATH"
                else replace(mysql.unpacked(), settings=("--mysqlx=OFF",))
            )
            made[name] = binlog_server.server(stack.folder / f"contract-{len(made)}", edition)
            made[name].process.start()
        return made[name]

    yield start
    for server in made.values():
        server.process.stop()


@pytest.fixture(params=SERVERS)
def world(request: pytest.FixtureRequest, started: Callable[[str], MysqlServer]) -> Iterator[SourceWorld]:
    """A database of the test's own on each server."""
    made = MySqlWorld(started(request.param))
    yield made
    made.close()


class TestLog(LogPromises):
    """What a task relies on when it polls."""
