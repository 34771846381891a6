"""The stand-in for SQL Server as a server of the stack, with capture jobs that scan all the time.

In: a folder. Out: a `StandinServer`. It is not a SQL Server, and its data is in its memory: it ends with the
process.
"""

import sys
from functools import partial
from pathlib import Path

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program, is_listening
from wrackline.control.local.stack.servers import StandinServer

_SCAN_EVERY = 0.2  # s; a real capture job waits 5 s
_USER, _PASSWORD = "sa", "Standin-1"
_PROGRAM = "wrackline.control.local.sqlserver_standin"


def server(folder: Path) -> StandinServer:
    """Make a server, not yet started, whose log and port are in this folder."""
    folder = folder.absolute()
    port = choose(folder, "sqlserver")["sqlserver"]
    options = {"port": port, "scan-every": _SCAN_EVERY, "user": _USER, "password": _PASSWORD}
    command = [sys.executable, "-m", _PROGRAM, *(f"--{name}={value}" for name, value in options.items())]
    program = Program("sqlserver_standin", command, folder, [port], partial(is_listening, port))
    return StandinServer(Process(program), port, _USER, _PASSWORD)
