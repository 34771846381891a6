"""A stand-in for Redshift as a server of the stack: a front before a PostgreSQL of its own, and S3 by moto.

In: a folder, and the address of the PostgreSQL.  Out: a `RedshiftEmulator`.  The files are in the memory of
its process, the tables in the PostgreSQL.
"""

import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack.servers import HOST, Controls

BUCKET: Final = "shop"
_PROGRAM: Final = "wrackline.control.local.emulators.redshift_server"


@dataclass(frozen=True, slots=True)
class RedshiftEmulator:
    """Where the two listen."""

    process: Controls
    port: int
    store_port: int

    @property
    def address(self) -> str:
        """Where Redshift's driver connects."""
        return f"redshift://{HOST}:{self.port}"

    @property
    def store(self) -> str:
        """Where S3 is."""
        return f"http://{HOST}:{self.store_port}"


def server(folder: Path, dsn: str) -> RedshiftEmulator:
    """Make a server, not yet started, whose log and ports are in this folder."""
    folder = folder.absolute()
    ports = choose(folder, "driver", "store")
    numbers = [ports["driver"], ports["store"]]
    program = Program(
        "the stand-in for Redshift",
        [sys.executable, "-m", _PROGRAM, *map(str, numbers), dsn],
        folder,
        numbers,
        partial(_listens, ports["driver"]),
    )
    return RedshiftEmulator(Process(program), *numbers)


def _listens(port: int) -> bool:
    """Whether it does; it comes last."""
    with suppress(OSError):
        socket.create_connection((HOST, port), timeout=2).close()
        return True
    return False
