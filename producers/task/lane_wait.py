"""One wait for the logs of all of a task's partitions, so that fifty quiet ones cost what one costs.

In: the lanes that run.  Out: those that have something, or were not looked at for a while: the server of a
quiet log must be answered too, and a request may have come from elsewhere.  A lane that is busy with existing
rows is looked at after each wait.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from wrackline.producers.kit.readable import readable
from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.schemas.tables.table import SourcePartition

LOOK_S: Final = 1.0  # between two rounds over all lanes


class LaneWait:
    """The wait of one task; only `ring` may be called by any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._bell = clock, Wakeup()
        self._looked: dict[SourcePartition, float] = {}
        self._round_at = -math.inf  # from when on all are looked at

    def ring(self) -> None:
        """End the wait, or the next one."""
        self._bell.set()

    def close(self) -> None:
        """End; a ring has no effect any more."""
        self._bell.close()

    def forget(self, partition: SourcePartition) -> None:
        """Have a lane looked at next time: it was left alone for a while."""
        self._looked.pop(partition, None)

    def pick(self, lanes: Sequence[PartitionRun], patience: float) -> Sequence[PartitionRun]:
        """Wait at most so many seconds; return the lanes to look at."""
        now, bell = self._clock(), self._bell.fileno()
        if now >= self._round_at:
            self._round_at = now + LOOK_S
            self._looked.update((lane.partition, now) for lane in lanes)
            return lanes
        owners, dues = dict[int, SourcePartition](), dict[SourcePartition, float]()
        for lane in lanes:
            dues[lane.partition] = looked = self._looked.get(lane.partition, -math.inf)
            if lane.shared is not None and looked > -math.inf:
                files, seconds = lane.shared.begin_wait()
                dues[lane.partition] = looked + seconds
                owners.update(dict.fromkeys(files, lane.partition))
        rest = max(0.0, min(patience, min([self._round_at, *dues.values()]) - now))
        heard = defaultdict[SourcePartition, set[int]](set)
        for file in readable((bell, *owners), rest):
            if file == bell:
                self._bell.clear()
            else:
                heard[owners[file]].add(file)
        now = self._clock()
        picked: list[PartitionRun] = []
        for lane in lanes:
            if lane.partition in heard and lane.shared is not None:
                lane.shared.end_wait(heard[lane.partition])
            elif dues[lane.partition] > now and lane.existing.quiet:
                continue
            picked.append(lane)
            self._looked[lane.partition] = now
        return picked
