"""What a source's log becomes: batches of steps, in the log's own order.

    Begin  Rows  Rows  Commit   Progress   Begin  Shape  Rows | Rows  Commit
    '------ a transaction ----'                     batches may end here

A row change is a plain tuple, because it is made and read a million times a second (made 27 ns, unpacked
9 ns; a NamedTuple 168 and 38, a frozen dataclass 450 and 18).  All that happens once a transaction
or less is a frozen dataclass, so `match` over the steps reads like the log.

Keys and values are complete Kafka bytes (Confluent header and Avro), written by the same encoder that
also writes the snapshot's rows: so the key distinguishes rows in a window, byte for byte.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeAlias

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId, TableSchema

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Saved: TypeAlias = Mapping[str, Json]


class Position(Protocol):
    """A place in the log, between two row changes or after the last of a transaction.

    Positions of one source partition are totally ordered and hashable; nothing else about them
    is known outside their source.  `saved` is the source's own JSON: where to resume, which may lie
    before what was published, and what of that was published already.
    """

    def __lt__(self, other: Self, /) -> bool: ...
    def __le__(self, other: Self, /) -> bool: ...
    def __hash__(self) -> int: ...

    def saved(self) -> Saved:
        """Render it; called once a Kafka transaction, not once a commit."""
        ...


class Unsent(NamedTuple):
    """What makes a row change partial: columns whose values were not sent.

    They did not change, so the copy keeps what it has; `again`: they did or may have, so the row is to be
    read by its key.  If the key changed as well, the delete of the old key and the create of the new key both
    carry this, and `other_key` is the other event's key: a window can then move the row that it holds.
    """

    columns: tuple[str, ...]
    other_key: bytes | None = None
    again: bool = False


# table (a Shape's ref), op ("c", "u" or "d"), key (None: the table has none), value, partial or None.
# A changed key comes as "d" of the old and "c" of the new. Tombstones are the task's, not the source's.
RowChange: TypeAlias = tuple[int, str, bytes | None, bytes, Unsent | None]


@dataclass(frozen=True, slots=True)
class Begin:
    """A source transaction starts, or continues after a resume inside it."""

    transaction: str  # the database's own name of it: xid, GTID, …
    committed_ms: int
    first: int = 0  # ordinal of the first change that follows; above 0 only after a resume
    published: str | None = None  # its name in its events; None: the same name

    @property
    def id(self) -> str:
        """Its name in its events, its BEGIN and its END."""
        return self.transaction if self.published is None else self.published


@dataclass(frozen=True, slots=True)
class Rows:
    """Changes of the open transaction; `upto` is the place after the last of them."""

    rows: Sequence[RowChange]
    upto: Position


@dataclass(frozen=True, slots=True)
class Commit:
    """The open transaction is complete; also one whose changes were all filtered out."""

    transaction: str
    position: Position
    committed_ms: int


@dataclass(frozen=True, slots=True)
class Shape:
    """From here on, `ref` in a row change means this table in this shape; a ref is used once.

    It comes before the first row of the shape.  `before` is the shape that it replaces, None for a
    table that the stream meets for the first time since it was opened.  `filled` are the identities of
    columns that give a value to rows from before them: by a default, as identity, or computed.
    """

    ref: int
    table: TableSchema
    before: TableSchema | None
    filled: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Truncate:
    """All rows of a table are gone at once; `value` is the complete `t` event, which has no key."""

    ref: int
    value: bytes
    upto: Position


@dataclass(frozen=True, slots=True)
class Message:
    """A logical message in the log; a cut inside its transaction may be directly behind it."""

    prefix: str
    content: bytes
    position: Position


@dataclass(frozen=True, slots=True)
class Signal:
    """A row that was inserted into the signal table: a request, or a mark of ours that comes back."""

    id: str
    type: str
    data: str
    position: Position


@dataclass(frozen=True, slots=True)
class Progress:
    """Everything at or before this place has been handed out, even if nothing of it was ours."""

    position: Position


@dataclass(frozen=True, slots=True)
class UnfitColumn:
    """A column of a row whose value does not fit its type; it never shows the value."""

    name: str
    type: str  # as the source calls it
    reason: str


@dataclass(frozen=True, slots=True)
class Misfit:
    """A row with values that do not fit: set aside as a dead letter, or published with null for them."""

    op: str
    key: bytes | None  # its record's; None: the table has none, or it does not fit itself
    columns: tuple[UnfitColumn, ...]
    letter: bool
    seq: str | None = None  # its event's; None for a row that was read


@dataclass(frozen=True, slots=True)
class UnfitRow:
    """A row of the open transaction does not fit; `Rows` that end behind it follow, with what it became."""

    ref: int
    misfit: Misfit
    upto: Position


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of one table, which must not stop its neighbours.

    The table's changes are not handed out from here on, and its rows must be requested again once the
    reason is gone.
    """

    table: TableId
    error: WracklineError


@dataclass(frozen=True, slots=True)
class Appeared:
    """A table that the caller did not list is captured from here on.

    Reported again after each opening until the caller lists it.  `complete`: the log has every row that it
    ever had, so nothing has to be read; otherwise its rows are to be requested.
    """

    table: TableId
    complete: bool
    shape: TableSchema | None = None  # None: gone again, or not known yet
    ddl: str | None = None


@dataclass(frozen=True, slots=True)
class Vanished:
    """A captured table is gone, or has a name that the filters leave out.

    `dropped`: log or catalogue prove that no table has this name any more; else it may only be hidden.
    """

    table: TableId
    ddl: str | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Renamed:
    """A captured table continues under another name, and so in another topic, which lacks its rows."""

    old: TableId
    new: TableId
    shape: TableSchema | None = None
    ddl: str | None = None


@dataclass(frozen=True, slots=True)
class Reshaped:
    """A table was altered; `refresh`: rows may have other values since, without an event of each.

    A change that the log's own shapes show, and that needs nothing, may be only a `Shape`.  `void`: rows may
    be gone as well, and a read does not show that.
    """

    table: TableId
    refresh: bool
    shape: TableSchema | None = None  # None: not known
    filled: frozenset[int] = frozenset()  # as in `Shape`
    ddl: str | None = None
    void: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A listed table is there in this shape; reported once after an opening, when the log has come to now.

    A caller that kept the earlier shape can see what was altered meanwhile without a row event.
    """

    table: TableSchema
    filled: frozenset[int]  # as in `Shape`


Coming: TypeAlias = Appeared | Vanished | Renamed | Reshaped
"""What becomes of a table; `ddl` is the statement that did it, as the log has it or its people write it."""
Step: TypeAlias = (
    Begin | Rows | UnfitRow | Commit | Shape | Truncate | Message | Signal | Progress | Fault | Coming | Found
)
Passing: TypeAlias = Commit | Message | Signal | Progress  # the steps that can reveal a mark


@dataclass(frozen=True, slots=True)
class Batch:
    """Steps in log order; a transaction may begin in one batch and end in a later one.

    Bounded by bytes: a batch ends with the first row that makes `size` reach the stream's limit.
    """

    steps: tuple[Step, ...]
    size: int  # bytes of keys and values
