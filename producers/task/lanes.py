"""The source partitions of a session: what one of them suffers costs its neighbours nothing.

    waits --its moment comes--> is opened, in a thread --> runs --an error of its own--> waits again
                                                             '---- a definite error --> has failed

In: what opens a partition, and its errors.  Out: the partitions that run.  A task of one partition has no
neighbour, so each error is the task's, and ends the session.  So does the error that leaves none.

An error that needs an operator is a failure too, but the partition is tried again: once the operator has
repaired it, nobody has to start its neighbours again.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Final

from wrackline.producers.reading.interleave import ReopenError
from wrackline.producers.task import background
from wrackline.producers.task.partition_opener import PartitionOpener
from wrackline.producers.task.partition_run import PartitionRun, RunningCommit
from wrackline.producers.task.retries import Retries
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.producers.task.task_observers import DatabaseObserver, Health, TaskObserver
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition

_AT_ONCE: Final = 8  # partitions that are opened at the same time

Own = WracklineError | ReopenError


@dataclass(slots=True)
class _Apart:
    """A partition that does not run."""

    at: float  # the moment from which it may be opened
    state: OffsetsState | None = None  # where it is; None: as Kafka has it by then
    opening: Future[PartitionRun] | None = None
    closing: Future[None] | None = None  # of what ran before: a server that does not answer holds it up


@dataclass(slots=True)
class Lanes:
    """The partitions of one session; only the task's thread calls it."""

    opener: PartitionOpener
    committed: Callable[[SourcePartition], OffsetsState]  # read from Kafka, in an opening's thread
    witness: TaskObserver
    limits: TaskLimits
    clock: Callable[[], float]
    chance: Callable[[], float]
    running: list[PartitionRun] = field(default_factory=list)
    _apart: dict[SourcePartition, _Apart] = field(default_factory=dict)
    _failed: dict[SourcePartition, WracklineError] = field(default_factory=dict)
    _retries: dict[SourcePartition, Retries] = field(default_factory=dict)

    def begin(self, state: OffsetsState) -> None:
        """Open the only partition, or begin to open all of them, where Kafka says."""
        partitions = self.opener.partitions()
        if len(partitions) > 1:
            self._apart.update((partition, _Apart(self.clock(), state)) for partition in partitions)
            return
        for partition in partitions:
            try:
                self._runs(self.opener.open(partition, state))
            except WracklineError as error:
                self._suffers(partition, error)

    def turn(self, flight: RunningCommit | None) -> None:
        """Take what has been opened, and open what is due; not what the running commit may still move."""
        for partition, one in list(self._apart.items()):
            if one.opening is not None and one.opening.done():
                self._take(partition, one.opening)
        under_way = sum(one.opening is not None for one in self._apart.values())
        now = self.clock()
        for partition, one in self._apart.items():
            if one.opening is not None or one.at > now or under_way == _AT_ONCE:
                continue
            closed = one.closing is None or one.closing.done()
            if closed and (flight is None or not flight.moves(partition)):
                one.opening = background.start_call(partial(self._open, partition, one.state), "open")
                under_way += 1

    @property
    def tried(self) -> bool:
        """Whether each partition runs, or was tried at least once."""
        return self._apart.keys() <= self._retries.keys() | self._failed.keys()

    @property
    def due(self) -> float:
        """The next moment from which another partition may be opened; what waits for others has none."""
        now = self.clock()
        return min((one.at for one in self._apart.values() if one.at > now), default=inf)

    @property
    def over(self) -> bool:
        """Whether all partitions that have not failed have done their work."""
        return self._apart.keys() <= self._failed.keys() and all(lane.over for lane in self.running)

    def failed(self) -> WracklineError | None:
        """Return the error of a partition that needs an operator."""
        return next(iter(self._failed.values()), None)

    def suffers(self, lane: PartitionRun, error: Own) -> None:
        """Close a partition after an error of its own, and open it later; raise where it has no neighbour."""
        self.running.remove(lane)
        self.opener.closed(lane.partition)
        closing = background.start_call(lane.close, "close")
        if len(self.opener.partitions()) == 1:
            closing.exception()  # a task that begins again finds its log free
        self._suffers(lane.partition, error)
        if lane.partition in self._apart:
            self._apart[lane.partition].closing = closing

    def progressed(self, partition: SourcePartition) -> None:
        """Note that Kafka has something of a partition: its next failure is a first one."""
        self._retries.pop(partition, None)

    def close(self) -> None:
        """Close what runs, and what is being opened once it is open."""
        for lane in self.running:
            lane.close()
        for one in self._apart.values():
            if one.opening is not None:
                one.opening.add_done_callback(_close_late)

    def _take(self, partition: SourcePartition, opening: Future[PartitionRun]) -> None:
        del self._apart[partition]
        try:
            lane = opening.result()
        except (WracklineError, ReopenError) as error:
            self._suffers(partition, error)
        else:
            try:
                self._runs(lane)
            except WracklineError as error:
                self.suffers(lane, error)

    def _runs(self, lane: PartitionRun) -> None:
        self.running.append(lane)
        self._failed.pop(lane.partition, None)
        lane.tell(self.witness, lane.refused)
        lane.stream.ask()  # the log of a quiet database may not move for minutes
        self._tell(lane.partition, Health.RUNNING, None)

    def _suffers(self, partition: SourcePartition, error: Own) -> None:
        if isinstance(error, Definite) and self.opener.begins_anew(partition, error):
            error = ReopenError()
        if len(self.opener.partitions()) == 1:
            raise error
        if isinstance(error, ReopenError):
            self._apart[partition] = _Apart(self.clock())
            return
        repairable = isinstance(error, OperatorNeeded)
        if isinstance(error, Transient):
            before = self._retries.get(partition, Retries())
            try:
                after = self._retries[partition] = before.failed(error, self.clock(), self.limits)
            except WracklineError as given_up:
                error, repairable = given_up, False
            else:
                self._failed.pop(partition, None)  # if it fails once more, that is told once more
                wait_s = self.limits.wait_before(after.tries, self.chance())
                self._apart[partition] = _Apart(self.clock() + wait_s)
                self._tell(partition, Health.RECOVERING, error)
                return
        known, self._failed[partition] = self._failed.get(partition), error
        if known is None or known.code != error.code:
            self._tell(partition, Health.FAILED, error)
        if len(self._failed) == len(self.opener.partitions()):
            raise error
        if repairable:
            self._apart[partition] = _Apart(self.clock() + self.limits.longest_wait)

    def _tell(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        if isinstance(self.witness, DatabaseObserver) and len(self.opener.partitions()) > 1:
            self.witness.database(partition, health, error)

    def _open(self, partition: SourcePartition, state: OffsetsState | None) -> PartitionRun:
        return self.opener.open(partition, self.committed(partition) if state is None else state)


def _close_late(opening: Future[PartitionRun]) -> None:
    if opening.exception() is None:
        opening.result().close()
