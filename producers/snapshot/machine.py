"""The snapshot machine of one source partition: told what happened, it answers what to do.

    request, step, planned, chunk, failed  -->  machine  -->  work, release, unsaved

Pure: no I/O, no clock, no chance; one thread.  Why it is right: a chunk's SELECT sees every transaction
that was streamed before the read was handed out (the gate), every change streamed since then takes its
key out of the window, and rows are released once the log has passed a mark that was set after the SELECT.
So what is released at a place equals the table's row at that place, and no key goes back (INV-3).
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from wrackline.producers.changes import Commit, Position, Step
from wrackline.producers.chunks import Bound, Chunk, Mark
from wrackline.producers.snapshot.requests import Request
from wrackline.producers.snapshot.shapes import Altered
from wrackline.producers.snapshot.state import Status
from wrackline.producers.snapshot.work import Limits, Release, Span, Ticket, Unsaved, Work
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offsets import Json
from wrackline.schemas.table import TableId, TableSchema


class Machine:
    """Used on the task's own thread; readers' threads hand their results to it there."""

    def __init__(
        self,
        saved: Mapping[TableId, Json],
        limits: Limits,
        run: str,
        *,
        bound_of: Callable[[TableSchema, bytes], Bound | None],
        altered: Callable[[TableSchema, TableSchema], Altered],
        streamed: Sequence[Commit] = (),
    ) -> None:
        """Go on from the saved states of the tables.

        `run` names this start: marks of another one mean nothing.  `bound_of` reads a record's key as the
        server writes it, None where it can't.  `altered` says what only the database knows of a new
        shape.  `streamed` are the transactions that `unproven` named when the position was saved.
        """

    def request(self, asked: Request) -> None:
        """Take a request; the same id twice is one."""

    def step(self, step: Step) -> None:
        """Take the log's next step, before the cutter does; then give the cutter `unsaved`, then the step."""

    def planned(self, ticket: Ticket, key: Sequence[str], spans: Sequence[Span]) -> None:
        """A plan is made; a ticket that is no longer wanted is ignored."""

    def chunk(self, ticket: Ticket, chunk: Chunk, mark: Mark) -> None:
        """A chunk was read, and its close mark set; a ticket that is no longer wanted is ignored."""

    def failed(self, ticket: Ticket, error: WracklineError, now: float) -> None:
        """A plan or a read failed: a Transient error is tried again, later; others fail the table."""

    def described(self, shape: TableSchema) -> None:
        """A table as the database shows it now, asked at a start: it may have changed meanwhile."""

    def work(self, now: float) -> Sequence[Work]:
        """What readers shall begin now; nothing inside a source transaction."""
        raise NotImplementedError

    def due(self) -> float:
        """The moment from which `work` may give something because a wait is over; inf if none waits."""
        raise NotImplementedError

    def release(self, place: Position, ts_ms: int) -> Release | None:
        """The next slice that may go out at this place outside a transaction; ask until None.

        Every step up to the place must have been taken, and none after it.
        """
        raise NotImplementedError

    def unsaved(self) -> Unsaved:
        """States and receipts that changed since this was asked, and go with no rows."""
        raise NotImplementedError

    def unproven(self) -> Sequence[Commit]:
        """Transactions streamed lately that no reader has seen yet: save them with the position."""
        raise NotImplementedError

    @property
    def unstreamed(self) -> Collection[TableId]:
        """Tables asked for whose changes the stream does not hand out: save, then open it again."""
        raise NotImplementedError

    @property
    def waiting(self) -> bool:
        """Whether a window waits for its mark: the stream shall ask the server where it stands."""
        raise NotImplementedError

    def status(self, table: TableId) -> Status | None:
        """Where a table stands; None for one that the machine does not know."""
        raise NotImplementedError
