"""A chunk: existing rows of one table between two keys, as one SELECT saw them.

    request --> SELECT --> slices of (key, head)     ... the window removes keys ...
                           tail(position) --> head + tail = the `r` event's value

A row's value is known in two halves: `head` (the row) when it is read, the tail (source, op, ts_ms,
transaction, seq) only when it is released.  The tail's bytes are the same for all rows of a slice;
`seq` is last in it and the ordinal is last in seq, so where a table has no key the row's own number
replaces the tail's last eight characters (`ordinal_digits`) and nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from wrackline.producers.contract.steps import Misfit, Passing, Position
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.tables.table import KeyKind, TableId, TableSchema

KEY_GONE = define(
    "snapshot.key_gone",
    Transient,
    "{table} no longer has the column {column}, by which its rows are ordered for reading",
    hint="nothing to do: its rows are read again in the order of its current key; only keys that were"
    " requested by value must be requested again: wrackline snapshot start <pipeline.toml> '{table}'",
)

KEY_DOUBLED = define(
    "snapshot.key_doubled",
    OperatorNeeded,
    "the columns {columns}, which message.key.columns makes the key of {table}, do not identify its rows:"
    " {found} more than one row, and the copy would keep only one of them",
    hint="name columns that identify its rows: message.key.columns = '{table}:<columns>'; or remove the"
    " duplicates, make the columns NOT NULL and unique in the database, and read the table again: wrackline"
    " snapshot start <pipeline.toml> '{table}'",
)


def duplicate_key_error(table: TableId, columns: Sequence[str], count: int | None) -> WracklineError:
    """Say that a table's key does not identify its rows; without a count, one such key was seen."""
    found = "at least one key has" if count is None else "1 key has" if count == 1 else f"{count} keys have"
    return KEY_DOUBLED(table=table, columns=", ".join(columns), found=found)


def duplicate_key_text(count: int | None, most_s: int) -> str:
    """Say for a check the result of a look for such keys that found none."""
    if count is None:
        return f"the server could not find out within {most_s} s whether two rows have the same key"
    return "no two rows have the same key now"


# A key as the server itself writes and reads it, column by column in key order: exact, JSON-safe,
# compared only by the database.
Bound: TypeAlias = tuple[str | None, ...]
ChunkRow: TypeAlias = tuple[bytes | None, bytes]  # Kafka key, head of the value


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """Rows with `after` < key <= `upto`, in key order, with limits on their number and bytes.

    The order is that of tuples (lexicographic), in the database's own collation and NULL order.
    """

    table: TableId
    key: tuple[str, ...]  # columns that order the rows: the table's key, or a surrogate
    after: Bound | None = None  # None: from the first
    upto: Bound | None = None  # None: to the last
    only: tuple[Bound, ...] = ()  # only these keys, instead of a range
    condition: str | None = None  # of the rows, in the grammar of schemas/language/conditions.py
    most_rows: int = 10_000
    slice_rows: int = 10_000
    slice_bytes: int = 4 << 20
    most_bytes: int = 16 << 20  # of keys and heads: the chunk ends with the row that reaches it
    most_seconds: float = 2.0  # from its first row: a chunk that is read longer ends early, with what it has

    @property
    def whole(self) -> bool:
        """Whether it requests all of the table's rows."""
        return self.after is None and self.upto is None and self.condition is None and not self.only


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows that go into one Kafka transaction; `upto` is the key of the last row, where a resume begins."""

    rows: Sequence[ChunkRow]
    upto: Bound
    size: int  # bytes of keys and heads
    misfits: Sequence[Misfit] = ()  # rows with values that do not fit; those with nulls are in `rows` as well


@dataclass(frozen=True, slots=True)
class Halves:
    """Rows on their way out: each one's value is its head and the tail, joined where the record is made."""

    rows: Sequence[ChunkRow] = ()
    tail: bytes = b""  # empty where the values are whole
    misfits: Sequence[Misfit] = ()  # rows of the same slice that do not fit, those with nulls as well
    chunk: str | None = None  # its id

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def keys(self) -> set[bytes | None]:
        """The keys of all rows, and of the rows that are set aside."""
        return {key for key, _ in self.rows} | {misfit.key for misfit in self.misfits}

    def whole(self) -> list[ChunkRow]:
        """Join them."""
        return [(key, head + self.tail) for key, head in self.rows]


class TailOf(Protocol):
    """Make the second half of a chunk's values: pure, and called once a slice."""

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
        """Return whether the log has reached the mark with this step.

        When the mark is made, ask about the newest step at once, because the log may have passed the mark.
        """
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk's part of one read of a whole table, at the place of its mark, which its tail contains too."""

    before: int  # rows of the read in earlier pieces: their number distinguishes rows
    void: TailOf  # makes the `t` event of that place, whole: all that is older is in the rows


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows that one statement read; a chunk without slices is an empty range."""

    shape: TableSchema  # the shape that the SELECT really returned
    slices: tuple[Slice, ...]
    complete: bool  # the range holds no more rows
    tail: TailOf
    mark: Mark | None = None  # its exact place in the log, where the read itself knows it
    piece: Piece | None = None  # of a table without a key


def see_that_keys_differ(
    shape: TableSchema, slices: Sequence[Slice], rows_at: Callable[[Bound], int]
) -> None:
    """Refuse rows with the same key if message.key.columns chose it: one of them would replace the other.

    The rows behind a chunk have a greater key than its last row, so that key is checked by itself:
    `rows_at` counts the rows of a key, up to two.
    """
    if shape.key_kind is not KeyKind.CUSTOM or not slices:
        return
    keys = [key for one in slices for key, _ in one.rows]
    if len(set(keys)) < len(keys) or rows_at(slices[-1].upto) > 1:
        raise duplicate_key_error(shape.id, shape.key, None)
