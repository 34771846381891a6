"""The source partitions of a task: what one of them suffers costs its neighbours nothing.

    waits --its moment comes--> is opened, in a thread --> runs --an error of its own--> waits again
                                                             '---- a definite error --> has failed

In: what opens a partition, and its errors.  Out: the partitions that run.  A task of one partition has no
neighbour, so each error is the task's, and ends the session.  So does the error that leaves none.

What a session that ends leaves to be opened or closed is closed in its own thread.  No session takes it, and
the next one opens the partition only after that: a log has one reader, and the opener one caller for it.

An error that needs an operator is a failure too, but the partition is tried again: once the operator has
repaired it, nobody has to start its neighbours again.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
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


class NoDatabaseLeftError(Exception):
    """No partition is left, and the last error would be tried again, if it were not one too many."""

    def __init__(self, error: WracklineError) -> None:
        super().__init__()
        self.error = error


@dataclass(slots=True)
class _Apart:
    """A partition that does not run."""

    at: float  # the moment from which it may be opened
    state: OffsetsState | None = None  # where it is; None: as Kafka has it by then
    opening: Future[PartitionRun] | None = None
    began: float | None = None  # the opening


@dataclass(slots=True)
class Lanes:
    """The partitions of a task, from one session to the next; only the task's thread calls it."""

    opener: PartitionOpener
    committed: Callable[[SourcePartition], OffsetsState]  # read from Kafka, in an opening's thread
    witness: TaskObserver
    limits: TaskLimits
    clock: Callable[[], float]
    chance: Callable[[], float]
    ring: Callable[[], None] = lambda: None  # ends the wait of the task's thread; any thread calls it
    running: list[PartitionRun] = field(default_factory=list)
    _apart: dict[SourcePartition, _Apart] = field(default_factory=dict)
    _failed: dict[SourcePartition, WracklineError] = field(default_factory=dict)
    _retries: dict[SourcePartition, Retries] = field(default_factory=dict)
    _tried: set[SourcePartition] = field(default_factory=set)  # in this session
    _closing: dict[SourcePartition, Future[None]] = field(default_factory=dict)  # what ran, or was to run

    def begin(self, state: OffsetsState) -> None:
        """Begin a session: open the only partition, or begin to open all of them, where Kafka says."""
        self._failed.clear()
        self._tried.clear()
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
        now = self.clock()
        under_way = sum(
            one.opening is not None and not self._is_slow(partition, one, now)
            for partition, one in self._apart.items()
        )
        for partition, one in self._apart.items():
            if one.opening is not None or one.at > now or under_way == _AT_ONCE:
                continue
            if not self._is_closing(partition) and (flight is None or not flight.moves(partition)):
                one.opening = background.start_call(partial(self._open, partition, one.state), "open")
                one.opening.add_done_callback(lambda _: self.ring())
                one.began = now
                under_way += 1
        for partition, one in self._apart.items():
            if partition not in self._tried and self._is_slow(partition, one, now):
                self._tried.add(partition)
                self._tell(partition, Health.STARTING, None)

    @property
    def tried(self) -> bool:
        """Whether each partition runs, was tried at least once, or waits for its server."""
        return self._apart.keys() <= self._tried

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
        closing = self._close(lane)
        if len(self.opener.partitions()) == 1:
            closing.exception()  # a task that begins again finds its log free
        self._suffers(lane.partition, error)

    def progressed(self, partition: SourcePartition) -> None:
        """Note that Kafka has something of a partition: its next failure is a first one."""
        self._retries.pop(partition, None)

    def close(self) -> None:
        """End the session: close what runs, and what is being opened once it is open."""
        while self.running:
            closing = self._close(self.running.pop())
            if len(self.opener.partitions()) == 1:
                closing.result()
        for partition, one in self._apart.items():
            if one.opening is not None:
                closed = self._closing[partition] = Future[None]()
                one.opening.add_done_callback(partial(self._close_late, partition, closed))
        self._apart.clear()

    def wait_closed(self, patience: float) -> None:
        """Wait at most so many seconds until all is closed that an earlier session has left."""
        wait(self._closing.values(), patience)

    def _close(self, lane: PartitionRun) -> Future[None]:
        """Close it in a thread, because a server that does not answer would hold up its neighbours."""
        self.opener.closed(lane.partition)
        self._closing[lane.partition] = closing = background.start_call(lane.close, "close")
        return closing

    def _close_late(
        self, partition: SourcePartition, closed: Future[None], opening: Future[PartitionRun]
    ) -> None:
        """Close what nobody waits for any more; in the opening's thread."""
        try:
            if opening.exception() is None:
                opening.result().close()
        finally:
            self.opener.closed(partition)
            closed.set_result(None)

    def _is_closing(self, partition: SourcePartition) -> bool:
        closing = self._closing.get(partition)
        return closing is not None and not closing.done()

    def _is_slow(self, partition: SourcePartition, one: _Apart, now: float) -> bool:
        """Whether a partition waits for its server to open or close it."""
        if one.began is not None:
            return now - one.began > self.limits.soon
        return self._is_closing(partition) and now - one.at > self.limits.soon

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
        self._tried.add(lane.partition)
        self._failed.pop(lane.partition, None)
        lane.tell(self.witness, lane.refused)
        lane.stream.ask()  # the log of a quiet database may not move for minutes
        self._tell(lane.partition, Health.RUNNING, None)

    def _suffers(self, partition: SourcePartition, error: Own) -> None:
        if isinstance(error, Definite) and self.opener.begins_anew(partition, error):
            self._tell(partition, Health.RECOVERING, error)
            error = ReopenError()
        if len(self.opener.partitions()) == 1:
            raise error
        if isinstance(error, ReopenError):
            self._apart[partition] = _Apart(self.clock())
            return
        self._tried.add(partition)
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
            raise NoDatabaseLeftError(error) if isinstance(error, Transient) else error
        if repairable:
            self._apart[partition] = _Apart(self.clock() + self.limits.longest_wait)

    def _tell(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        if isinstance(self.witness, DatabaseObserver) and len(self.opener.partitions()) > 1:
            self.witness.database(partition, health, error)

    def _open(self, partition: SourcePartition, state: OffsetsState | None) -> PartitionRun:
        return self.opener.open(partition, self.committed(partition) if state is None else state)
