"""What a task runs for one source partition: its stream and its cutter, opened at the committed position.

Here also stands what a task tells those who keep its status, metrics and log.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

import orjson

from wrackline.producers import set_aside
from wrackline.producers.batching import Control, Cutter, CutTransaction, Policy, Publication
from wrackline.producers.changes import Fault
from wrackline.producers.plugin import LogStream, Source
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offset_replay import State
from wrackline.schemas.table import SourcePartition, TableId


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition under way."""

    partition: SourcePartition
    stream: LogStream
    cutter: Cutter


@dataclass(frozen=True, slots=True)
class Flight:
    """A Kafka transaction under way; its result is the moment of its commit."""

    publications: Sequence[Publication]
    future: Future[float]

    def bytes_of(self, lane: Lane) -> int:
        """What it holds of one lane."""
        return sum(p.size for p in self.publications if p.partition == lane.partition)


class Lanes(Protocol):
    """Opens what belongs to each source partition."""

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        ...

    def open(self, partition: SourcePartition, state: State) -> Lane:
        """Open its log where its committed position is, or from now on."""
        ...

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table of a topic that Kafka refuses when its log is opened next.

        An error of any other topic is the whole task's, and raised.
        """
        ...


class Health(Enum):
    """How a task is; that it stopped, it says by ending."""

    STARTING = "starting"  # fencing, reading its positions
    RUNNING = "running"
    RECOVERING = "recovering"  # with the error, before the next try


class Witness(Protocol):
    """Is told what happens, on the task's own thread."""

    def health(self, health: Health, error: Exception | None) -> None:
        """The task is in another state."""
        ...

    def resumed(self, state: State) -> None:
        """This is what was committed, with what does not fit in it."""
        ...

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """A table or row is set aside; told before the position moves past it."""
        ...

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Kafka has these, and the databases know."""
        ...


@runtime_checkable
class QueueWitness(Protocol):
    """A witness that also wants to know how much waits."""

    def queue(self, queued: Callable[[], int]) -> None:
        """This is how to ask for the bytes that were read and not yet given to Kafka."""
        ...


@runtime_checkable
class NoticeWitness(Protocol):
    """A witness that also wants to know what does not work beside the stream; on any thread."""

    def notice(self, error: WracklineError) -> None:
        """This does not work, and nothing stops for it."""
        ...


class SourceLanes:
    """Lanes over a source plug-in."""

    def __init__(
        self,
        source: Source,
        tables: Mapping[SourcePartition, Sequence[TableId]],
        connector: str,
        policy: Policy,
        *,
        topic_of: Callable[[TableId], str],
        control_of: Callable[[SourcePartition], Control],
        clock: Callable[[], float],
    ) -> None:
        self._source, self._tables, self._connector, self._policy = source, tables, connector, policy
        self._topic_of, self._control_of, self._clock = topic_of, control_of, clock
        self._opened: dict[SourcePartition, Cutter] = {}
        self._refused: dict[str, WracklineError] = {}

    @property
    def queued(self) -> int:
        """Bytes that were read and not yet given to a Kafka transaction; any thread may ask."""
        return sum(cutter.ahead for cutter in self._opened.copy().values())

    def busy(self, partition: SourcePartition) -> float | None:
        """When a change of this log was last cut; None while it is not open. Any thread may ask."""
        cutter = self._opened.get(partition)
        return None if cutter is None else cutter.busy

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        return tuple(self._tables)

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table of a topic that Kafka refuses when its log is opened next."""
        if not any(topic in cutter.topics for cutter in self._opened.values()):
            raise error
        self._refused[topic] = error

    def open(self, partition: SourcePartition, state: State) -> Lane:
        """Open a log where its committed position is, or from now on, without tables that are set aside."""
        offset = state.resume(self._connector, partition)
        cutter = Cutter(
            partition,
            self._policy,
            self._topic_of,
            self._control_of(partition),
            opened=self._clock(),
            fresh=offset is None,
            cut=None if offset is None or offset.cut is None else CutTransaction.parse(offset.cut),
            refused=self._refused,
        )
        self._opened[partition] = cutter
        saved = None if offset is None else orjson.loads(offset.position)
        aside = set_aside.of(state, self._connector, partition)
        tables = [table for table in self._tables[partition] if table not in aside]
        return Lane(partition, self._source.stream(partition, tables, saved, tuple(aside)), cutter)
