"""All servers of one stack, each started when it is first needed, all in one folder.

In: a folder (and WRACKLINE_STACK=docker, where containers are wanted). Out: running servers; `state()` as
data for a status screen. It is right because the folder holds everything (data, logs, ports), so that two
stacks can run side by side and a stack that is opened again finds its data and its ports.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from wrackline.control.local.stack import (
    binlog_server,
    kafka,
    mariadb,
    mysql,
    postgres,
    registry,
    sqlserver_standin,
)
from wrackline.control.local.stack.servers import (
    Broker,
    Makers,
    MysqlServer,
    PostgresServer,
    SchemaRegistry,
    StackServer,
    StandinServer,
)

POSTGRES_DEFAULT = 15

_S = TypeVar("_S", bound=StackServer)


class LocalMakers:
    """Makes servers that run as child processes of this one."""

    def kafka(self, folder: Path) -> Broker:
        """Make a broker."""
        return kafka.broker(folder)

    def registry(self, folder: Path) -> SchemaRegistry:
        """Make a schema registry."""
        return registry.registry(folder)

    def postgres(self, folder: Path, major: int) -> PostgresServer:
        """Make a PostgreSQL server."""
        return postgres.postgres(folder, major)

    def mariadb(self, folder: Path) -> MysqlServer:
        """Make a MariaDB server."""
        return binlog_server.server(folder, mariadb.pinned_edition())

    def mysql(self, folder: Path) -> MysqlServer:
        """Make a MySQL server."""
        return binlog_server.server(folder, mysql.pinned_mysql())

    def sqlserver_standin(self, folder: Path) -> StandinServer:
        """Make a stand-in for SQL Server."""
        return sqlserver_standin.server(folder)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One line of a status screen."""

    name: str
    running: bool
    address: str
    folder: Path


class Stack:
    """Servers by name; leaving the block stops them all, the last started first."""

    def __init__(self, folder: Path | str, *, makers: Makers | None = None) -> None:
        self.folder = Path(folder).absolute()
        self._makers = makers or _choose_makers()
        self._servers: dict[str, Any] = {}  # each of the kind that the method of its name returns

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def kafka(self) -> Broker:
        """Return the broker, running."""
        return self.running("kafka", self._makers.kafka)

    def registry(self) -> SchemaRegistry:
        """Return the schema registry, running."""
        return self.running("registry", self._makers.registry)

    def postgres(self, major: int = POSTGRES_DEFAULT) -> PostgresServer:
        """Return the PostgreSQL server of this major, running."""
        return self.running(f"postgres-{major}", lambda folder: self._makers.postgres(folder, major))

    def mariadb(self) -> MysqlServer:
        """Return the MariaDB server, running."""
        return self.running("mariadb", self._makers.mariadb)

    def mysql(self) -> MysqlServer:
        """Return the MySQL server, running."""
        return self.running("mysql", self._makers.mysql)

    def sqlserver_standin(self) -> StandinServer:
        """Return the stand-in for SQL Server, running."""
        return self.running("sqlserver_standin", self._makers.sqlserver_standin)

    def state(self) -> list[ServerState]:
        """Return what was started, in that order."""
        return [
            ServerState(name, server.process.running, server.address, self.folder / name)
            for name, server in self._servers.items()
        ]

    def running(self, name: str, make: Callable[[Path], _S]) -> _S:
        """Return a server, running; `make` makes it in a folder, if there is none of this name yet."""
        server: _S = self._servers.get(name) or make(self.folder / name)
        self._servers[name] = server
        server.process.start()  # does nothing when it runs
        return server

    def stop(self) -> None:
        """Stop all servers; their data stays."""
        while self._servers:
            _, server = self._servers.popitem()
            server.process.stop()


def _choose_makers() -> Makers:
    if os.environ.get("WRACKLINE_STACK") != "docker":
        return LocalMakers()
    from wrackline.control.local.stack.containers import ContainerMakers  # noqa: PLC0415 testcontainers is a development tool

    return ContainerMakers()
