"""A merge plan: all that a target must know to merge one batch of one table, as plain values.

In: a table's newest shape, what the target can do, and where the batch ends.  Out: which column goes
where, what a delete does, below which seq everything is void, and the offsets to be committed with the
rows.  A plan names no target and holds no connection, so the same plan explains itself in a log line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum
from typing import NamedTuple

from wrackline.consumers.contract.identifiers import Identifiers, target_names
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.tables.table import Column, KeyKind, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

HISTORY_OF_NO_KEY = define(
    "target.history_of_no_key",
    OperatorNeeded,
    "{table} has no key, so its rows have no earlier and later versions",
    hint='give it one in the source, or by message.key.columns; or keep its events: target.mode = "append";'
    " or leave it out: table.exclude.list = '{table}'",
)
HISTORY_NAME = define(
    "target.history_name",
    OperatorNeeded,
    "column {column} of {table} would be {name} in the target, which says when a version began or ended",
    hint="rename it, or leave it out: column.exclude.list",
)
SET_BACK = define(
    "target.set_back",
    Transient,
    "{target} was dropped or set back while a batch was merged into it; nothing of the batch is there",
    hint="the next round continues from what the table has now",
)
MOVED_ON = define(
    "target.moved_on",
    Transient,
    "another consumer has merged into {target} since this batch was read; nothing of the batch was written",
    hint="the next round continues from there; if it happens again and again, stop the second consumer",
)

ROW = 0  # identity of our own key column; no source's column has it
START, END = "__START_AT", "__END_AT"  # of a version, as Databricks names them


class TopicPartition(NamedTuple):
    """One Kafka partition."""

    topic: str
    partition: int


Offsets = Mapping[TopicPartition, int]  # the next offset to read


@dataclass(frozen=True, slots=True)
class NewestChange:
    """The change with the greatest seq, and what it was written with: it decides the table's shape."""

    seq: str
    key_id: int | None  # schema ids; None: a table without a key
    value_id: int


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a table has come: committed with its rows, and the only truth of progress."""

    offsets: Offsets = field(default_factory=dict)
    floor: str | None = None  # seq of the newest truncate; what is older is void
    newest: NewestChange | None = None  # a change behind it can't reshape the table
    topic_ids: Mapping[str, str] = field(default_factory=dict)  # Kafka's own: a topic made again has another

    def of_topic(self, topic: str) -> dict[int, int]:
        """Return the offsets of one topic, by partition."""
        return {at.partition: offset for at, offset in self.offsets.items() if at.topic == topic}

    def reaches(self, earlier: "Applied") -> bool:
        """Whether all events that were applied then are applied here."""
        return all(self.offsets.get(at, 0) >= offset for at, offset in earlier.offsets.items())

    def then(self, later: "Applied") -> "Applied":
        """What holds after another batch: nothing of it ever moves back, so a late writer harms nothing."""
        offsets = {
            partition: max(self.offsets.get(partition, 0), later.offsets.get(partition, 0))
            for partition in {*self.offsets, *later.offsets}
        }
        floor = max(filter(None, (self.floor, later.floor)), default=None)
        written = (one for one in (self.newest, later.newest) if one is not None)
        newest = max(written, key=lambda one: one.seq, default=None)
        return Applied(offsets, floor, newest, {**self.topic_ids, **later.topic_ids})


class Deletes(Enum):
    """What becomes of a deleted row."""

    SOFT = "soft"  # a tombstone that keeps its seq: an older event can't bring the row back
    HARD = "hard"  # the row goes; exact only while no older event comes again


class TableMode(Enum):
    """What a target's table has of its source's: `target.mode`."""

    UPSERT = "upsert"  # the rows as they are now
    HISTORY = "history"  # each version of a row, with when it began and ended
    APPEND = "append"  # every event


@dataclass(frozen=True, slots=True)
class OurColumns:
    """Our own columns in a target, by their names.

    A version began and ended at places that are compared as texts.  Readers see them in START and END: for a
    table of ours as they are, for a feed's as its sequence, with the texts in columns beside.
    """

    seq: str
    op: str
    deleted: str
    missing: str
    commit_ts: str
    row: str  # only where an event has rows of its own: it distinguishes them
    unsent: str = "_wl_unsent"  # only in a history: what each event itself did not send
    start: str = START  # only in a history, as is `end`
    end: str = END
    sequence: str = ""  # what START and END show (sequences.py), if they are not `start` and `end`

    @classmethod
    def prefixed(cls, prefix: str) -> "OurColumns":
        """Name them behind a prefix; the setting's default is `_wl_`."""
        names = ("seq", "op", "deleted", "missing", "commit_ts", "row", "unsent")
        return cls(*(prefix + name for name in names))

    def of_feed(self, prefix: str, shown: FeedSequence) -> "OurColumns":
        """Return those of a history whose versions are placed by a sequence."""
        return replace(self, start=f"{prefix}start", end=f"{prefix}end", sequence=shown.text())

    @property
    def shown(self) -> FeedSequence | None:
        """What START and END show instead of the texts."""
        return FeedSequence.parse(self.sequence) if self.sequence else None


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """One column on its way; `identity` says which it is when both names have changed."""

    identity: int
    source: str
    target: str
    type: ColumnType


class KeyColumnRange(NamedTuple):
    """The least and the greatest value of one column of a batch's keys."""

    least: int | date | str
    greatest: int | date | str


@dataclass(frozen=True, slots=True)
class MergePlan:
    """How one batch of one table is merged."""

    table: TableSchema
    columns: tuple[PlannedColumn, ...]
    key: tuple[str, ...]  # names in the target, in key order
    upto: Applied  # where the batch ends; committed with its rows
    deletes: Deletes = Deletes.SOFT
    ours: OurColumns = field(default_factory=lambda: OurColumns.prefixed("_wl_"))
    mode: TableMode = TableMode.UPSERT
    tracked: frozenset[str] | None = None  # history: a change of these begins a version; None: of any
    truncated: bool = True  # history: whether the batch may hold truncates, which may end any version
    lacking: frozenset[str] | None = None  # columns that some change of the batch did not send; None: any
    lacking_is_null: bool = False  # a column that nobody has sent is null, and its row is complete
    told_late: bool = (
        False  # the frame has `known_at`: a value that was sent before the stored row changes nothing
    )
    loads: bool = False  # every change is a row that was read; a target may append keys that it does not have
    within: Mapping[str, KeyColumnRange] = field(
        default_factory=dict
    )  # where the batch's keys lie, if that is known
    since: Applied = field(default_factory=Applied)  # where the batch begins, and the table is

    @property
    def floor(self) -> str | None:
        """Seq of the newest truncate that the batch knows: older rows and events are void."""
        return self.upto.floor

    def check_follows(self, applied: Applied, target: str) -> None:
        """Refuse a table that is not where it was when the batch was read.

        It must have all that was applied then, and nothing more in the partitions that the batch moves.
        Other partitions, such as those of a second flow into the same table, may have moved.
        """
        if not applied.reaches(self.since):
            raise SET_BACK(target=target)
        for at, end in self.upto.offsets.items():
            begun = self.since.offsets.get(at)
            if end != begun and applied.offsets.get(at) != begun:
                raise MOVED_ON(target=target)

    @property
    def only_adds(self) -> bool:
        """Whether a row, once it is there, is never changed: each is of an event of its own."""
        return self.key == (self.ours.row,)

    @property
    def keyless(self) -> bool:
        """Whether rows have no key, and are there as often as they came more than they went."""
        return self.mode is TableMode.UPSERT and self.only_adds


def plan_merge(
    table: TableSchema,
    identifiers: Identifiers,
    upto: Applied,
    *,
    prefix: str = "_wl_",
    mode: TableMode = TableMode.UPSERT,
    deletes: Deletes = Deletes.SOFT,
) -> MergePlan:
    """Make the plan; names that would be the same in the target are refused here.

    Where an event has rows of its own, a column of ours distinguishes them: where there is no key, and in a
    history beside it.  Truncates are rows of a history and of an append table too, and have no key.
    """
    ours = OurColumns.prefixed(prefix)
    names = target_names(table, identifiers, reserved_prefix=prefix)
    if mode is TableMode.HISTORY:
        _check_history(table, names)
    if mode is not TableMode.UPSERT or not table.key:
        names[ours.row] = ours.row
        table = _of_events(table, ours.row, mode)
        deletes = Deletes.SOFT
    columns = tuple(
        PlannedColumn(column.identity, column.name, names[column.name], column.type)
        for column in table.columns
    )
    key = tuple(names[name] for name in table.key)
    return MergePlan(table, columns, key, upto, deletes, ours, mode)


def _of_events(table: TableSchema, row: str, mode: TableMode) -> TableSchema:
    """Return the shape of a table whose rows are events; in a history they are found by key."""
    its_row = Column(row, ROW, ColumnType(Kind.STRING, "wrackline"), nullable=False)
    key = (*table.key, row) if mode is TableMode.HISTORY else (row,)
    kept = (replace(one, nullable=one.nullable or one.name in table.key) for one in table.columns)
    kind = table.key_kind if mode is TableMode.HISTORY else KeyKind.NONE
    return replace(table, columns=(its_row, *kept), key=key, key_kind=kind)


def _check_history(table: TableSchema, names: Mapping[str, str]) -> None:
    if not table.key:
        raise HISTORY_OF_NO_KEY(table=table.id)
    for column, name in names.items():
        if name.casefold() in (START.casefold(), END.casefold()):
            raise HISTORY_NAME(column=repr(column), table=table.id, name=name)
