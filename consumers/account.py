"""What became of one look at one table: what was read and counted, where its time went, how late it was.

In: laps of a batch's steps, and what was counted on the way.  Out: one value, told when all of it is
committed, so that nothing counts that may come again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from wrackline.consumers.plan import Applied
from wrackline.consumers.rounds import Range
from wrackline.consumers.tally import Tally


class Step(Enum):
    """A part of a batch's time."""

    ASK = "ask"  # the table, how far it is; Kafka, how far it may be read
    READ = "read"  # records are fetched and outlined; where they are as expected, decoded as well
    SHAPE = "shape"  # the target's table gets its shape
    STAGE = "stage"  # rows are put where the merge finds them, and before it decoded if they are not yet
    APPLY = "apply"  # rows are merged and committed


@dataclass(frozen=True, slots=True)
class Account:
    """One look at one table; an empty range: there was nothing new."""

    read: Range
    applied: Applied  # of the table, after it
    tally: Tally = field(default_factory=Tally)
    seconds: Mapping[Step, float] = field(default_factory=dict)
    read_ms: int = 0  # when Kafka had been asked
    merged_ms: int = 0  # when rows and offsets were committed
    letters: int = 0  # records that were set aside


class Stopwatch:
    """Takes the times of one batch."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._clock, self._now_ms = clock, now_ms
        self._last = clock()
        self.seconds: dict[Step, float] = {}
        self.ended_ms: dict[Step, int] = {}

    def lap(self, step: Step) -> None:
        """End a step; the next begins. A step may come twice."""
        now = self._clock()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self.ended_ms[step] = self._now_ms()
        self._last = now

    def account(self, read: Range, applied: Applied, tally: Tally, letters: int = 0) -> Account:
        """Return what became of a batch that is over."""
        moments = self.ended_ms
        read_ms, merged_ms = moments[Step.ASK], max(moments.values())
        return Account(read, applied, tally, dict(self.seconds), read_ms, merged_ms, letters)
