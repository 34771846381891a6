"""A server of the MySQL family with a row-based binary log; mariadb.py and mysql.py say which.

In: a folder, the server's command and the command that makes its data. Out: a `MysqlServer`. It is right for
tests: it listens only on 127.0.0.1, and what was committed survives `kill -9` of the server (its log is
written at each commit, but flushed only once a second).
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pymysql

from wrackline.control.local.processes.account import command_prefix, give
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program, Run, is_listening
from wrackline.control.local.stack.servers import HOST, MysqlServer

_ACCOUNT = "mysql"
SETTINGS = (
    "--bind-address=127.0.0.1",
    "--socket=socket",  # beside the data: a deep folder's path would be too long
    "--pid-file=pid",
    "--server-id=1",
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=2",
    "--sync-binlog=0",
    "--max-allowed-packet=256M",
    "--performance-schema=OFF",
)


@dataclass(frozen=True, slots=True)
class Edition:
    """What distinguishes one server of the family from another."""

    name: str
    server: Sequence[str]
    """The server's program with what it needs to find its own files."""
    initialise: Sequence[str]
    """The program that makes an empty data folder, likewise; its place is added."""
    settings: Sequence[str]


def server(folder: Path, edition: Edition, *, port: int | None = None) -> MysqlServer:
    """Make a server, not yet started, whose data, log and port are in this folder."""
    folder = folder.absolute()
    listened = choose(folder, "mysql", fixed={} if port is None else {"mysql": port})["mysql"]
    data = folder / "data"
    command = [*command_prefix(_ACCOUNT), *edition.server, f"--datadir={data}", f"--tmpdir={_tmp(data)}"]
    command += [f"--port={listened}", *SETTINGS, *edition.settings]
    program = Program(
        name=edition.name,
        command=command,
        folder=folder,
        ports=[listened],
        ready=partial(answers, listened),
        prepare=partial(_initialise, edition, data),
    )
    return MysqlServer(Process(program), listened)


def _tmp(data: Path) -> Path:
    """Each server has its own, because a start removes the files of others in /tmp."""
    return data.with_name("tmp")


def _initialise(edition: Edition, data: Path, run: Run) -> None:
    give(_tmp(data), _ACCOUNT)
    complete = data.with_name("initialised")
    if complete.exists():
        return
    shutil.rmtree(data, ignore_errors=True)  # what a killed run left
    give(data, _ACCOUNT)
    # MariaDB's script splits a --tmpdir at its spaces
    where = ["env", f"TMPDIR={_tmp(data)}"]
    run([*command_prefix(_ACCOUNT), *where, *edition.initialise, f"--datadir={data}"])
    complete.touch()


def answers(port: int) -> bool:
    """Whether a server lets root in."""
    if not is_listening(port):
        return False
    try:
        pymysql.connect(host=HOST, port=port, user="root", connect_timeout=2).close()
    except pymysql.OperationalError:
        return False
    return True
