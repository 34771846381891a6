"""One wait for the logs of all of a task's partitions, so that fifty quiet ones cost what one costs.

In: the lanes that run.  Out: those that have something, or whose own time has come: the server of a quiet log
must be answered too.  A lane that is busy with existing rows is looked at after each wait.  Nothing is done
about the others: what they wait for is registered once, and in one round a second they are asked whether a
request has come from elsewhere.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from typing import Final

from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.schemas.tables.table import SourcePartition

LOOK_S: Final = 1.0  # between two rounds over all lanes


@dataclass(slots=True)
class _Rest:
    """A lane that was looked at, and what ends its wait."""

    lane: PartitionRun
    files: Sequence[int]  # that are registered
    due: float
    busy: bool = False  # with existing rows


class LaneWait:
    """The wait of one task; only `ring` may be called by any thread."""

    def __init__(self, clock: Callable[[], float], beside_rows: float) -> None:
        """Take the longest wait in seconds while a lane is busy with existing rows."""
        self._clock, self._beside_rows, self._bell = clock, beside_rows, Wakeup()
        self._selector = DefaultSelector()
        self._selector.register(self._bell.fileno(), EVENT_READ)
        self._looked: dict[SourcePartition, float] = {}  # since then not registered again
        self._rests: dict[SourcePartition, _Rest] = {}
        self._round_at = -math.inf  # from when on all are asked

    def ring(self) -> None:
        """End the wait, or the next one."""
        self._bell.set()

    def close(self) -> None:
        """End; a ring has no effect any more."""
        self._selector.close()
        self._bell.close()

    def forget(self, partition: SourcePartition) -> None:
        """Have a lane looked at next time: it was left alone for a while."""
        self._looked.pop(partition, None)
        self._leave(partition)

    def clear(self) -> None:
        """Forget all lanes: none runs any more, or each is polled without this."""
        for partition in list(self._rests):
            self.forget(partition)
        self._looked.clear()

    def pick(self, lanes: Sequence[PartitionRun], patience: float) -> Sequence[PartitionRun]:
        """Wait at most so many seconds; return the lanes to look at."""
        self._register(lanes)
        now = self._clock()
        if now >= self._round_at:
            self._round_at = now + LOOK_S
            for rest in self._rests.values():
                if rest.lane.existing.hear():
                    rest.due = -math.inf
        rests = self._rests
        busy = {partition for partition, rest in rests.items() if rest.busy}
        due = min((rest.due for rest in rests.values()), default=math.inf)
        due = -math.inf if len(rests) < len(lanes) else due
        patience = min(patience, self._beside_rows) if busy else patience
        reasons = busy | self._heard(max(0.0, min(patience, min(self._round_at, due) - now)))
        now = self._clock()
        reasons |= {partition for partition, rest in rests.items() if rest.due <= now}
        picked = [lane for lane in lanes if lane.partition in reasons or lane.partition not in rests]
        self._looked.update((lane.partition, now) for lane in picked)
        return picked

    def _register(self, lanes: Sequence[PartitionRun]) -> None:
        """Keep what is registered equal to what these lanes wait for."""
        by_partition = {lane.partition: lane for lane in lanes}
        for partition, rest in list(self._rests.items()):
            if by_partition.get(partition) is not rest.lane:  # its descriptors may be another's by now
                self.forget(partition)
        for partition in self._looked.keys() & by_partition:
            looked, lane = self._looked.pop(partition), by_partition[partition]
            if lane.shared is None:
                continue
            files, seconds = lane.shared.begin_wait()
            known = self._rests.get(partition)
            if known is None or known.files != files:
                self._leave(partition)
                for file in files:
                    self._selector.register(file, EVENT_READ, partition)
            due = min(looked + seconds, lane.existing.due())
            self._rests[partition] = _Rest(lane, files, due, not lane.existing.quiet)

    def _leave(self, partition: SourcePartition) -> None:
        if (rest := self._rests.pop(partition, None)) is not None:
            for file in rest.files:
                self._selector.unregister(file)

    def _heard(self, seconds: float) -> set[SourcePartition]:
        """Wait; return whose descriptors can be read."""
        rung = defaultdict[SourcePartition, set[int]](set)
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._bell.clear()
            else:
                rung[key.data].add(key.fd)
        for partition, files in rung.items():
            if (shared := self._rests[partition].lane.shared) is not None:
                shared.end_wait(files)
        return set(rung)
