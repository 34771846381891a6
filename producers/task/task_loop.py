"""A task: its source partitions' logs in, Kafka transactions out, then confirmations to the databases.

    start publisher -> open streams where Kafka says -> [ poll -> cut -> publish -> confirm ] ...
          ^                                                            |
          '------------- a Transient error, a wait that grows ---------'

One transaction is published at a time, in a thread of its own.  Meanwhile this loop continues to read as long
as there is room, and keeps the streams alive when there is none.  INV-1: a position is confirmed to a
database only after the publisher has returned, and not after a pause in which a successor may have begun.

It reports that it runs once Kafka has a position of every log: from then on nothing that is committed can be
missed, whatever becomes of this process.  Before, a successor would begin the log later than this process.
Of several databases, one that can't be opened, or waits for its server, holds up no report: its own state
says so.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from threading import Event

from wrackline.producers.contract.steps import Position
from wrackline.producers.failpoints import reach
from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.reading.interleave import ReopenError
from wrackline.producers.task import background, memory_tuning
from wrackline.producers.task.lane_wait import LaneWait
from wrackline.producers.task.lanes import Lanes, NoDatabaseLeftError
from wrackline.producers.task.partition_opener import PartitionOpener
from wrackline.producers.task.partition_run import PartitionRun, RunningCommit
from wrackline.producers.task.retries import Retries
from wrackline.producers.task.task_limits import PAUSED, TaskLimits
from wrackline.producers.task.task_observers import Health, PlaceObserver, TaskObserver
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.tables.table import SourcePartition


class Task:
    """Runs until it is asked to stop, or an error needs an operator."""

    def __init__(
        self,
        lanes: PartitionOpener,
        publisher: Publisher,
        witness: TaskObserver,
        limits: TaskLimits,
        *,
        clock: Callable[[], float],
        chance: Callable[[], float],
        stopping: Event,
    ) -> None:
        self._opener, self._publisher, self._witness, self._limits = lanes, publisher, witness, limits
        self._wait = LaneWait(clock, limits.slice_beside_others)
        self._lanes = Lanes(lanes, publisher.committed, witness, limits, clock, chance, self._wait.ring)
        self._places = witness if isinstance(witness, PlaceObserver) else None
        self._clock, self._chance, self._stopping = clock, chance, stopping
        self._ended = partial(background.wait_for_call, stopping=stopping, patience=limits.patience)
        self._last_places = dict[SourcePartition, Position]()  # the places that were reported
        self._progressed = False

    def run(self) -> None:
        """Publish until asked to stop, or all is done; raise errors that need an operator, or too many."""
        retries, recovers = Retries(), False
        try:
            while not self._stopping.is_set():
                if not recovers:  # after a failure it does until it runs: its cause may still be there
                    self._witness.health(Health.STARTING, None)
                recovers = False
                try:
                    if self._session():
                        self._witness.health(Health.COMPLETED, None)
                        break
                except TopicRefusedError as refused:
                    self._opener.refuse(refused.topic, refused.error)
                except ReopenError:
                    continue
                except NoDatabaseLeftError as given_up:
                    raise given_up.error from None
                except Transient as error:
                    before = Retries() if self._progressed else retries
                    self._progressed, recovers = False, True
                    retries = before.failed(error, self._clock(), self._limits)
                    self._witness.health(Health.RECOVERING, error)
                    self._stopping.wait(self._limits.wait_before(retries.tries, self._chance()))
        finally:
            self._ended(background.start_call(self._publisher.close, "close"))
            self._lanes.wait_closed(self._limits.patience)
            self._wait.close()

    def _session(self) -> bool:
        """Run from one start of the publisher to the next error, or a stop; return whether all is done."""
        memory_tuning.free_garbage()
        started = background.start_call(self._publisher.start, "start")
        if not self._ended(started):
            return False
        state = started.result()
        self._witness.resumed(state)
        if self._opener.over(state):
            return True
        try:
            self._lanes.begin(state)
            return self._loop(self._lanes)
        finally:
            self._wait.clear()
            self._last_places.clear()
            self._lanes.close()

    def _loop(self, lanes: Lanes) -> bool:
        flight: RunningCommit | None = None
        idle = runs = False
        try:
            while not self._stopping.is_set():
                if flight is not None and flight.future.done():
                    self._confirm(flight, lanes)
                    flight = None
                lanes.turn(flight)
                if flight is None:
                    if not runs and lanes.tried and not any(lane.cutter.fresh for lane in lanes.running):
                        runs = True
                        self._witness.health(Health.RUNNING, None)
                    if lanes.over:
                        return _done(lanes)
                    flight = self._publish(lanes.running)
                    if flight is None:
                        self._publisher.hear()
                        self._tell_places(lanes.running)
                idle = not self._poll(lanes, flight, self._slice(lanes, flight) if idle else 0.0)
            if flight is not None and self._ended(flight.future):
                self._confirm(flight, lanes)
                flight = None
            return False
        finally:
            if flight is not None:
                self._ended(flight.future)  # the producer has one user at a time

    def _slice(self, lanes: Lanes, flight: RunningCommit | None) -> float:
        """Return how long the loop may wait, so that nothing that is due waits longer.

        The end of the running commit wakes it.
        """
        running, limits = lanes.running, self._limits
        dues = [lanes.due]
        if flight is None:
            dues += [lane.cutter.due() for lane in running]
        if _wait_together(running):  # it knows what their existing rows wait for
            patience = limits.slice_together
        else:
            dues += [lane.existing.due() for lane in running]
            patience = limits.slice_beside_others if len(running) > 1 else limits.slice
        return max(0.0, min(patience, min(dues) - self._clock()))

    def _poll(self, lanes: Lanes, flight: RunningCommit | None, patience: float) -> bool:
        """Read what there is room for; return whether anything came."""
        came, running = False, list(lanes.running)
        full, free = self._by_room(running, flight)
        if _wait_together(running):
            for lane in full:
                self._wait.forget(lane.partition)
            looked, each = (self._wait.pick(free, patience) if free else free), 0.0
        else:  # one after another, each for its share of the time
            self._wait.clear()
            looked, each = free, patience / max(1, len(running))
        for lane in (*full, *looked):
            try:
                came |= self._advance(lane, each, no_room=lane in full)
            except (WracklineError, ReopenError) as error:
                lanes.suffers(lane, error)
        if not free and flight is not None:
            wait([flight.future], self._limits.slice)
        elif not running:
            self._wait.pick((), patience)  # until one is open
        return came

    def _by_room(
        self, running: Sequence[PartitionRun], flight: RunningCommit | None
    ) -> tuple[Sequence[PartitionRun], Sequence[PartitionRun]]:
        """Return the lanes of which enough was read ahead, and those that may be read further."""
        most, ahead = self._limits.most_ahead_bytes, [lane.ahead(flight) for lane in running]
        if 2 * sum(ahead) <= most:  # one busy log may have more than its share
            return (), running
        full = [size > most // len(running) for size in ahead]
        return (
            [lane for lane, is_full in zip(running, full, strict=True) if is_full],
            [lane for lane, is_full in zip(running, full, strict=True) if not is_full],
        )

    def _advance(self, lane: PartitionRun, patience: float, *, no_room: bool) -> bool:
        """Read what one log has; return whether anything came."""
        batch = None
        if no_room:
            lane.stream.keep_alive()
        else:
            batch = lane.stream.poll(self._clock() + patience)
        if batch is not None:
            lane.tell(self._witness, lane.existing.feed(batch))
        lane.tell(self._witness, lane.existing.advance(hears=not no_room))
        return batch is not None

    def _publish(self, lanes: Sequence[PartitionRun]) -> RunningCommit | None:
        """Put what is due in all partitions into one transaction.

        Positions of quiet logs join it: else each of fifty would have a transaction of its own.
        """
        now = self._clock()
        taken = [made for lane in lanes if (made := lane.cutter.take(now)) is not None]
        if not taken:
            return None
        moved = {one.partition for one in taken}
        others = [lane.cutter for lane in lanes if lane.partition not in moved]
        taken += [made for cutter in others if (made := cutter.join(now)) is not None]
        flight = RunningCommit(
            taken, background.start_call(partial(self._publisher.publish, taken), "publish"), now
        )
        if _wait_together(lanes):
            flight.future.add_done_callback(lambda _: self._wait.ring())
            return flight
        for lane in lanes:
            flight.future.add_done_callback(partial(_wake, lane))
        return flight

    def _tell_places(self, lanes: Sequence[PartitionRun]) -> None:
        """Report how far each log is while no transaction is under way, and nothing waits for one."""
        if self._places is not None:
            for lane in lanes:
                place = lane.cutter.settled
                if place is not None and self._last_places.get(lane.partition) is not place:
                    self._last_places[lane.partition] = place
                    self._places.reached(lane.partition, place)

    def _confirm(self, flight: RunningCommit, lanes: Lanes) -> None:
        ended = flight.future.result()
        pause = self._clock() - ended
        if pause > self._limits.longest_pause:
            raise PAUSED(seconds=pause)
        reach("before_confirm")
        for lane in list(lanes.running):
            try:
                lane.confirm(flight.confirmable_of(lane))  # INV-1
            except WracklineError as error:
                lanes.suffers(lane, error)
        self._progressed = True
        self._witness.published(flight.publications, self._publisher.commit_seconds)
        for publication in flight.publications:
            lanes.progressed(publication.partition)
        for lane in list(lanes.running):
            lane.existing.took(flight.bytes_of(lane), ended - flight.began)
            try:
                lane.existing.saved()
            except ReopenError as wish:
                lanes.suffers(lane, wish)


def _wait_together(lanes: Sequence[PartitionRun]) -> bool:
    """Whether there are several, and one wait for all of them is possible."""
    return len(lanes) > 1 and all(lane.shared is not None for lane in lanes)


def _wake(lane: PartitionRun, ended: Future[float]) -> None:
    del ended
    lane.stream.wake()


def _done(lanes: Lanes) -> bool:
    """Return that all is done; raise if there are rows that could not be read."""
    for lane in lanes.running:
        if (unread := lane.existing.unread) is not None:
            raise unread
    if (failed := lanes.failed()) is not None:
        raise failed
    return True
