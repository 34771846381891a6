"""Records that go into one Kafka transaction together, with their counts.

row changes | rows that were read | records of our own   ->   records, bytes, checksum, events by topic
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from zlib import crc32

from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import Misfit, RowChange
from wrackline.producers.rows.row_records import Headed, Record, put_records, put_rows
from wrackline.schemas.tables.table import TableId

__all__ = ["Headed", "Record", "RecordBuffer", "Unfitting"]

Unfitting: TypeAlias = tuple[TableId, str, bool]  # table, column, whether the row became a dead letter


@dataclass(slots=True)
class RecordBuffer:
    """A growing list of records."""

    records: list[Record | Headed] = field(default_factory=list)
    size: int = 0
    checksum: int = 0  # the sum of the values' CRC32
    events: dict[tuple[str, str], int] = field(default_factory=dict)  # by topic and operation
    transactions: int = 0
    unfit: Counter[Unfitting] = field(default_factory=Counter)  # values that did not fit

    def count(self, topic: str, op: str, times: int) -> None:
        """Count events of a topic."""
        self.events[topic, op] = self.events.get((topic, op), 0) + times

    def count_unfit(self, table: TableId, misfit: Misfit) -> None:
        """Count the values of a row that do not fit."""
        self.unfit.update((table, column.name, misfit.letter) for column in misfit.columns)

    def put(self, record: Record) -> None:
        """Append a record of our own."""
        _, key, value = record
        self.records.append(record)
        self.size += len(key or b"") + len(value or b"")
        self.checksum += crc32(value or b"")

    def put_changes(
        self,
        rows: Iterable[RowChange],
        topics: Mapping[int, str],
        *,
        tombstones: bool,
        skipped: Collection[str] = (),
    ) -> Mapping[tuple[int, str], int]:
        """Append row changes, except those of skipped operations.

        Return how many there were by table and operation; they are not counted yet.
        """
        size, checksum, counts = put_records(
            rows, topics, self.records, tombstones=tombstones, skipped=skipped
        )
        self.size += size
        self.checksum += checksum
        return counts

    def put_rows(self, rows: Halves, topic: str) -> None:
        """Append rows that were read."""
        size, checksum = put_rows(rows, topic, self.records)
        self.size += size
        self.checksum += checksum

    def take_over(self, later: "RecordBuffer") -> None:
        """Append the contents of another buffer."""
        self.records += later.records
        self.size += later.size
        self.checksum += later.checksum
        self.transactions += later.transactions
        self.unfit += later.unfit
        for (topic, op), times in later.events.items():
            self.count(topic, op, times)
