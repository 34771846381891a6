"""A process with its own words in a file: asked to end when the block ends, and killed if it does not.

It also ends when this process is gone, also by `kill -9`.

with spawned(["java", ...], Path("said.txt")) as process: process.pid
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from wrackline.control.local.processes.launch import launched

_END_LIMIT_S = 60.0
_NOTHING: Mapping[str, str] = MappingProxyType({})


@contextmanager
def spawned(
    command: Sequence[str], printed: Path, environment: Mapping[str, str] = _NOTHING
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a program until the block ends."""
    with (
        printed.open("wb") as out,
        subprocess.Popen(
            launched(command),
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
