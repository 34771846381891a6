"""What a task runs for one source partition: its stream and its cutter, opened at the committed position."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from wrackline.producers.contract.optional_parts import SharedWait
from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import Fault, Position
from wrackline.producers.cutting.cutter import Cutter, Publication
from wrackline.producers.reading.interleave import Interleaver
from wrackline.producers.task.task_observers import TaskObserver
from wrackline.schemas.tables.table import SourcePartition


@dataclass(frozen=True, slots=True)
class PartitionRun:
    """One source partition under way."""

    partition: SourcePartition
    stream: LogStream
    cutter: Cutter
    existing: Interleaver
    refused: Sequence[Fault] = ()  # tables that can't be published from the start on
    ends: bool = False  # once rows are read
    shared: SharedWait | None = None  # the stream, if it can be waited for beside others

    def ahead(self, flight: "RunningCommit | None") -> int:
        """Return the bytes that were read and that Kafka does not have."""
        return self.cutter.ahead + (0 if flight is None else flight.bytes_of(self))

    def confirm(self, position: Position | None) -> None:
        """Confirm to the database what Kafka has; None where there is nothing new to confirm."""
        if position is not None:
            self.stream.confirm(position)

    def tell(self, witness: "TaskObserver", faults: Sequence[Fault]) -> None:
        """Report tables and rows that are set aside."""
        for fault in faults:
            witness.fault(self.partition, fault)

    @property
    def over(self) -> bool:
        """Whether it has done all its work; asked while no transaction is under way."""
        return self.ends and self.existing.over

    def close(self) -> None:
        """Close the readers, and give the log back."""
        try:
            self.existing.close()
        finally:
            self.stream.close()


@dataclass(frozen=True, slots=True)
class RunningCommit:
    """A Kafka transaction under way; its result is the moment of its commit."""

    publications: Sequence[Publication]
    future: Future[float]
    began: float

    def bytes_of(self, lane: PartitionRun) -> int:
        """Return the bytes that it holds of one lane."""
        return sum(p.size for p in self.publications if p.partition == lane.partition)

    def moves(self, partition: SourcePartition) -> bool:
        """Whether it moves a partition's position."""
        return any(p.partition == partition for p in self.publications)

    def confirmable_of(self, lane: PartitionRun) -> Position | None:
        """Return what one lane's database may drop once it is committed; None: nothing new."""
        return next((p.confirmable for p in self.publications if p.partition == lane.partition), None)
