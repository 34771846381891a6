"""MySQL and MariaDB keep the source contract, with both kinds of marks where the server has both."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import pytest

from tests.contract.source_suite import SourceSuite
from tests.contract.source_world import SourceWorld
from tests.integration.mysql.source_world import MySqlWorld
from wrackline.control.stack import binlog_server, mariadb, mysql
from wrackline.control.stack.servers import MysqlServer
from wrackline.control.stack.stack import Stack
from wrackline.producers.plugin import MarkKind

pytestmark = pytest.mark.servers

WORLDS: Final = (
    ("mariadb", MarkKind.FENCE),
    ("mariadb", MarkKind.SIGNAL),
    ("mariadb of PATH", MarkKind.FENCE),
    ("mysql", MarkKind.FENCE),
    ("mysql", MarkKind.SIGNAL),
    ("mysql without GTIDs", MarkKind.SIGNAL),
)


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
                else replace(
                    mysql.unpacked(),
                    settings=("--mysqlx=OFF", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"),
                )
            )
            made[name] = binlog_server.server(stack.folder / f"contract-{len(made)}", edition)
            made[name].process.start()
        return made[name]

    yield start
    for server in made.values():
        server.process.stop()


class TestMySql(SourceSuite):
    @pytest.fixture(params=WORLDS, ids=lambda param: f"{param[0]} by {param[1].value}")
    def world(
        self, request: pytest.FixtureRequest, started: Callable[[str], MysqlServer]
    ) -> Iterator[SourceWorld]:
        server, kind = request.param
        made = MySqlWorld(started(server), kind)
        yield made
        made.close()
