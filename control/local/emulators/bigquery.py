"""An emulator of BigQuery as a server of the stack, which Google's own client reaches over HTTP.

In: a folder.  Out: an `EmulatorServer`.  It wants other versions of what ours has, so it lives in an
environment of its own, which is installed into the cache once, from pinned packages.  Its data is in its
memory: it ends with the process.
"""

import os
import subprocess
import sys
import urllib.error
import urllib.request
import venv
from functools import partial
from pathlib import Path
from typing import Final

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.local.stack.servers import HOST, EmulatorServer
from wrackline.control.runtime.spark.cache import fill_once

_PINNED: Final = (
    "bqemulator==1.4.0",
    "duckdb==1.5.5",  # the newest for which there is a package with the extension
    "duckdb-extension-spatial==1.5.5",
    "numpy==2.4.6",
    "sqlglot==30.11.0",
)
_EXTENSION: Final = "spatial.duckdb_extension"


def server(folder: Path) -> EmulatorServer:
    """Make a server, not yet started, whose log and ports are in this folder."""
    folder = folder.absolute()
    made = fill_once(f"bqemulator-{sys.version_info.minor}-1.4.0", _install)
    ports = choose(folder, "rest", "grpc")
    program = Program(
        "the emulator of BigQuery",
        [
            str(made / "bin" / "python"),
            *("-m", "bqemulator", "start"),
            *("--rest-port", str(ports["rest"]), "--grpc-port", str(ports["grpc"])),
        ],
        folder,
        list(ports.values()),
        partial(_answers, ports["rest"]),
        environment={"HOME": str(made)},  # where the extension is that it loads; else it would be downloaded
    )
    return EmulatorServer(Process(program), ports["rest"])


def _install(into: Path) -> None:
    venv.create(into, with_pip=True)
    pip = [str(into / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *_PINNED], check=True, timeout=600, env={**os.environ, "HOME": str(into)})
    (found,) = into.glob(f"lib/python*/site-packages/duckdb_extension_spatial/extensions/*/{_EXTENSION}")
    place = into / ".duckdb" / "extensions" / found.parent.name / platform_of(into / "bin" / "python")
    place.mkdir(parents=True)
    found.rename(place / _EXTENSION)


def platform_of(python: Path) -> str:
    """Ask the DuckDB of an environment for the folder that it looks for extensions in: linux_arm64."""
    text = "import duckdb; print(*duckdb.execute('PRAGMA platform').fetchone())"
    return subprocess.check_output([python, "-c", text], text=True, timeout=60).strip()


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://{HOST}:{port}/bigquery/v2/projects/p/datasets", timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
