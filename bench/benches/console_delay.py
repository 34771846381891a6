"""How long it takes until a page of the console shows that a half's state has changed, over a real Kafka.

A half writes its board as a running one does.  A worker follows it and serves the console; a page renews
itself every second, as its script does.  Each change comes at a random moment between two renewals.
"""

import gzip
import http.client
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median, quantiles

from bench import stage
from bench.benches.console import RENEWS_S, renew
from bench.ours.boards import pipeline, served
from bench.runner import Contender, Size
from bench.score import Outcome
from wrackline.control.local.processes.ports import choose
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_writer import written_board
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import Document, Half, HalfState

UNITS = {"median_s": "s", "p95_s": "s", "max_s": "s"}
FULL = Size(50, 1)  # changes
QUICK = Size(5, 1)
_PATIENCE_S = 30.0
_TABLE = "shop.public.orders"

CHANGED = define(
    "bench.console_changed",
    Transient,
    "this is change {number} of the bench",
    hint="nobody has to act",
)
NOT_SHOWN = define(
    "bench.console_not_shown",
    Transient,
    "change {number} was not shown within {seconds:.0f} s",
    hint="run the bench again with --quick",
)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start Kafka, and hand out what changes in two ways."""
    with stage.servers() as stack:
        bootstrap = stack.kafka().bootstrap
        yield [
            Contender("the state of a half", watch, (bootstrap, "half", rows), ours=True),
            Contender("the state of a table", watch, (bootstrap, "table", rows)),
        ]


class _MadeHalf:
    """A half that is looked at as a real one is."""

    def __init__(self) -> None:
        self._standing, self._table = HalfStanding(), _table(None)
        self._standing.becomes(HalfState.RUNNING)
        self._has_changed = False

    def look(self, scope: LookScope) -> HalfLook:
        """Return the half, and its table where that has changed."""
        has_changed, self._has_changed = self._has_changed or scope is LookScope.ALL, False
        half = {**self._standing.document(), "databases": {}}
        return HalfLook(half, {_TABLE: self._table} if has_changed else {})

    def changes(self, of: str, number: int) -> None:
        """Have another error from now on."""
        error = CHANGED(number=number)
        if of == "half":
            self._standing.becomes(HalfState.RECOVERING, error)
        else:
            self._table, self._has_changed = _table(error), True


def watch(bootstrap: str, of: str, changes: int) -> Outcome:
    """Change a half so many times, and return how long it took until each was shown."""
    name, half = f"delay-{of}", _MadeHalf()
    one = pipeline(name, bootstrap)
    took = []
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        port = choose(Path(folder) / "ports", "rest")["rest"]
        boards = opened.enter_context(closing(BoardFollower()))
        opened.enter_context(served({name: one}, boards, port))
        opened.enter_context(written_board(one.good(), Half.SOURCE, half.look, _raise))
        page = _Page(port, f"/console/p/{name}")
        page.renew_until(_TABLE, 0)
        for number in range(1, changes + 1):
            page.renew()
            time.sleep(random.uniform(0, RENEWS_S))
            began = time.monotonic()
            half.changes(of, number)
            page.renew_until(CHANGED(number=number).sentence, number)
            took.append(time.monotonic() - began)
    return Outcome(
        {
            "median_s": median(took),
            "p95_s": quantiles(took, n=20, method="inclusive")[-1],
            "max_s": max(took),
        }
    )


class _Page:
    """An open page."""

    def __init__(self, port: int, path: str) -> None:
        self._browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._path, self._mark, self._next = path, "", time.monotonic()

    def renew(self) -> str:
        """Wait until the next renewal is due, and return what it brings."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = max(self._next + RENEWS_S, time.monotonic())
        came, self._mark = renew(self._browser, self._path, self._mark)
        return gzip.decompress(came).decode() if came else ""

    def renew_until(self, text: str, number: int) -> None:
        """Renew it until this comes."""
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.renew():
            if time.monotonic() > deadline:
                raise NOT_SHOWN(number=number, seconds=_PATIENCE_S)


def _table(error: WracklineError | None) -> Document:
    reason = None if error is None else error.document()
    return {"table": _TABLE, "state": "streaming" if error is None else "failed", "reason": reason}


def _raise(error: WracklineError) -> None:
    raise error
