"""The raw limit of a PostgreSQL log in C: `pg_recvlogical` reads a slot's backlog and writes it to /dev/null.

The clock runs from the moment the program says that it streams to its end, which is the log's end.
"""

import subprocess
import time
from pathlib import Path

from bench.address import Address
from bench.cost import metered
from bench.peers.slot import PUBLICATION, connect, copied
from bench.score import Outcome
from wrackline.control.local.stack.postgres import programs
from wrackline.control.local.stack.stack import POSTGRES_DEFAULT
from wrackline.schemas.errors import Definite, define

NAME = "pg_recvlogical"
_STREAMS = "streaming initiated"

RECEIVE_FAILED = define(
    "bench.receive_failed",
    Definite,
    "pg_recvlogical ended with code {code}; it said: {said}",
    hint="see the server's log; run the bench again with --quick",
)


def program() -> Path | None:
    """Return the program, if the server that benches start comes with it: Debian's does, Maven's does not."""
    beside = programs(POSTGRES_DEFAULT) / NAME
    return beside if beside.exists() else None


def receive(metric: str, at: Address, reader: Path, backlog: str, changes: int) -> Outcome:
    """Read a copy of the backlog, which is the log's last part, to its end."""
    with copied(at, backlog) as slot, metered() as meter:
        command = [str(reader), "--start", "--slot", slot, "--file", "/dev/null", "--no-loop", "--verbose"]
        command += ["--option", "proto_version=1", "--option", f"publication_names={PUBLICATION}"]
        command += ["--host", "127.0.0.1", "--port", str(at.port), "--username", at.user, "--no-password"]
        command += ["--dbname", at.database, "--endpos", _log_end(at)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            seconds, said = _streamed(process)
        if process.returncode or not seconds:
            raise RECEIVE_FAILED(code=process.returncode, said=said)
    return Outcome({metric: changes / seconds}, meter.cost)


def _streamed(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Return the seconds from the start of the stream to its end, and all that was said."""
    began, said = 0.0, ""
    for line in process.stderr or ():
        if _STREAMS in line:
            began = time.perf_counter()
        said += line
    process.wait()
    return (time.perf_counter() - began if began else 0.0), said


def _log_end(at: Address) -> str:
    with connect(at) as session:
        row = session.execute("select pg_current_wal_lsn()::text").fetchone()
    return str(row[0]) if row else ""
