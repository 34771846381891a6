"""XA transactions: their rows are logged when they are prepared, and count when XA COMMIT is logged.  Pure.

    GTID | XA START  rows  XA END  XA PREPARE  …others…  GTID | XA COMMIT
    '------ the part, not handed out here ---'                '- read here, as this transaction's rows -'

MySQL logs a one-phase transaction in the same way, and its last event says that this commits it: its part is
itself.  The part comes by a dump of its own, which may send other transactions before it: on another server
than the server where it was first seen, only its GTID is known, not its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from wrackline.producers.sources.mysql.ddl.ddl_effects import ControlKind, DdlEffect, TransactionControl
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import (
    Frames,
    GtidEvent,
    MariaDbGtidEvent,
    QueryEvent,
    SmallEvent,
    XaPrepareEvent,
    Xid,
    small_event,
)
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, before_one
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.producers.sources.mysql.follow.query_events import effects_of
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ANOTHER
from wrackline.producers.sources.mysql.log.log_cursor import LogCursor
from wrackline.producers.sources.mysql.log.stream_options import MySqlStreamOptions
from wrackline.producers.sources.mysql.transactions.transaction import Transaction
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define

XA_UNKNOWN = define(
    "mysql.xa_unknown",
    Definite,
    "the XA transaction {xid} is committed, but its rows are in the log before the position where the"
    " pipeline started",
    hint="start over: wrackline offsets reset <pipeline.toml>, and the next start reads all rows; so that a"
    " start can wait for such transactions: GRANT XA_RECOVER_ADMIN ON *.* TO the pipeline's user",
)
XA_PURGED = define(
    "mysql.xa_purged",
    Definite,
    "the XA transaction {xid} is committed, but the server no longer has the part of its log with its rows",
    hint="let it keep its log longer than XA transactions stay open: SET GLOBAL binlog_expire_logs_seconds ="
    " 604800; and start over: wrackline offsets reset <pipeline.toml>",
)
XA_OPEN = define(
    "mysql.xa_open",
    OperatorNeeded,
    "XA transactions have been prepared since before the start, and do not end: {xids}",
    hint="end each on the server, or let its application do so: XA COMMIT <xid>, or XA ROLLBACK <xid>; to"
    " list all that are open: {look}; then start again",
)


@dataclass(frozen=True, slots=True)
class XaPart:
    """The part to read: at a place of this server's log, or behind a set of GTIDs."""

    xid: str
    gtid: str = ""
    file: str = ""
    offset: int = 0
    behind: AnyGtids | None = None


class XaPartReader:
    """Finds the part in its dump, and its events with changes."""

    def __init__(self, part: XaPart, reading: MySqlStreamOptions) -> None:
        self.part, self._reading = part, reading
        self._frames = Frames()
        self._begun = self._named = False
        self.ended = False

    def take(self, data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        """Take an event of the dump with its checksum; hand out the transaction's changes."""
        yield from self._event(data, at, self._frames.body_end(data, at, end))

    def _event(self, data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        kind = data[at + 4]
        if kind == event_kinds.TRANSACTION_PAYLOAD and self._begun:
            for event in plain_events(data, at, end, self._reading.most_event_bytes):
                yield from self._event(*event)
        elif kind in event_kinds.ROWS or kind in event_kinds.PACKED or kind == event_kinds.TABLE_MAP:
            if self._begun:
                if not self._named:
                    raise self._another("has no name")
                yield data, at, end
        elif self._counts(small_event(data, at, end)):
            yield data, at, end

    def _counts(self, event: SmallEvent | None) -> bool:
        """Take an event that says where the transaction begins or ends; return whether it is a change."""
        match event:
            case GtidEvent() | MariaDbGtidEvent():
                self._begins(event)
            case QueryEvent() if self._begun:
                return self._changes(effects_of(event, self._reading))
            case XaPrepareEvent(xid=xid) if self._begun:
                self._takes(xid)
                self.ended = True
        return False

    def _begins(self, event: GtidEvent | MariaDbGtidEvent) -> None:
        """Begin the part: at a known place it is the first transaction, otherwise the one with the GTID."""
        if self._begun:
            raise self._another("has no end")
        self._begun = not self.part.gtid or str(event.gtid) == self.part.gtid
        if self._begun and isinstance(event, MariaDbGtidEvent):
            self._takes(event.xid)

    def _changes(self, deeds: tuple[DdlEffect, ...]) -> bool:
        match deeds:
            case (TransactionControl(ControlKind.XA_START, xid=xid),):
                self._takes(xid)
            case (TransactionControl(ControlKind.SAVEPOINT | ControlKind.ROLLBACK_TO),):
                return True
            case () | (TransactionControl(),):
                pass
            case _:
                return True
        return False

    def _takes(self, xid: Xid | None) -> None:
        if xid is None or str(xid) != self.part.xid:
            raise self._another("is another transaction")
        self._named = True

    def _another(self, reason: str) -> WracklineError:
        where = self.part.gtid or f"{self.part.file}:{self.part.offset}"
        return LOG_ANOTHER(reason=f"what was prepared as {self.part.xid} in {where} {reason}")


class XaTracker:
    """Tracks what the open transaction commits, if its rows are elsewhere."""

    def __init__(self, place: LogCursor, reading: MySqlStreamOptions) -> None:
        self._place, self._reading = place, reading
        self.part: XaPartReader | None = None  # to be read before the log continues

    def prepared(self, xid: Xid, opened: Transaction, *, one_phase: bool) -> bool:
        """Take the end of a part; return whether the transaction ends here, or has to be read again."""
        if not one_phase:
            self._place.prepares(str(xid), opened.start, opened.gtid)
            return True
        opened.prepared = False
        self._wants(XaPart(str(xid), file=opened.file, offset=opened.start.offset))
        return False

    def completed(self, control: TransactionControl) -> bool:
        """Take XA COMMIT or XA ROLLBACK; return whether that is all of the transaction."""
        xid = str(control.xid)
        part = self._part_of(xid) if control.word is ControlKind.XA_COMMIT else None
        if part is None:
            self._place.ended(xid)
            return True
        self._wants(part)
        return False

    def read(self) -> None:
        """Note that the part was read to its end."""
        if self.part is not None:
            self._place.ended(self.part.part.xid)
        self.part = None

    def _wants(self, part: XaPart) -> None:
        self.part = XaPartReader(part, self._reading)

    def _part_of(self, xid: str) -> XaPart | None:
        """Return where the rows of an XA transaction are; None: it ended before we read the first row."""
        known, held = self._place.prepared.get(xid), self._place.gtids
        if known is not None and known.file:
            return XaPart(xid, file=known.file, offset=known.offset)
        if known is not None and not known.gtid:
            return None
        if known is None or held is None:
            raise XA_UNKNOWN(xid=xid)
        return XaPart(xid, known.gtid, behind=before_one(held, known.gtid, known.after))
