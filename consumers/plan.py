"""A merge plan: all that a target must know to merge one batch of one table, as plain values.

In: a table's newest shape, what the target can do, and where the batch ends.  Out: which column goes
where, what a delete does, below which seq everything is void, and the offsets to be committed with the
rows.  A plan names no target and holds no connection, so the same plan explains itself in a log line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from wrackline.consumers.names import Identifiers, target_names
from wrackline.schemas.table import Column, KeyKind, TableSchema
from wrackline.schemas.types import ColumnType, Kind

ROW = 0  # identity of our own key column; no source's column has it


class TopicPartition(NamedTuple):
    """One Kafka partition."""

    topic: str
    partition: int


Offsets = Mapping[TopicPartition, int]  # the next offset to read


@dataclass(frozen=True, slots=True)
class Written:
    """The change with the greatest seq, and what it was written with: it tells the table's shape."""

    seq: str
    key_id: int | None  # schema ids; None: a table without a key
    value_id: int


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a table has come: committed with its rows, and the only truth of progress."""

    offsets: Offsets = field(default_factory=dict)
    floor: str | None = None  # seq of the newest truncate; what is older is void
    newest: Written | None = None  # a change behind it can't reshape the table

    def then(self, later: "Applied") -> "Applied":
        """What holds after another batch: nothing of it ever moves back, so a late writer harms nothing."""
        offsets = {
            partition: max(self.offsets.get(partition, 0), later.offsets.get(partition, 0))
            for partition in {*self.offsets, *later.offsets}
        }
        floor = max(filter(None, (self.floor, later.floor)), default=None)
        written = (one for one in (self.newest, later.newest) if one is not None)
        return Applied(offsets, floor, max(written, key=lambda one: one.seq, default=None))


class Deletes(Enum):
    """What becomes of a deleted row."""

    SOFT = "soft"  # a tombstone that keeps its seq: an older event can't bring the row back
    HARD = "hard"  # the row goes; exact only while no older event comes again


class Mode(Enum):
    """What a table of the target is of its source's: `target.mode`."""

    UPSERT = "upsert"  # the rows as they are now
    HISTORY = "history"  # each version of a row, from when to when it stood
    APPEND = "append"  # every event


@dataclass(frozen=True, slots=True)
class OurColumns:
    """The names of our own columns in a target."""

    seq: str
    op: str
    deleted: str
    missing: str
    commit_ts: str
    row: str  # only where the table has no key: it is the key then

    @classmethod
    def prefixed(cls, prefix: str) -> "OurColumns":
        """Name them behind a prefix; the setting's default is `_wl_`."""
        return cls(*(prefix + name for name in ("seq", "op", "deleted", "missing", "commit_ts", "row")))


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
    upto: Applied  # where the batch ends; committed with its rows
    deletes: Deletes = Deletes.SOFT
    ours: OurColumns = field(default_factory=lambda: OurColumns.prefixed("_wl_"))
    mode: Mode = Mode.UPSERT
    tracked: frozenset[str] | None = None  # history: a change of these begins a version; None: of any

    @property
    def floor(self) -> str | None:
        """Seq of the newest truncate that the batch knows: older rows and events are void."""
        return self.upto.floor

    @property
    def keyless(self) -> bool:
        """Whether the source's table has no key; its events are then told apart by their own number."""
        return self.key == (self.ours.row,)


def plan_merge(
    table: TableSchema,
    identifiers: Identifiers,
    upto: Applied,
    *,
    prefix: str = "_wl_",
) -> MergePlan:
    """Make the plan; names that would fall together in the target are refused here.

    A table without a key is planned with a column of ours that tells its rows apart.
    """
    ours = OurColumns.prefixed(prefix)
    names = target_names(table, identifiers, reserved_prefix=prefix)
    if not table.key:
        names[ours.row] = ours.row
        row = Column(ours.row, ROW, ColumnType(Kind.STRING, "wrackline"), nullable=False)
        table = replace(table, columns=(row, *table.columns), key=(ours.row,), key_kind=KeyKind.NONE)
    columns = tuple(
        PlannedColumn(column.identity, column.name, names[column.name], column.type)
        for column in table.columns
    )
    key = tuple(names[name] for name in table.key)
    return MergePlan(table, columns, key, upto, ours=ours)
