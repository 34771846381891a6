"""A whole pipeline, as its users start it: one file, `wrackline run`, `wrackline consume` into a lake.

with running(folder, at, bootstrap, registry, Wanted(prefix, slot, tables)) as pipeline: pipeline.steps()
"""

import re
import subprocess
import sys
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.address import Address
from bench.peers.slot import PUBLICATION
from bench.spawned import spawned
from wrackline.control.local.processes.ports import choose
from wrackline.schemas.errors import Definite, define

BATCHES = "batches"
_NAMESPACE, _SAID = "lake", 2000
_FILE = """\
name = "{wanted.prefix}"
topic.prefix = "{wanted.prefix}"
[source]
connector.class = "postgres"
snapshot.mode = "{wanted.snapshot}"
database.hostname = "127.0.0.1"
database.port = {at.port}
database.user = "{at.user}"
database.dbname = "{at.database}"
database.sslmode = "disable"
slot.name = "{wanted.slot}"
publication.name = "{publication}"
publication.autocreate.mode = "disabled"
table.include.list = "public.{wanted.tables}"
[kafka]
bootstrap.servers = "{bootstrap}"
[schema.registry]
url = "{registry}"
[target]
kind = "{wanted.target}"
warehouse = "{warehouse}"
namespace = "{namespace}"
[consume]
metrics.port = {port}
[spark]
master = "local[2]"
"""
_LINE = re.compile(r"^wrackline_consume_(step_seconds|batches)_total\{(.*)\} (\S+)$", re.MULTILINE)
_STEP = re.compile(r'step="(\w+)"')

ENDED = define(
    "bench.pipeline_ended",
    Definite,
    "`wrackline {command}` ended with code {code} before all was merged; it said: {said}",
    hint="run the bench again with --quick",
)


class Wanted(NamedTuple):
    """What a pipeline copies; `tables` is a pattern."""

    prefix: str
    slot: str
    tables: str
    snapshot: str = "no_data"
    target: str = "iceberg"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Both halves, running."""

    warehouse: Path
    processes: "Mapping[str, subprocess.Popen[bytes]]"  # by command
    printed: Mapping[str, Path]
    port: int

    def check(self) -> None:
        """Raise if a half has ended."""
        for command, process in self.processes.items():
            if process.poll() is not None:
                said = self.printed[command].read_text()[-_SAID:]
                raise ENDED(command=command, code=process.returncode, said=said)

    def table(self, name: str) -> Path:
        """Return where a table's files are."""
        return self.warehouse / _NAMESPACE / name

    def steps(self) -> Mapping[str, float]:
        """Return the seconds that went into each step of batches so far, and how many batches there were."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found: dict[str, float] = defaultdict(float)
        for _, labels, value in _LINE.findall(text):
            step = _STEP.search(labels)
            found[step[1] if step else BATCHES] += float(value)
        return found


@contextmanager
def running(folder: Path, at: Address, bootstrap: str, registry: str, wanted: Wanted) -> Iterator[Pipeline]:
    """Run it until the block ends."""
    warehouse = folder / "warehouse"
    file = folder / "pipeline.toml"
    port = choose(folder, "metrics")["metrics"]
    file.write_text(
        _FILE.format(
            at=at,
            bootstrap=bootstrap,
            registry=registry,
            wanted=wanted,
            publication=PUBLICATION,
            warehouse=warehouse,
            namespace=_NAMESPACE,
            port=port,
        )
    )
    printed = {command: folder / f"{command}.txt" for command in ("run", "consume")}
    with ExitStack() as stack:
        processes = {
            command: stack.enter_context(
                spawned([sys.executable, "-m", "wrackline.control", command, str(file)], out)
            )
            for command, out in printed.items()
        }
        yield Pipeline(warehouse, processes, printed, port)
