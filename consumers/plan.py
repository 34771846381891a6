"""A merge plan: all that a target must know to merge one batch of one table, as plain values.

In: a table's newest shape, what the target can do, and where the batch ends.  Out: which column goes
where, what a delete does, below which seq everything is void, and the offsets to be committed with the
rows.  A plan names no target and holds no connection, so the same plan explains itself in a log line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from wrackline.consumers.names import Identifiers, target_names
from wrackline.schemas.table import TableSchema
from wrackline.schemas.types import ColumnType


class TopicPartition(NamedTuple):
    """One Kafka partition."""

    topic: str
    partition: int


Offsets = Mapping[TopicPartition, int]  # the next offset to read


class Deletes(Enum):
    """What becomes of a deleted row."""

    SOFT = "soft"  # a tombstone that keeps its seq: an older event can't bring the row back
    HARD = "hard"  # the row goes; exact only while no older event comes again


@dataclass(frozen=True, slots=True)
class OurColumns:
    """The names of our own columns in a target."""

    seq: str
    op: str
    deleted: str
    missing: str
    commit_ts: str

    @classmethod
    def prefixed(cls, prefix: str) -> "OurColumns":
        """Name them behind a prefix; the setting's default is `_wl_`."""
        return cls(*(prefix + name for name in ("seq", "op", "deleted", "missing", "commit_ts")))


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """One column on its way; `identity` says which it is when both names have changed."""

    identity: int
    source: str
    target: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class MergePlan:
    """How one batch of one table is merged."""

    table: TableSchema
    columns: tuple[PlannedColumn, ...]
    key: tuple[str, ...]  # names in the target, in key order
    offsets: Offsets  # where the batch ends; committed with its rows
    floor: str | None = None  # seq of the batch's newest truncate: older rows and events are void
    deletes: Deletes = Deletes.SOFT
    ours: OurColumns = field(default_factory=lambda: OurColumns.prefixed("_wl_"))


def plan_merge(
    table: TableSchema,
    identifiers: Identifiers,
    offsets: Offsets,
    *,
    floor: str | None = None,
    prefix: str = "_wl_",
) -> MergePlan:
    """Make the plan; names that would fall together in the target are refused here."""
    ours = OurColumns.prefixed(prefix)
    names = target_names(table, identifiers, reserved_prefix=prefix)
    columns = tuple(
        PlannedColumn(column.identity, column.name, names[column.name], column.type)
        for column in table.columns
    )
    key = tuple(names[name] for name in table.key)
    return MergePlan(table, columns, key, MappingProxyType(dict(offsets)), floor=floor, ours=ours)
