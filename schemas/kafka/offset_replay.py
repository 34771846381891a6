"""What a task starts from: the records of the offsets topic, folded.

Comes in: the records of one or all partitions, each partition in its own order, read with
`read_committed`.  Goes out: the position of each source partition, each table's snapshot state,
and what does not fit together (CHK-15).

Why it is right: within a partition the latest record of a key wins, unless a fenced owner of an older
generation wrote after a newer one.  Between partitions (a connector was cut again) the highest
generation wins.  Compaction keeps the last begin and the last end, in their order, so it can hide an old
fault but never make one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    BeginKey,
    BeginRecord,
    Key,
    Offset,
    OffsetsRecord,
    PositionKey,
    RecordPlace,
    SavedTableState,
    TableKey,
    Value,
)
from wrackline.schemas.tables.table import SourcePartition, TableId


class ReplayFault(Enum):
    """How two records contradict each other."""

    TORN = "torn"  # a begin, and the next begin or the topic's end before its end
    STRAY = "stray"  # an end after the begin of another transaction
    STALE = "stale"  # a record of an older generation after one of a newer: ignored
    MIXED = "mixed"  # two partitions hold a key in the same generation: the higher n wins
    GAP = "gap"  # the next transaction does not continue where the last one ended


@dataclass(frozen=True, slots=True)
class ReplayFinding:
    """One fault and the record that showed it."""

    fault: ReplayFault
    place: RecordPlace
    generation: int
    n: int


@dataclass(frozen=True, slots=True)
class OffsetsState:
    """What the records add up to."""

    positions: Mapping[PositionKey, Offset]
    tables: Mapping[TableKey, SavedTableState]
    findings: tuple[ReplayFinding, ...]

    def resume(self, connector: str, partition: SourcePartition) -> Offset | None:
        """The source partition's own position, else the one of an older single-partition key."""
        server, database = partition
        return self.positions.get(PositionKey(connector, server, database)) or self.positions.get(
            PositionKey(connector, server, None)
        )

    def tables_of(self, connector: str, partition: SourcePartition) -> Mapping[TableId, SavedTableState]:
        """The snapshot states of one source partition's tables."""
        return {
            key.table: state
            for key, state in self.tables.items()
            if (key.connector, key.partition) == (connector, partition)
        }


@dataclass(slots=True)
class _ReplayedPartition:
    """One partition of the topic, read so far."""

    held: dict[Key, tuple[RecordPlace, Offset | SavedTableState]] = field(default_factory=dict)
    begun: tuple[RecordPlace, BeginRecord] | None = None
    begin_open: bool = False


def replay(records: Iterable[OffsetsRecord]) -> OffsetsState:
    """Fold the records; records of different partitions may come mixed."""
    partitions: dict[tuple[str, int], _ReplayedPartition] = {}
    findings: list[ReplayFinding] = []
    for record in records:
        partition = partitions.setdefault((record.place.topic, record.place.partition), _ReplayedPartition())
        if isinstance(record.key, BeginKey):
            findings += _begin(partition, record)
        elif record.value is None:
            partition.held.pop(record.key, None)
        elif isinstance(record.value, Offset | SavedTableState):
            findings += _keep(partition, record.place, record.key, record.value)
    for partition in partitions.values():
        findings += _torn(partition)
    held = _newest(partitions.values(), findings)
    return OffsetsState(
        {
            key: value
            for key, value in held.items()
            if isinstance(key, PositionKey) and isinstance(value, Offset)
        },
        {
            key: value
            for key, value in held.items()
            if isinstance(key, TableKey) and isinstance(value, SavedTableState)
        },
        tuple(findings),
    )


def _begin(partition: _ReplayedPartition, record: OffsetsRecord) -> list[ReplayFinding]:
    findings = _torn(partition)
    if isinstance(record.value, BeginRecord):
        claims = record.value.n == OUTSIDE_ANY_TRANSACTION  # a generation, and nothing follows it
        partition.begun, partition.begin_open = (record.place, record.value), not claims
    else:
        partition.begun, partition.begin_open = None, False
    return findings


def _torn(partition: _ReplayedPartition) -> list[ReplayFinding]:
    if partition.begun is None or not partition.begin_open:
        return []
    place, begin = partition.begun
    return [ReplayFinding(ReplayFault.TORN, place, begin.generation, begin.n)]


def _keep(
    partition: _ReplayedPartition, place: RecordPlace, key: Key, value: Offset | SavedTableState
) -> list[ReplayFinding]:
    before = partition.held.get(key)
    if before is not None and value.generation < before[1].generation:
        return [ReplayFinding(ReplayFault.STALE, place, value.generation, _n(value))]
    partition.held[key] = (place, value)
    if isinstance(value, SavedTableState) or value.n == OUTSIDE_ANY_TRANSACTION:
        return []
    findings = []
    if partition.begun is not None:
        begin = partition.begun[1]
        if (begin.generation, begin.n) == (value.generation, value.n):
            partition.begin_open = False
        else:
            findings.append(ReplayFinding(ReplayFault.STRAY, place, value.generation, value.n))
    if before is not None and isinstance(before[1], Offset) and _gap(before[1], value):
        findings.append(ReplayFinding(ReplayFault.GAP, place, value.generation, value.n))
    return findings


def _gap(before: Offset, after: Offset) -> bool:
    # only neighbours can be compared: between others, compaction may have taken records away
    neighbours = (after.generation, after.n) == (before.generation, before.n + 1)
    return neighbours and after.previous != before.position


def _newest(partitions: Iterable[_ReplayedPartition], findings: list[ReplayFinding]) -> dict[Key, Value]:
    newest: dict[Key, tuple[RecordPlace, Offset | SavedTableState]] = {}
    for partition in partitions:
        for key, (place, value) in partition.held.items():
            other = newest.get(key)
            if other is not None and other[1].generation == value.generation:
                findings.append(ReplayFinding(ReplayFault.MIXED, place, value.generation, _n(value)))
            if other is None or _age(value) > _age(other[1]):
                newest[key] = (place, value)
    return {key: value for key, (_, value) in newest.items()}


def _age(value: Offset | SavedTableState) -> tuple[int, int]:
    return value.generation, _n(value)


def _n(value: Offset | SavedTableState) -> int:
    return value.n if isinstance(value, Offset) else OUTSIDE_ANY_TRANSACTION
