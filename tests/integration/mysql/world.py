"""What tests of MySQL and MariaDB share: the servers that run here, settings for them, statements by root."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymysql

from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.sources.mysql.config import SETTINGS
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry as Settings
from wrackline.schemas.settings.settings_registry import Values

FLAVOURS = ("mariadb", "mysql")
WITHOUT_GTIDS, OF_PATH = "mysql without GTIDs", "mariadb of PATH"


def settings_of(server: MysqlServer, **more: str) -> Values:
    """Settings for a server of the local stack, as root; `more` by whole names."""
    return read(given_of(server) | more)


def given_of(server: MysqlServer) -> dict[str, str]:
    """The same as they stand in a file."""
    return {
        "name": "test",
        "connector.class": "mysql",
        "topic.prefix": "server",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.ssl.mode": "disabled",
    }


def read(given: Mapping[str, str]) -> Values:
    """Read settings, which must be good."""
    reading = Settings(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))
    assert reading.values is not None, reading.problems
    return reading.values


def root(server: MysqlServer, **more: Any) -> "pymysql.connections.Connection[Any]":
    """Connect as root, without a word about charsets or modes."""
    return pymysql.connect(
        host=server.host, port=server.port, user=server.user, charset="utf8mb4", autocommit=True, **more
    )


def run(server: MysqlServer, *statements: str) -> None:
    """Run statements as root."""
    with root(server) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def rows_of(server: MysqlServer, statement: str) -> list[tuple[Any, ...]]:
    """Return what a statement of root's shows."""
    with root(server) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
