"""Requests as they come in: rows of the signal table as the log passes them, messages of the signal topic.

Why nothing is lost: a request becomes part of the tables' states at once, and these go out with the position
behind the row, or before the topic's offset advances; the same id twice is one request.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from wrackline.producers.contract.first_reads import NO_READS, FirstReads
from wrackline.producers.contract.snapshot_requests import (
    ReceiptChange,
    RequestMoved,
    TableGivenUp,
    TableHeldUp,
)
from wrackline.producers.contract.steps import Appeared, Renamed, Signal
from wrackline.producers.reading.receipt_records import NO_RECEIPTS, ReceiptWriter
from wrackline.producers.reading.signal_requests import refusal, understand_signal
from wrackline.producers.snapshot.machine import Machine
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import signals
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.tables.table import TableId

_EVERY: Final = 0.2  # seconds between two looks at the topic

Read = signals.AcceptedSignal | signals.RejectedSignal


class RequestChannel(Protocol):
    """Where requests come from, beside the log."""

    def take(self) -> Collection[Read | WracklineError]:
        """Take what is there, or say why nothing can be read; never waits."""
        ...

    @property
    def heard(self) -> bool:
        """Whether all that was there when it was opened has been taken, or can't be taken."""
        ...

    def commit(self) -> None:
        """Note that Kafka has the results of all that was taken."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class RequestIntake:
    """Hands requests to one machine."""

    def __init__(
        self,
        machine: Machine,
        tables: Collection[TableId],
        tell: Callable[[WracklineError], None],
        channel: RequestChannel | None = None,
        *,
        book: ReceiptWriter = NO_RECEIPTS,
        rows: bool = True,
        first: FirstReads = NO_READS,
    ) -> None:
        """Take the tables that patterns may mean, whether the signal table's rows count, and first reads."""
        self._book = book
        self._machine, self._tables, self._tell = machine, set(tables), tell
        self._channel, self._rows, self._first = channel, rows, first
        self._due = 0.0
        self._took = False

    def comes(self, step: Appeared | Renamed) -> None:
        """A request can name this table from here on; its earlier rows are in no topic of its name.

        If it was captured before, a part of its log is in no topic either: its copy is void.
        """
        table = step.table if isinstance(step, Appeared) else step.new
        known = table in self._tables
        self._tables.add(table)
        if isinstance(step, Appeared) and step.complete:
            return
        request = self._first.comes(table, f"comes-{self._machine.new_id()}", anew=known)
        if request is not None:
            self._machine.request(request)

    def row(self, step: Signal) -> None:
        """A row was inserted into the signal table."""
        if self._rows:
            self._take(signals.parse_row(step.id, step.type, step.data))

    def look(self, now: float) -> bool:
        """Take what the topic has, if a look is due; return whether there was a request."""
        if self._channel is None or now < self._due:
            return False
        self._due, came = now + _EVERY, False
        for read in self._channel.take():
            if isinstance(read, WracklineError):
                self._tell(read)
            else:
                self._took = came = True
                self._take(read)
        return came

    def tell(self, changes: Sequence[ReceiptChange]) -> None:
        """Have receipts written, before their states are saved; report tables that can't be read, and why.

        Report as well what a request that was carried out left undone.
        """
        self._book.take(changes)
        for change in changes:
            match change:
                case (
                    TableHeldUp(error)
                    | TableGivenUp(error)
                    | RequestMoved(_, RequestState.SUCCEEDED, WracklineError() as error)
                ):
                    self._tell(error)

    def took(self) -> bool:
        """Return whether the topic had something since the last call."""
        took, self._took = self._took, False
        return took

    @property
    def heard(self) -> bool:
        """Whether all that waited when this began has become a request."""
        return self._channel is None or self._channel.heard

    def commit(self) -> None:
        """All that was taken is in the committed states."""
        if self._channel is not None:
            self._channel.commit()

    def close(self) -> None:
        """Close the topic."""
        if self._channel is not None:
            self._channel.close()

    def _take(self, read: Read) -> None:
        match understand_signal(read, self._tables):
            case None:
                pass
            case WracklineError() as refused:
                self._tell(refused)
                if (change := refusal(read, refused)) is not None:
                    self._machine.refuse(change)
            case request:
                self._machine.request(request)
