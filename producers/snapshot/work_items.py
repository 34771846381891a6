"""What passes between the machine and the readers that do its work.

Void  -> a reader makes the event that says that all rows of a table are gone
Plan  -> a reader finds the key columns and cuts the table into spans
Read  -> a reader waits for the gate, sets marks, reads one chunk
VisibilityCheck -> a reader reports which of the transactions streamed lately are hidden
Release -> the caller inserts the rows between two log transactions, and saves the states with them
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NewType, TypeAlias

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Halves, Mark, TailOf
from wrackline.producers.contract.snapshot_requests import ReceiptChange
from wrackline.producers.contract.steps import Commit
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import TableId

_LEAST_CHUNK: Final = 1 << 20  # bytes; each database may always hold one
Ticket = NewType("Ticket", str)  # `<run>/<number>`: names the work, its marks and its chunk in events


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """How much at once, and how long between tries."""

    readers: int = 2  # plans and reads under way
    most_bytes: int = 64 << 20  # rows of all windows, read or being read, of all databases of the task
    databases: int = 1
    chunk_rows: int = 10_000
    chunk_seconds: float = 2.0  # a longer read would hold back the gate of others, and the server's cleaning
    slice_rows: int = 10_000
    slice_bytes: int = 256 << 10  # with the bytes before it, this decides how long a log change waits
    most_tries: int = 5
    first_wait: float = 1.0  # seconds; doubles
    longest_wait: float = 60.0
    most_streamed: int = 50_000  # the newest transactions that no reader has looked for
    most_unproven: int = 5_000  # transactions whose names are saved with a position
    look_at: int = 50  # unproven transactions, from which on a reader looks for them
    look_rest: float = 0.25  # seconds between two looks
    look_every: float = 60.0  # seconds between two looks for fewer of them: their names don't last forever

    def wait(self, tries: int) -> float:
        """Return the seconds to wait after this many tries."""
        return min(self.first_wait * 2.0 ** min(tries - 1, 64), self.longest_wait)

    @property
    def share(self) -> int:
        """The bytes that one chunk may hold: readers continue while windows wait for their marks."""
        share = self.most_bytes // (4 * self.readers)
        return max(share // self.databases, min(share, _LEAST_CHUNK))


@dataclass(frozen=True, slots=True)
class KeySpan:
    """A part of a table: `after` < key <= `upto`, or these keys; the whole table if nothing is given."""

    after: Bound | None = None
    upto: Bound | None = None
    only: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Void:
    """Make a table's `t` event: some of its log is in no topic, so all that the copy has of it is void.

    It goes out before the plan is requested, so that all that it voids is read after it.  First wait until
    all of `streamed` are visible.
    """

    ticket: Ticket
    table: TableId
    streamed: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class Plan:
    """Find the columns that order the table's rows, and its spans up to the current greatest key.

    `low` and `high` are included.  An empty list of spans means that the table, or this part of it, is empty.
    An empty list of key columns means that the table has no key: one span, one read, at its own exact place.
    With `keys`, only the columns are requested.  `marked`: set a close mark as well, and return it.
    First wait until all of `streamed` are visible, and set the open mark (only SIGNAL).
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

    Wait until `marks.unseen(streamed)` is empty, set the open mark (only SIGNAL), read, set the close
    mark: all on one connection, the marks named by the ticket.  Without a key it is the next piece of one
    read of the whole table, behind the piece whose ticket is `request.after`, or the first of a new read.
    """

    ticket: Ticket
    request: ChunkRequest
    streamed: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class VisibilityCheck:
    """Say which of these a SELECT would not show yet; never waits."""

    ticket: Ticket
    streamed: Sequence[Commit]


Work: TypeAlias = Void | Plan | Read | VisibilityCheck


@dataclass(frozen=True, slots=True)
class Unsaved:
    """States and receipts that changed: they go into the Kafka transaction of the next step."""

    states: Mapping[TableId, Json] = field(default_factory=dict)
    receipts: Sequence[ReceiptChange] = ()

    def __bool__(self) -> bool:
        return bool(self.states or self.receipts)


@dataclass(frozen=True, slots=True)
class Release:
    """Rows that go out here, and the changes that go with them, in one Kafka transaction."""

    table: TableId
    rows: Halves  # none, where the log had changed all of them
    unsaved: Unsaved
    op: str = "r"  # or "t": the one event that goes before a table's rows


JobPlan: TypeAlias = tuple[Sequence[str], Sequence[KeySpan], int | None]  # key, ranges, estimated rows


@dataclass(frozen=True, slots=True)
class PlanUnderWay:
    """A reader makes the plan of a job, or first the `t` event that the job begins with."""

    ticket: Ticket
    job: str


@dataclass(frozen=True, slots=True)
class VoidMade:
    """The `t` event can be made; it waits for a place where it may go out."""

    ticket: Ticket
    job: str
    void: TailOf


@dataclass(frozen=True, slots=True)
class PlanMade:
    """The plan waits for the log to pass its mark, and is saved only then."""

    ticket: Ticket
    job: str
    mark: Mark
    plan: JobPlan


OpenPlan: TypeAlias = PlanUnderWay | VoidMade | PlanMade
