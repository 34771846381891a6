"""The same servers in containers, for machines with a container engine (WRACKLINE_STACK=docker).

In: folders, of which only the chosen ports are used. Out: what servers.py promises; the data is in the
containers, which testcontainers removes when the process ends. It was run with images of our own that have
the names and the programs of the real ones (tests/integration/deploy/test_docker.py).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from testcontainers.core.container import DockerContainer

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import wait_until
from wrackline.control.local.stack import binlog_server, kafka, postgres, registry, sqlserver_standin
from wrackline.control.local.stack.servers import (
    HOST,
    Broker,
    MysqlServer,
    PostgresServer,
    SchemaRegistry,
    StandinServer,
)
from wrackline.schemas import versions

_PATIENCE = 180.0  # seconds; an image makes its data at the first start


class Container:
    """One container on fixed ports; stopped or killed, it keeps its data until the process ends."""

    def __init__(self, made: DockerContainer, ready: Callable[[], bool], ports: Mapping[int, int]) -> None:
        for inside, outside in ports.items():
            # `with_bind_ports` takes no address, and these servers ask for no password
            made.ports[f"{inside}/tcp"] = (HOST, outside)  # type: ignore[assignment]
        self._container, self._ready, self._created = made, ready, False

    @property
    def running(self) -> bool:
        """Whether the container is there; a paused one is."""
        return self._status() in {"running", "paused"}

    def start(self) -> None:
        """Create the container, or start it again, and return when it is ready."""
        if self.running:
            return
        if self._created:
            self._container.get_wrapped_container().start()
        else:
            self._container.start()
            self._created = True
        shown = f"docker logs {self._container.get_wrapped_container().short_id}"
        wait_until(self._ready, self._container.image, log=shown, patience=_PATIENCE)

    def stop(self) -> None:
        """Stop the container."""
        if self.running:
            self._container.get_wrapped_container().stop()

    def kill(self) -> None:
        """Kill the container's process."""
        if self.running:
            self._container.get_wrapped_container().kill()

    def pause(self) -> None:
        """Freeze the container."""
        self._container.get_wrapped_container().pause()

    def resume(self) -> None:
        """Let a frozen container run again; does nothing to another."""
        if self._status() == "paused":
            self._container.get_wrapped_container().unpause()

    def restart(self) -> None:
        """Stop and start again."""
        self.stop()
        self.start()

    def _status(self) -> str:
        """Ask the engine: the client's object is only as new as its last reload."""
        if not self._created:
            return "missing"
        container = self._container.get_wrapped_container()
        container.reload()
        return str(container.status)


class ContainerMakers:
    """Makes servers that run in containers."""

    def kafka(self, folder: Path) -> Broker:
        """Make a broker."""
        ports = choose(folder, "broker", "controller", "proxied", "proxy")
        settings = {name: str(value) for name, value in (kafka.SETTINGS | kafka.places(ports)).items()}
        settings["listeners"] = settings["listeners"].replace(HOST, "0.0.0.0")  # noqa: S104 inside the container
        named = {"KAFKA_" + name.upper().replace(".", "_"): value for name, value in settings.items()}
        made = DockerContainer(versions.KAFKA_IMAGE).with_envs(**named)
        ready = partial(kafka.answers, f"{HOST}:{ports['broker']}")
        opened = {port: port for name, port in ports.items() if name in {"broker", "proxied"}}
        return Broker(Container(made, ready, opened), ports["broker"], ports["proxy"], ports["proxied"])

    def registry(self, folder: Path) -> SchemaRegistry:
        """Make a schema registry."""
        port = choose(folder, "registry")["registry"]
        made = DockerContainer(versions.APICURIO_IMAGE)
        made.with_env("REGISTRY_DATASOURCE_URL", registry.DATABASE.format(file="/tmp/registry"))  # noqa: S108 inside
        return SchemaRegistry(Container(made, partial(registry.answers, port), {8080: port}), port)

    def postgres(self, folder: Path, major: int) -> PostgresServer:
        """Make a PostgreSQL server."""
        port = choose(folder, "postgres")["postgres"]
        made = DockerContainer(versions.postgres_image(major)).with_env("POSTGRES_HOST_AUTH_METHOD", "trust")
        settings = postgres.SETTINGS | {"listen_addresses": "*", "fsync": "off"}
        made.with_command([word for name, value in settings.items() for word in ("-c", f"{name}={value}")])
        ready = partial(postgres.answers, port)
        return PostgresServer(Container(made, ready, {5432: port}), port, major)

    def mariadb(self, folder: Path) -> MysqlServer:
        """Make a MariaDB server."""
        empty = {"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1"}
        return _mysql(folder, versions.MARIADB_IMAGE, empty, ["--gtid-strict-mode=ON"])

    def mysql(self, folder: Path) -> MysqlServer:
        """Make a MySQL server."""
        numbered = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
        return _mysql(folder, versions.MYSQL_IMAGE, {"MYSQL_ALLOW_EMPTY_PASSWORD": "1"}, numbered)

    def sqlserver_standin(self, folder: Path) -> StandinServer:
        """Make a stand-in for SQL Server, which is a process here too."""
        return sqlserver_standin.server(folder)


def _mysql(folder: Path, image: str, environment: Mapping[str, str], more: Sequence[str]) -> MysqlServer:
    port = choose(folder, "mysql")["mysql"]
    settings = [one for one in binlog_server.SETTINGS if not one.startswith(("--bind", "--socket", "--pid"))]
    settings += more
    made = DockerContainer(image).with_envs(**environment).with_command(settings)
    return MysqlServer(Container(made, partial(binlog_server.answers, port), {3306: port}), port)
