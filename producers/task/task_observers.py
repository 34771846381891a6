"""What a task reports to the parts that keep its status, its metrics and its log.

In: a class that has some of these methods.  Out: calls, on the task's own thread unless a method says
otherwise.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from wrackline.producers.contract.steps import Fault, Position
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition, TableSchema


class Health(Enum):
    """The state of a task; it shows that it stopped or failed by ending."""

    STARTING = "starting"  # fencing, reading its positions; of one database: it takes long to be opened
    RUNNING = "running"
    RECOVERING = "recovering"  # with the error, before the next try
    COMPLETED = "completed"  # all rows are read, and nothing else was to be done: it ends
    FAILED = "failed"  # of one database among several: it needs an operator


class TaskObserver(Protocol):
    """Takes reports of what happens, on the task's own thread."""

    def health(self, health: Health, error: Exception | None) -> None:
        """The task is in another state."""
        ...

    def resumed(self, state: OffsetsState) -> None:
        """Take what was committed, with what does not fit in it."""
        ...

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """A table or row is set aside; reported before the position moves past it."""
        ...

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Kafka has these, and they are confirmed to the databases."""
        ...


@runtime_checkable
class DatabaseObserver(Protocol):
    """An observer that also wants to know how each of several databases is."""

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        """One of them runs, is tried again after an error, has failed, or has not answered yet."""
        ...


@runtime_checkable
class QueueObserver(Protocol):
    """An observer that also wants to know how much waits."""

    def queue(self, queued: Callable[[], int]) -> None:
        """Take a function that returns the bytes that were read and not yet given to Kafka."""
        ...


@runtime_checkable
class ReadsObserver(Protocol):
    """An observer that also wants to know which chunks of existing rows are under way."""

    def reads(self, look: Callable[[], Sequence[ReadUnderWay]]) -> None:
        """Take a function that returns them; any thread may call it."""
        ...


@runtime_checkable
class PlaceObserver(Protocol):
    """An observer that also wants to know how far a log is in Kafka while nothing is published."""

    def reached(self, partition: SourcePartition, position: Position) -> None:
        """All up to this place is in Kafka, because nothing of it was to be published."""
        ...


@runtime_checkable
class NoticeObserver(Protocol):
    """An observer that also wants to know what does not work beside the stream; on any thread."""

    def notice(self, error: WracklineError) -> None:
        """Take an error that stops nothing."""
        ...


@runtime_checkable
class ShapeObserver(Protocol):
    """An observer that also wants to know how tables are written; on any thread."""

    def shaped(self, table: TableSchema, topic: str) -> None:
        """The schemas of this shape are registered; a shape may be reported again."""
        ...
