"""The outcome of one look at one table: what was read and counted, where its time went, how late it was.

In: laps of a batch's steps, and what was counted on the way.  Out: one value, reported when all of it is
committed, so that nothing is counted that may come again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.plan import Applied


class Step(Enum):
    """A part of a batch's time."""

    ASK = "ask"  # the table, how far it is; Kafka, how far it may be read
    READ = "read"  # records are fetched and outlined; where they are as expected, decoded as well
    SHAPE = "shape"  # the target's table gets its shape
    STAGE = "stage"  # rows are decoded if they are not yet, and put where the merge finds them
    APPLY = "apply"  # rows are merged and committed


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One look at one table; an empty range: there was nothing new."""

    read: BatchRange
    applied: Applied  # of the table, after it
    tally: BatchCounts = field(default_factory=BatchCounts)
    seconds: Mapping[Step, float] = field(default_factory=dict)
    read_ms: int = 0  # when Kafka had been asked
    merged_ms: int = 0  # when rows and offsets were committed
    letters: int = 0  # records that were set aside
    direct: bool = False  # whether the driver merged it by itself


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

    def account(
        self,
        read: BatchRange,
        applied: Applied,
        tally: BatchCounts,
        letters: int = 0,
        *,
        direct: bool = False,
    ) -> BatchReport:
        """Return the report of a batch that is over."""
        moments = self.ended_ms
        read_ms, merged_ms = moments[Step.ASK], max(moments.values())
        return BatchReport(read, applied, tally, dict(self.seconds), read_ms, merged_ms, letters, direct)
