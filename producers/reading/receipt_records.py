"""The receipts of one source partition's requests, as records for the transaction that saves their states.

    changes of receipts (the ledger's) --> take --> records --> the cutter's next publication
    what Kafka has of them, at a start ------^         '--> notifications, as Debezium would have sent them

Why it is right: a change is taken just before its states are given to the cutter, and the cutter requests
records when it closes a publication; so the two are in one Kafka transaction (INV-2).  Each change of a state
is a record of its own, in order.  A table's progress goes out with the next record, or by itself every few
seconds: a slice costs a few additions here.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import Final, Protocol

from wrackline.producers.contract.snapshot_requests import (
    ReceiptChange,
    RequestAccepted,
    RequestJoined,
    RequestMoved,
    RequestRefused,
    TableAdvanced,
)
from wrackline.producers.cutting.record_buffer import Record
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.control_events import NotificationEvent
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import Receipt, RequestState, StoredReceipts, TableProgress
from wrackline.schemas.tables.table import SourcePartition

EVERY: Final = 3.0  # seconds between two records that only say how far a table is
_LONG: Final = 100  # tables from which on a receipt is too long to be written at each table's end
_LATELY: Final = 30.0  # seconds over which a pace is measured
_SOON: Final = 2.0  # seconds that a pace needs before it is reported


class ReceiptWriter(Protocol):
    """Writes receipts."""

    @property
    def known(self) -> StoredReceipts | None:
        """The requests that are under way and that are over; None where no receipts are written."""
        ...

    def take(self, changes: Sequence[ReceiptChange]) -> None:
        """Write these changes onto the receipts; the states behind them are given to the cutter next."""
        ...

    def records(self) -> Sequence[Record]:
        """Return the records for the Kafka transaction that is closed now."""
        ...


class NoReceipts:
    """For a caller that only wants rows."""

    known: StoredReceipts | None = None

    def take(self, changes: Sequence[ReceiptChange]) -> None:
        """Drop them."""

    def records(self) -> Sequence[Record]:
        """Nothing is written."""
        return ()


NO_RECEIPTS: Final = NoReceipts()


class ReceiptRecords:
    """Writes the receipts of one source partition; only the task's thread calls it."""

    def __init__(  # noqa: PLR0913 - whose receipts, where they go, and what is asked of others
        self,
        connector: str,
        partition: SourcePartition,
        topic: str,
        known: StoredReceipts,
        *,
        clock: Callable[[], float],
        now_ms: Callable[[], int],
        tell: Callable[[WracklineError], None],
        notify: Callable[[NotificationEvent], Record] | None = None,
    ) -> None:
        self._connector, self._partition, self._topic = connector, partition, topic
        self._clock, self._now_ms, self._tell, self._notify = clock, now_ms, tell, notify
        self._open = dict(known.under_way)
        self._over = dict.fromkeys(known.over)
        self._lines: dict[
            str, dict[str, TableProgress]
        ] = {}  # of the receipts in `_open` that have advanced, by table
        self._written = dict(known.under_way)  # the newest record of each
        self._pending: list[Receipt] = []
        self._further: dict[str, None] = {}  # requests that have advanced since their newest record
        self._due = clock()
        self._paces: dict[tuple[str, str], ReadRate] = {}

    @property
    def known(self) -> StoredReceipts | None:
        """The requests that are under way and that are over."""
        return StoredReceipts({request: self._whole(request) for request in self._open}, tuple(self._over))

    def take(self, changes: Sequence[ReceiptChange]) -> None:
        """Write these changes onto the receipts; one that is not allowed is reported, and nothing stops."""
        for change in changes:
            try:
                self._take(change, self._now_ms())
            except WracklineError as wrong:
                self._tell(wrong)

    def records(self) -> Sequence[Record]:
        """Return the records to write now, each with the notifications that it causes."""
        if self._further and self._clock() >= self._due:
            self._due = self._clock() + EVERY
            self._pending += [self._whole(request) for request in self._further]
            self._further.clear()
        made: list[Record] = []
        for receipt in self._pending:
            key = receipts.key(self._connector, self._partition, receipt.id)
            made.append((self._topic, key, receipts.encode(receipt)))
            before = self._written.pop(receipt.id, None)
            if self._notify is not None:
                made += map(self._notify, receipts.notifications(before, receipt, self._connector))
            if not receipt.over:
                self._written[receipt.id] = receipt
        self._pending.clear()
        return made

    def _take(self, change: ReceiptChange, at_ms: int) -> None:
        match change:
            case RequestAccepted(request, kind, tables, what):
                if tables or request not in self._over:  # a request that no table remembers is known here
                    self._put(receipts.accept(request, kind, tuple(map(str, tables)), at_ms, what))
            case RequestRefused(request, kind, what, error):
                if request not in self._over and request not in self._open:
                    self._put(receipts.refuse(request, kind, what, error, at_ms))
            case RequestJoined(request, tables) if request in self._open:
                self._put(receipts.join(self._whole(request), tuple(map(str, tables)), at_ms))
            case RequestMoved(request, state, error) if request in self._open:
                self._put(receipts.move(self._whole(request), state, at_ms, error))
            case TableAdvanced(request, table) if request in self._open:
                self._goes_on(self._open[request], table, at_ms)

    def _goes_on(self, receipt: Receipt, table: TableProgress, at_ms: int) -> None:
        if table.scan is None:
            pace = self._paces.setdefault((receipt.id, table.name), ReadRate())
            pace.note(self._clock(), table.rows)
            table = replace(table, seconds_left=pace.seconds_left(table.rows, table.expected))
        else:
            self._paces.pop((receipt.id, table.name), None)
        lines = self._lines.get(receipt.id)
        if lines is None:  # made once a record, because a receipt may have ten thousand
            lines = self._lines[receipt.id] = receipts.lines_of(receipt)
        self._open[receipt.id] = receipts.advance(receipt, lines, table, at_ms)
        if table.scan is not None and len(lines) <= _LONG:
            self._put(self._whole(receipt.id))
        else:
            self._further[receipt.id] = None

    def _whole(self, request: str) -> Receipt:
        """Return an open receipt with the current progress of all of its tables."""
        lines = self._lines.pop(request, None)
        if lines is not None:
            self._open[request] = receipts.with_lines(self._open[request], lines)
        return self._open[request]

    def _put(self, receipt: Receipt) -> None:
        """Have a receipt written; of several in a row with the same state only the newest is written."""
        last = self._pending[-1] if self._pending else None
        if last is not None and (last.id, last.state) == (receipt.id, receipt.state):
            self._pending.pop()
        self._pending.append(receipt)
        self._further.pop(receipt.id, None)
        self._over.pop(receipt.id, None)
        if receipt.state is not RequestState.RUNNING:
            self._paces = {whose: pace for whose, pace in self._paces.items() if whose[0] != receipt.id}
        if not receipt.over:
            self._open[receipt.id] = receipt
            return
        self._open.pop(receipt.id, None)
        receipts.remember(self._over, receipt.id)


class ReadRate:
    """How fast a table is being read."""

    def __init__(self) -> None:
        self._noted: deque[tuple[float, int]] = deque()

    def note(self, now: float, rows: int) -> None:
        """Note that this many rows are out; fewer than before: the read has started over."""
        noted = self._noted
        if noted and rows < noted[-1][1]:
            noted.clear()
        if not noted or now >= noted[-1][0] + 1.0:
            noted.append((now, rows))
        while noted[0][0] < now - _LATELY:
            noted.popleft()
        self._now = now

    def seconds_left(self, rows: int, expected: int | None) -> int | None:
        """Return the seconds until the table is done at this pace; None where that is not known."""
        since, first = self._noted[0]
        if expected is None or rows >= expected or rows <= first or self._now < since + _SOON:
            return None
        return ceil((expected - rows) * (self._now - since) / (rows - first))
