"""The demo's story: a live workload, a schema change, a crash, and the proof that nothing was lost.

In: running parts, and how long the workload lasts.  Out: an `Ending`.  It is a proof because the workload
counts how many events there must be from what the database itself reports of each committed statement, and
because at the end every value of every row is compared.
"""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from wrackline.control.local.demo.demo_screen import DemoNumbers, DemoScreen
from wrackline.control.local.demo.parts.comparison import CopyComparison
from wrackline.control.local.demo.parts.parts import Parts
from wrackline.control.local.demo.shops.workload import Workload
from wrackline.control.local.processes.process import tail
from wrackline.schemas.errors import OperatorNeeded, define

WORKER_ENDED = define(
    "demo.worker_ended",
    OperatorNeeded,
    "the demo's worker ended by itself",
    hint="read its log: less {log}",
)
_LOOK = 0.25  # seconds between two pictures
_CATCH_UP = 120.0  # seconds that everything gets to arrive


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of it."""

    verdict: CopyComparison
    changes: int
    events: int
    doubled: int
    rolled_back: int

    @property
    def good(self) -> bool:
        """Whether the tables are equal and each change was published once."""
        return self.verdict.equal and self.events == self.changes and not self.doubled


class Story:
    """One run of the story; `parts` run, the screen shows."""

    def __init__(self, parts: Parts, screen: DemoScreen, *, seconds: float, seed: int) -> None:
        self._parts, self._screen = parts, screen
        self._seconds, self._seed = seconds, seed
        self._heard: str | None = None

    def tell(self) -> Ending:
        """Play all of it and compare."""
        parts, screen = self._parts, self._screen
        with closing(parts.shop.open()) as self._shop:
            with Workload(parts.shop, self._seed) as workload:
                self._workload = workload
                screen.say(f"the first {workload.events} orders are on their way; Spark starts")
                self._watch("the first orders", self._arrived, _CATCH_UP)
                workload.begin()
                screen.say("the shop is open: inserts, updates, key changes, deletes, rollbacks")
                self._pass("live workload", 0.35)
                self._change_schema()
                self._pass("live workload, with the new column", 0.25)
                self._crash()
                self._pass("live workload, after the crash", 0.40)
            screen.say("the shop is closed; what is still on its way arrives")
            self._watch("catching up", self._arrived, _CATCH_UP)
            if not self._arrived():
                screen.say(f"not everything arrived within {_CATCH_UP:.0f} s", "bold red")
            self._look("comparing every value of every row")
            verdict = self._compared()
            self._look("compared")
        events = parts.events
        return Ending(verdict, workload.events, events.events, events.doubled, workload.rolled_back)

    def _compared(self) -> CopyComparison:
        """Compare; rows that are read beside the log may still be on their way."""
        deadline = time.monotonic() + _CATCH_UP
        while not (verdict := self._parts.lake.compare()).equal:
            if time.monotonic() > deadline:
                break
            self._watch("rows are still on their way", self._arrived, _CATCH_UP)
        return verdict

    def _change_schema(self) -> None:
        self._screen.say(self._parts.shop.alters, "bold magenta")
        self._workload.add_column()
        self._screen.say("no event carries the default, so the worker reads the rows again")

    def _crash(self) -> None:
        worker = self._parts.worker
        killed = worker.pid
        worker.kill()
        self._screen.say(
            f"kill -9: wrackline worker (pid {killed}) is gone, and both halves with it", "bold red"
        )
        self._look("the worker was killed; it starts again")
        worker.start()
        self._screen.say(f"wrackline worker (pid {worker.pid}) continues where both halves left off", "green")

    def _pass(self, now: str, share: float) -> None:
        self._watch(now, lambda: False, self._seconds * share)

    def _watch(self, now: str, done: Callable[[], bool], patience: float) -> None:
        """Show what happens until it is done or the time is over."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and not done():
            self._look(now)
            self._check()
            time.sleep(_LOOK)

    def _arrived(self) -> bool:
        parts = self._parts
        return parts.events.events >= self._workload.events and parts.lake.offsets >= parts.events.upto > 0

    def _look(self, now: str) -> None:
        parts = self._parts
        self._screen.show(
            DemoNumbers(
                now,
                source_rows=self._shop.count(),
                changes=self._workload.events,
                events=parts.events.events,
                doubled=parts.events.doubled,
                lake_rows=parts.lake.rows,
                unmerged=max(0, parts.events.upto - parts.lake.offsets),
                worker=parts.worker.pid,
            )
        )
        if parts.lake.error not in (None, self._heard):
            self._heard = parts.lake.error
            self._screen.say(f"a look at the warehouse failed: {self._heard}", "yellow")

    def _check(self) -> None:
        """Raise what has gone wrong on any side."""
        parts = self._parts
        parts.lake.check()
        parts.events.check()
        self._workload.check()
        if not parts.worker.running:
            ended = WORKER_ENDED(log=parts.worker.log)
            ended.add_note(tail(parts.worker.log))
            raise ended
