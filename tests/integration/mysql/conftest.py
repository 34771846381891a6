"""The servers that tests of MySQL's folder run against, and a connection to each."""

import shutil
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection

from tests.integration.mysql.rows_world import DATABASE, FLAVOURS, World
from wrackline.control.stack import binlog_server, mariadb
from wrackline.control.stack.servers import MysqlServer
from wrackline.control.stack.stack import Stack


@pytest.fixture(scope="session", params=["mysql", "mariadb", "mariadb of PATH"])
def server(request: pytest.FixtureRequest, stack: Stack) -> Iterator[MysqlServer]:
    """Each server in turn; that of PATH only where there is one."""
    if request.param == "mysql":
        yield stack.mysql()
    elif request.param == "mariadb":
        yield stack.mariadb()
    elif shutil.which("mariadbd") is None:
        pytest.skip("no MariaDB on PATH")
    else:
        made = binlog_server.server(stack.folder / "mariadb-of-path", mariadb.of_path())
        made.process.start()
        yield made
        made.process.stop()


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


@pytest.fixture(params=FLAVOURS)
def world(stack: Stack, request: pytest.FixtureRequest) -> World:
    """A server of each kind, whose database is empty."""
    made = World(getattr(stack, request.param)())
    made.run(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    return made
