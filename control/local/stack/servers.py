"""What any code may rely on of a server of the stack, wherever it runs.

The local servers (kafka.py, registry.py, ...) and those in containers (containers.py) both have these types;
tests, demo and bench use nothing else of them. To start, stop or break a server, use its `process`.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

HOST = "127.0.0.1"


class Controls(Protocol):
    """What can be done to a server: a process or a container."""

    @property
    def running(self) -> bool:
        """Whether the server is there; a paused one is."""
        ...

    def start(self) -> None:
        """Start it and return when it is ready; after `stop` or `kill` with the same ports and data."""
        ...

    def stop(self) -> None:
        """Ask it to stop, and wait."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    def pause(self) -> None:
        """Freeze it; its connections stay open and silent."""
        ...

    def resume(self) -> None:
        """Let it continue."""
        ...

    def restart(self) -> None:
        """Stop and start again."""
        ...


class StackServer(Protocol):
    """Any server: `address` is what a user types or opens."""

    @property
    def process(self) -> Controls:
        """Its process or container."""
        ...

    @property
    def address(self) -> str:
        """Where it listens."""
        ...


@dataclass(frozen=True, slots=True)
class Broker:
    """A Kafka broker, with a second listener for a proxy.

    Clients that start at `127.0.0.1:proxy_port` are sent back to that port; whatever a test runs on that port
    forwards to `behind_proxy`.
    """

    process: Controls
    port: int
    proxy_port: int
    proxied_port: int
    ways: Mapping[str, int] = field(default_factory=dict)  # the ports of further listeners, by name

    @property
    def bootstrap(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    @property
    def behind_proxy(self) -> str:
        """Where a proxy forwards to."""
        return f"{HOST}:{self.proxied_port}"

    @property
    def address(self) -> str:
        """The address for clients."""
        return self.bootstrap


@dataclass(frozen=True, slots=True)
class Cluster:
    """Kafka brokers that replicate to one another."""

    brokers: Sequence[Broker]

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    def start(self) -> None:
        """Start all of them at the same time: a single one has no majority and is never ready."""
        with ThreadPoolExecutor(len(self.brokers)) as each:
            list(each.map(lambda broker: broker.process.start(), self.brokers))

    def stop(self) -> None:
        """Stop all of them at the same time: if only the last one were left, it would wait in vain."""
        with ThreadPoolExecutor(len(self.brokers)) as each:
            list(each.map(lambda broker: broker.process.stop(), self.brokers))


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A schema registry with the Confluent REST interface."""

    process: Controls
    port: int

    @property
    def url(self) -> str:
        """The address for any Confluent client."""
        return f"http://{HOST}:{self.port}/apis/ccompat/v7"

    @property
    def address(self) -> str:
        """The address for any Confluent client."""
        return self.url


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL server; the superuser postgres needs no password."""

    process: Controls
    port: int
    major: int

    @property
    def dsn(self) -> str:
        """How to connect to the database postgres as the superuser."""
        return self.database_dsn("postgres")

    def database_dsn(self, database: str) -> str:
        """How to connect to one database as the superuser."""
        return f"host={HOST} port={self.port} user=postgres dbname={database}"

    @property
    def address(self) -> str:
        """The address as a URL, which psql takes."""
        return f"postgresql://postgres@{HOST}:{self.port}/postgres"


@dataclass(frozen=True, slots=True)
class MysqlServer:
    """A MySQL or MariaDB server with a row-based binary log; root needs no password."""

    process: Controls
    port: int
    host: str = HOST
    user: str = "root"
    password: str = ""

    @property
    def address(self) -> str:
        """The address as a URL."""
        return f"mysql://{self.user}@{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class StandinServer:
    """A stand-in for SQL Server, which forgets everything when it ends."""

    process: Controls
    port: int
    user: str
    password: str
    host: str = HOST

    @property
    def address(self) -> str:
        """The address as a URL."""
        return f"sqlserver://{self.user}@{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class EmulatorServer:
    """An emulator of a service, which forgets everything when it ends."""

    process: Controls
    port: int

    @property
    def address(self) -> str:
        """The address in place of the service's."""
        return f"http://{HOST}:{self.port}"


class Makers(Protocol):
    """Makes each server, not yet started, in a folder of its own."""

    def kafka(self, folder: Path) -> Broker:
        """Make a broker."""
        ...

    def registry(self, folder: Path) -> SchemaRegistry:
        """Make a schema registry."""
        ...

    def postgres(self, folder: Path, major: int) -> PostgresServer:
        """Make a PostgreSQL server."""
        ...

    def mariadb(self, folder: Path) -> MysqlServer:
        """Make a MariaDB server."""
        ...

    def mysql(self, folder: Path) -> MysqlServer:
        """Make a MySQL server."""
        ...

    def sqlserver_standin(self, folder: Path) -> StandinServer:
        """Make a stand-in for SQL Server."""
        ...
