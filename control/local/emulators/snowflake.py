"""An emulator of Snowflake as a server of the stack, which Snowflake's own driver reaches over HTTP.

In: a folder.  Out: an `EmulatorServer`.  Its data is in its memory: it ends with the process.
"""

import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack.servers import HOST, EmulatorServer

_PROGRAM = "wrackline.control.local.emulators.snowflake_server"


def server(folder: Path) -> EmulatorServer:
    """Make a server, not yet started, whose log, port and files are in this folder."""
    folder = folder.absolute()
    port = choose(folder, "http")["http"]
    program = Program(
        "the emulator of Snowflake",
        [sys.executable, "-m", _PROGRAM, str(port)],
        folder,
        [port],
        partial(_answers, port),
        environment={"TMPDIR": str(folder)},
    )
    return EmulatorServer(Process(program), port)


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://{HOST}:{port}/session", timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
