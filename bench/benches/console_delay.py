"""How long it takes until a page of the console shows what has changed in a half, over a real Kafka.

A half writes its board as a running one does.  A worker follows it and serves the console; a page renews
itself when the worker says so, as its script does.  Each change comes at a random moment between two
reports of figures.
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
from wrackline.control.runtime.ground.times import FIGURES_S, SHOWN_S, now_ms, until_step
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import Document, Half, HalfState

UNITS = {"median_s": "s", "p95_s": "s", "max_s": "s"}
FULL = Size(50, 1)  # changes
QUICK = Size(5, 1)
_PATIENCE_S = 30.0
_TABLE = "shop.public.orders"
_MANY = 1_000_000  # events, so that a page shows each number in full

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
            Contender("the figures of a table", watch, (bootstrap, "figures", rows)),
        ]


class _MadeHalf:
    """A half that is looked at as a real one is."""

    def __init__(self) -> None:
        self._standing, self._table = HalfStanding(), _table()
        self._standing.becomes(HalfState.RUNNING)
        self._has_changed, self._count = False, 0

    def look(self, scope: LookScope) -> HalfLook:
        """Return the half, and its table where that has changed."""
        has_changed, self._has_changed = self._has_changed or scope is LookScope.ALL, False
        if scope is not LookScope.STATES and self._count != self._table["events"]["u"]:
            self._table, has_changed = _table(count=self._count), True
        half = {**self._standing.document(), "databases": {}}
        return HalfLook(half, {_TABLE: self._table} if has_changed else {})

    def changes(self, of: str, number: int) -> str:
        """Have another error, or another figure, from now on; return what a page says then."""
        error = CHANGED(number=number)
        if of == "figures":
            self._count = _MANY + number
            return f"{self._count:,}"
        if of == "half":
            self._standing.becomes(HalfState.RECOVERING, error)
        else:
            self._table, self._has_changed = _table(error), True
        return error.sentence


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
        opened.enter_context(written_board(one.good(), Half.TARGET, half.look, _raise))
        page = _Page(port, f"/console/p/{name}")
        page.renew_until(_TABLE, 0)
        for number in range(1, changes + 1):
            page.renew()
            time.sleep(random.uniform(0, FIGURES_S))
            began = time.monotonic()
            page.renew_until(half.changes(of, number), number)
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
        self._path, self._mark = path, ""

    def renew(self) -> str:
        """Wait until the next renewal is due, and return what it brings."""
        time.sleep(until_step(RENEWS_S, SHOWN_S))
        came, self._mark = renew(self._browser, self._path, self._mark)
        return gzip.decompress(came).decode() if came else ""

    def renew_until(self, text: str, number: int) -> None:
        """Renew it until this comes."""
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.renew():
            if time.monotonic() > deadline:
                raise NOT_SHOWN(number=number, seconds=_PATIENCE_S)


def _table(error: WracklineError | None = None, count: int = 0) -> Document:
    """Return what the target's half reports of a table."""
    reason = None if error is None else error.document()
    return {
        "standing": "going" if error is None else "set_aside", "error": reason, "offsets": {"0": count},
        "behind": 0, "events": {"u": count}, "at_ms": now_ms(),
    }  # fmt: skip


def _raise(error: WracklineError) -> None:
    raise error
