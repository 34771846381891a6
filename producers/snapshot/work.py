"""What passes between the machine and those who do its work.

Void  -> a reader makes the event that says of all rows of a table that they are gone
Plan  -> a reader finds the key columns and cuts the table into spans
Read  -> a reader waits for the gate, sets marks, reads one chunk
Look  -> a reader says what is hidden of that which was streamed lately
Release -> the caller inserts the rows between two log transactions, and saves the states with them
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, TypeAlias

from wrackline.producers.changes import Commit
from wrackline.producers.chunks import Bound, ChunkRequest, Halves
from wrackline.producers.snapshot.requests import ReceiptChange
from wrackline.schemas.offsets import Json
from wrackline.schemas.table import TableId

Ticket = NewType("Ticket", str)  # `<run>/<number>`: names the work, its marks and its chunk in events


@dataclass(frozen=True, slots=True)
class Limits:
    """How much at once, how long between tries."""

    readers: int = 2  # plans and reads under way
    most_bytes: int = 64 << 20  # rows of all windows, read or being read
    chunk_rows: int = 10_000
    chunk_seconds: float = 2.0  # a longer read would hold back the gate of others, and the server's cleaning
    slice_rows: int = 10_000
    slice_bytes: int = 256 << 10  # with what waits before it, how long a change of the log waits
    most_tries: int = 5
    first_wait: float = 1.0  # seconds; doubles
    longest_wait: float = 60.0
    most_streamed: int = 50_000  # transactions that nobody has looked for, the newest ones
    most_unproven: int = 5_000  # transactions whose names are saved with a position
    look_at: int = 50  # unproven transactions, from which on somebody looks for them
    look_rest: float = 0.25  # seconds between two looks
    look_every: float = 60.0  # seconds between two looks for fewer of them: their names don't last for ever

    def wait(self, tries: int) -> float:
        """Seconds after so many tries."""
        return min(self.first_wait * 2.0 ** min(tries - 1, 64), self.longest_wait)

    @property
    def share(self) -> int:
        """What one chunk may hold: readers go on while windows wait for their marks."""
        return self.most_bytes // (4 * self.readers)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a table: `after` < key <= `upto`, or these keys; everything if all is left out."""

    after: Bound | None = None
    upto: Bound | None = None
    only: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Void:
    """Make a table's `t` event: some of its log is in no topic, so all that the copy has of it is void.

    It goes out before the plan is asked for, so that all that it makes void is read after it.  Wait until
    all of `streamed` are visible, first.
    """

    ticket: Ticket
    table: TableId
    streamed: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class Plan:
    """Find the columns that order the table's rows, and its spans up to the greatest key of now.

    `low` and `high` are included.  No spans say that the table, or this part of it, is empty.  Key
    columns that are none say that the table has no key: one span, one read, at its own exact place.
    With `keys` the columns alone are asked for.  `marked`: set a close mark as well, and hand it in.
    Wait until all of `streamed` are visible, and set the open mark (SIGNAL alone), first.
    """

    ticket: Ticket
    table: TableId
    streamed: Sequence[Commit]
    surrogate_key: str | None = None
    condition: str | None = None
    low: Bound | None = None
    high: Bound | None = None
    keys: tuple[Bound, ...] = ()
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """Read one chunk once the gate is open.

    Wait until `marks.unseen(streamed)` is empty, set the open mark (SIGNAL alone), read, set the close
    mark: all on one connection, the marks named by the ticket.  Without a key it is the next piece of one
    read of the whole table, behind the piece whose ticket is `request.after`, or the first of a new one.
    """

    ticket: Ticket
    request: ChunkRequest
    streamed: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class Look:
    """Say which of these a SELECT would not show yet; nothing is waited for."""

    ticket: Ticket
    streamed: Sequence[Commit]


Work: TypeAlias = Void | Plan | Read | Look


@dataclass(frozen=True, slots=True)
class Unsaved:
    """States and receipts that changed: they go into the Kafka transaction of what comes next."""

    states: Mapping[TableId, Json] = field(default_factory=dict)
    receipts: Sequence[ReceiptChange] = ()

    def __bool__(self) -> bool:
        return bool(self.states or self.receipts)


@dataclass(frozen=True, slots=True)
class Release:
    """Rows that go out here, and what moves with them, in one Kafka transaction."""

    table: TableId
    rows: Halves  # none, where the log had changed all of them
    unsaved: Unsaved
    op: str = "r"  # or "t": the one event that goes before a table's rows
