"""The servers that tests of MySQL's folder run against, and a connection to each."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.rows_world import DATABASE, FLAVOURS, World
from tests.integration.mysql.world import OF_PATH, WITHOUT_GTIDS
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.binlog_server import Edition
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.control.local.stack.stack import Stack

SERVERS = ("mysql", "mariadb", OF_PATH)


def edition(name: str) -> Edition:
    """Return what is started under this name; a test that wants what is not there is skipped."""
    if name == WITHOUT_GTIDS:
        without = ("--mysqlx=OFF", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
        return replace(mysql.pinned_mysql(), settings=without)
    if not mariadb.is_installed():
        pytest.skip("no MariaDB on PATH")
    return mariadb.installed_edition()


@pytest.fixture(scope="session")
def started(stack: Stack) -> Iterator[Callable[[str], MysqlServer]]:
    """Start each server when it is first asked for, by its name."""
    made: dict[str, MysqlServer] = {}

    def start(name: str) -> MysqlServer:
        if name in FLAVOURS:
            return stack.mysql() if name == "mysql" else stack.mariadb()
        if name not in made:
            made[name] = binlog_server.server(stack.folder / name.replace(" ", "-"), edition(name))
        made[name].process.start()
        return made[name]

    yield start
    for server in made.values():
        server.process.stop()


@pytest.fixture(scope="session", params=alternatives(SERVERS))
def server(request: pytest.FixtureRequest, started: Callable[[str], MysqlServer]) -> MysqlServer:
    """Each server in turn; that of PATH only where there is one."""
    return started(request.param)


@pytest.fixture
def connection(server: MysqlServer) -> Iterator["Connection[Any]"]:
    """A connection of the test's own, which commits by itself."""
    made = pymysql.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        charset="utf8mb4",
        autocommit=True,
    )
    with made:
        yield made


@pytest.fixture(params=alternatives(FLAVOURS))
def world(stack: Stack, request: pytest.FixtureRequest) -> World:
    """A server of each kind, whose database is empty."""
    made = World(getattr(stack, request.param)())
    made.run(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    return made
