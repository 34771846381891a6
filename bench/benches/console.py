"""How long the console's pages and REST's looks take with every server away, and what an open page costs.

Three workers: one of 100 pipelines with 100 tables each, and one with a pipeline of 10,000 tables, where one
table in fifty has changed with each report; and one with an idle pipeline of 100 tables.  Each page is asked
for again and again over one connection, as a browser does.  An open page renews itself every second; its
price is the worker's CPU with it, less the CPU without it, and the bytes that it gets.
"""

import gzip
import http.client
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from sys import executable

import psutil

from bench.ours.group import PATIENCE_S
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.spawned import spawned
from wrackline.control.console.page_renewal import MARK_HEADER
from wrackline.control.local.processes.ports import choose
from wrackline.control.runtime.ground.times import SHOWN_S, until_step
from wrackline.schemas.errors import Definite, define

UNITS = {
    "list_p95_ms": "ms", "pipeline_p95_ms": "ms", "table_p95_ms": "ms", "pipeline_kb": "KB",
    "status_p95_ms": "ms", "tables_p95_ms": "ms", "lag_p95_ms": "ms", "state_p95_ms": "ms",
    "idle_cpu": "% of a core", "page_cpu": "% of a core", "page_kb_s": "KB/s",
}  # fmt: skip
FULL = Size(200, 1)  # requests of each kind
QUICK = Size(20, 1)
_WATCHED_S = 30.0
RENEWS_S = 1.0
_CHANGED = 50  # tables of which one has changed since the last report
_MARK = re.compile(b'data-mark="([0-9a-f]+)"')
_TABLE = "shop.public.table_00042"

NOT_THERE = define(
    "bench.console_not_there",
    Definite,
    "the console did not answer within {seconds:.0f} s; it said: {said}",
    hint="run the bench again with --quick",
)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start both workers, and hand out who asks them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _served(Path(folder), 100, 100) as many,
        _served(Path(folder), 1, 10_000) as large,
        _served(Path(folder), 1, 100, changed=0) as idle,
    ):
        yield [
            Contender("100 pipelines of 100 tables", look, (*many, rows), ours=True),
            Contender("1 pipeline of 10,000 tables", look, (*large, rows)),
            Contender("1 idle pipeline of 100 tables", look, (*idle, rows)),
        ]


@contextmanager
def _served(folder: Path, pipelines: int, tables: int, changed: int = _CHANGED) -> Iterator[tuple[int, int]]:
    """Serve; yield the port, and the process's id."""
    port = choose(folder / f"{pipelines}-{tables}", "rest")["rest"]
    said = folder / f"said-{pipelines}-{tables}"
    command = [executable, "-m", "bench.ours.boards", *map(str, (port, pipelines, tables, changed))]
    with spawned(command, said) as process:
        deadline = time.monotonic() + PATIENCE_S
        while b"http" not in said.read_bytes():
            if time.monotonic() > deadline or process.poll() is not None:
                raise NOT_THERE(seconds=PATIENCE_S, said=said.read_text()[-500:])
            time.sleep(0.1)
        yield port, process.pid


def look(port: int, pid: int, requests: int) -> Outcome:
    """Ask for each page so many times, then watch an idle worker without and with an open page."""
    paths = {
        "list": "/console/", "pipeline": "/console/p/p000", "table": f"/console/p/p000/t/{_TABLE}",
        **{name: f"/connectors/p000/{name}" for name in ("status", "tables", "lag")},
        "state": "/v1/contexts/default/pipelines/p000/state",  # getState of CDAP's document
    }  # fmt: skip
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found: dict[str, float] = {}
    for name, path in paths.items():
        took, size = zip(*(_ask(browser, path) for _ in range(requests)), strict=True)
        found[f"{name}_p95_ms"] = quantiles(took, n=20, method="inclusive")[-1]
        found[f"{name}_kb"] = size[-1] / 1000
    idle, _ = _watch(pid, port, None)
    with_page, size_ = _watch(pid, port, "/console/p/p000")
    found |= {"idle_cpu": idle, "page_cpu": with_page - idle, "page_kb_s": size_ / 1000 / _WATCHED_S}
    return Outcome({name: found[name] for name in UNITS})


def _watch(pid: int, port: int, path: str | None) -> tuple[float, int]:
    """Return a process's CPU in percent of a core, and the bytes of a page that is open meanwhile."""
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)  # an idle one was closed
    process, size, mark = psutil.Process(pid), 0, ""
    before, end = sum(process.cpu_times()[:2]), time.monotonic() + _WATCHED_S
    while time.monotonic() < end:
        if path is not None:
            came, mark = renew(browser, path, mark)
            size += len(came)
        time.sleep(until_step(RENEWS_S, SHOWN_S))
    return 100 * (sum(process.cpu_times()[:2]) - before) / _WATCHED_S, size


def renew(browser: http.client.HTTPConnection, path: str, mark: str) -> tuple[bytes, str]:
    """Renew an open page as its script does; return what came, and the new mark."""
    headers = {"Accept-Encoding": "gzip", "HX-Request": "true", MARK_HEADER: mark}
    browser.request("GET", path, headers=headers)
    answer = browser.getresponse()
    came = answer.read()
    if answer.status == 204:
        return came, mark
    found = _MARK.search(gzip.decompress(came))
    if answer.status != 200 or found is None:
        raise NOT_THERE(seconds=0, said=f"{answer.status} at {path}")
    return came, found[1].decode()


def _ask(browser: http.client.HTTPConnection, path: str) -> tuple[float, int]:
    """Ask, and return the milliseconds until all of the answer was there, and its bytes."""
    began = time.perf_counter()
    browser.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = browser.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise NOT_THERE(seconds=0, said=f"{answer.status} at {path}")
    return (time.perf_counter() - began) * 1000, size
