"""Records that go into one Kafka transaction together, with what is counted of them on the way.

row changes | rows that were read | records of our own   ->   records, bytes, checksum, events by topic
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from zlib import crc32

from wrackline.producers.changes import RowChange
from wrackline.producers.chunks import Halves
from wrackline.producers.row_records import put_records, put_rows

Record: TypeAlias = tuple[str, bytes | None, bytes | None]  # topic, key, value


@dataclass(slots=True)
class Part:
    """A growing list of records."""

    records: list[Record] = field(default_factory=list)
    size: int = 0
    checksum: int = 0  # the sum of the values' CRC32
    events: dict[tuple[str, str], int] = field(default_factory=dict)  # by topic and operation
    transactions: int = 0

    def count(self, topic: str, op: str, times: int) -> None:
        """Count events of a topic."""
        self.events[topic, op] = self.events.get((topic, op), 0) + times

    def put(self, record: Record) -> None:
        """Append a record of our own."""
        _, key, value = record
        self.records.append(record)
        self.size += len(key or b"") + len(value or b"")
        self.checksum += crc32(value or b"")

    def put_changes(
        self, rows: Iterable[RowChange], topics: Mapping[int, str], *, tombstones: bool
    ) -> Mapping[tuple[int, str], int]:
        """Append row changes; return how many there were by table and operation, not counted yet."""
        size, checksum, counts = put_records(rows, topics, self.records, tombstones=tombstones)
        self.size += size
        self.checksum += checksum
        return counts

    def put_rows(self, rows: Halves, topic: str) -> None:
        """Append rows that were read."""
        size, checksum = put_rows(rows, topic, self.records)
        self.size += size
        self.checksum += checksum

    def take_over(self, later: "Part") -> None:
        """Append all that stands in another."""
        self.records += later.records
        self.size += later.size
        self.checksum += later.checksum
        self.transactions += later.transactions
        for (topic, op), times in later.events.items():
            self.count(topic, op, times)
