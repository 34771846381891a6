"""A chunk: existing rows of one table between two keys, as one SELECT saw them.

    request --> SELECT --> slices of (key, head)     ... the window removes keys ...
                           tail(position) --> head + tail = the `r` event's value

A row's value is known in two halves: `head` (the row) when it is read, the tail (source, op, ts_ms,
transaction, seq) only when it is released.  The tail's bytes are the same for all rows of a slice;
`seq` stands last in it and the ordinal last in seq, so where a table has no key the row's own number
replaces the tail's last eight characters (`ordinal_digits`) and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from wrackline.producers.changes import Passing, Position
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.table import TableId, TableSchema

KEY_GONE = define(
    "snapshot.key_gone",
    Transient,
    "{table} has no column {column} any more, in whose order its rows are read",
    hint="nothing to do: its rows are read anew in the order of its key of now; keys that were asked for by"
    " themselves must be asked for again: wrackline snapshot start <pipeline.toml> '{table}'",
)

# A key as the server itself writes and reads it, column by column in key order: exact, JSON-safe,
# compared by nobody but the database.
Bound: TypeAlias = tuple[str | None, ...]
ChunkRow: TypeAlias = tuple[bytes | None, bytes]  # Kafka key, head of the value


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """Rows with `after` < key <= `upto`, in key order, at most so many and of so many bytes.

    The order is that of tuples (lexicographic), in the database's own collation and NULL order.
    """

    table: TableId
    key: tuple[str, ...]  # columns that order the rows: the table's key, or a surrogate
    after: Bound | None = None  # None: from the first
    upto: Bound | None = None  # None: to the last
    only: tuple[Bound, ...] = ()  # just these keys, instead of a range
    condition: str | None = None  # of the rows, in the grammar of schemas/conditions.py
    most_rows: int = 10_000
    slice_rows: int = 10_000
    slice_bytes: int = 4 << 20
    most_bytes: int = 16 << 20  # of keys and heads: the chunk ends with the row that reaches it
    most_seconds: float = 2.0  # from its first row: a chunk that is read longer ends early, with what it has


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows that go into one Kafka transaction; `upto` is the key of the last, where a resume begins."""

    rows: Sequence[ChunkRow]
    upto: Bound
    size: int  # bytes of keys and heads


@dataclass(frozen=True, slots=True)
class Halves:
    """Rows on their way out: each one's value is its head and the tail, joined where the record is made."""

    rows: Sequence[ChunkRow] = ()
    tail: bytes = b""  # empty where the values are whole

    def __len__(self) -> int:
        return len(self.rows)

    def whole(self) -> list[ChunkRow]:
        """Join them."""
        return [(key, head + self.tail) for key, head in self.rows]


class TailOf(Protocol):
    """Make the second half of a chunk's values: pure, and asked once a slice."""

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
        """`snapshot` is Debezium's word (`incremental`, `true`, `last`, …), `chunk` the chunk's id."""
        ...


class Mark(Protocol):
    """A moment that can be found again in the log; frozen, pure and cheap."""

    @property
    def name(self) -> str:
        """The name that the caller gave it."""
        ...

    def passed(self, step: Passing) -> bool:
        """Whether the log has reached the mark with this step.

        Ask about the newest step at once when the mark is made, for it may have been passed by then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunk is of one read of a whole table, at the place of its mark, which its tail says too."""

    before: int  # rows of the read in earlier pieces: they are told apart by their number
    void: TailOf  # makes the `t` event of that place, whole: all that is older is in the rows


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one statement read; a chunk without slices is an empty range."""

    shape: TableSchema  # what the SELECT really returned
    slices: tuple[Slice, ...]
    complete: bool  # the range holds no more rows
    tail: TailOf
    mark: Mark | None = None  # its exact place in the log, where the read itself knows it
    piece: Piece | None = None  # of a table without a key
