"""XA transactions: their rows are logged when they are prepared, and count when XA COMMIT is logged.  Pure.

    GTID | XA START  rows  XA END  XA PREPARE  …others…  GTID | XA COMMIT
    '---- the part, handed out by nobody ----'                '- read here, as this transaction's rows -'

MySQL logs a transaction of one phase the same way, and its last event says that it is committed by that: its
part is itself.  The part comes by a dump of its own, which may send other transactions before it: on another
server than the one where it was met, nobody knows its place, only its GTID.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from wrackline.producers.sources.mysql import kinds
from wrackline.producers.sources.mysql.dump_refusals import LOG_ANOTHER
from wrackline.producers.sources.mysql.events import (
    Frames,
    GroupBegun,
    Query,
    SmallEvent,
    TransactionBegun,
    XaPrepared,
    Xid,
    small_event,
)
from wrackline.producers.sources.mysql.gtids import AnyGtids, before_one
from wrackline.producers.sources.mysql.place import Place
from wrackline.producers.sources.mysql.queries import deeds_of
from wrackline.producers.sources.mysql.scope import Reading
from wrackline.producers.sources.mysql.statements import Control, Deed, Word
from wrackline.producers.sources.mysql.transaction import Transaction
from wrackline.producers.sources.mysql.unpacked import spans, unpacked
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define

XA_UNKNOWN = define(
    "mysql.xa_unknown",
    Definite,
    "the XA transaction {xid} is committed, and its rows stand in the log before the place where we began",
    hint="begin anew: wrackline offsets reset <pipeline.toml>, and the next start reads all rows; so that a"
    " start can wait for such transactions: GRANT XA_RECOVER_ADMIN ON *.* TO the pipeline's user",
)
XA_PURGED = define(
    "mysql.xa_purged",
    Definite,
    "the XA transaction {xid} is committed, and the server no longer has the part of its log with its rows",
    hint="let it keep its log longer than XA transactions stay open: SET GLOBAL binlog_expire_logs_seconds ="
    " 604800; and begin anew: wrackline offsets reset <pipeline.toml>",
)
XA_OPEN = define(
    "mysql.xa_open",
    OperatorNeeded,
    "XA transactions are prepared since before we began, and do not end: {xids}",
    hint="end each on the server, or have its application do so: XA COMMIT <xid>, or XA ROLLBACK <xid>; all"
    " that are open: {look}; then start again",
)


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be read: at a place of this server's log, or behind what a set of GTIDs has."""

    xid: str
    gtid: str = ""
    file: str = ""
    offset: int = 0
    behind: AnyGtids | None = None


class PartReading:
    """Finds the part in its dump, and the events in it that change something."""

    def __init__(self, part: Part, reading: Reading) -> None:
        self.part, self._reading = part, reading
        self._frames = Frames()
        self._begun = self._named = False
        self.ended = False

    def take(self, data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        """Take an event of the dump with its checksum; hand out what the transaction changes."""
        yield from self._event(data, at, self._frames.body_end(data, at, end))

    def _event(self, data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        kind = data[at + 4]
        if kind == kinds.TRANSACTION_PAYLOAD and self._begun:
            plain = unpacked(data, at, end, self._reading.most_event_bytes)
            for begin, behind in spans(plain):
                yield from self._event(plain, begin, behind)
        elif kind in kinds.ROWS or kind in kinds.PACKED or kind == kinds.TABLE_MAP:
            if self._begun:
                if not self._named:
                    raise self._another("has no name")
                yield data, at, end
        elif self._counts(small_event(data, at, end)):
            yield data, at, end

    def _counts(self, event: SmallEvent | None) -> bool:
        """Take what says where the transaction begins and ends; whether it is something else."""
        match event:
            case TransactionBegun() | GroupBegun():
                self._begins(event)
            case Query() if self._begun:
                return self._changes(deeds_of(event, self._reading))
            case XaPrepared(xid=xid) if self._begun:
                self._takes(xid)
                self.ended = True
        return False

    def _begins(self, event: TransactionBegun | GroupBegun) -> None:
        """At a known place, the first transaction is the one."""
        if self._begun:
            raise self._another("has no end")
        self._begun = not self.part.gtid or str(event.gtid) == self.part.gtid
        if self._begun and isinstance(event, GroupBegun):
            self._takes(event.xid)

    def _changes(self, deeds: tuple[Deed, ...]) -> bool:
        match deeds:
            case (Control(Word.XA_START, xid=xid),):
                self._takes(xid)
            case (Control(Word.SAVEPOINT | Word.ROLLBACK_TO),):
                return True
            case () | (Control(),):
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


class Xa:
    """What the open transaction commits, where its rows stand elsewhere."""

    def __init__(self, place: Place, reading: Reading) -> None:
        self._place, self._reading = place, reading
        self.part: PartReading | None = None  # to be read before the log goes on

    def prepared(self, xid: Xid, opened: Transaction, *, one_phase: bool) -> bool:
        """Take the end of a part; whether the transaction ends by it, or has to be read again."""
        if not one_phase:
            self._place.prepares(str(xid), opened.start, opened.gtid)
            return True
        opened.prepared = False
        self._wants(Part(str(xid), file=opened.file, offset=opened.start.offset))
        return False

    def completed(self, control: Control) -> bool:
        """Take XA COMMIT or XA ROLLBACK; whether that is all of the transaction."""
        xid = str(control.xid)
        part = self._part_of(xid) if control.word is Word.XA_COMMIT else None
        if part is None:
            self._place.ended(xid)
            return True
        self._wants(part)
        return False

    def read(self) -> None:
        """The part was read to its end."""
        if self.part is not None:
            self._place.ended(self.part.part.xid)
        self.part = None

    def _wants(self, part: Part) -> None:
        self.part = PartReading(part, self._reading)

    def _part_of(self, xid: str) -> Part | None:
        """Return where the rows of an XA transaction are; None: it ended before we read the first row."""
        known, held = self._place.prepared.get(xid), self._place.gtids
        if known is not None and known.file:
            return Part(xid, file=known.file, offset=known.offset)
        if known is not None and not known.gtid:
            return None
        if known is None or held is None:
            raise XA_UNKNOWN(xid=xid)
        return Part(xid, known.gtid, behind=before_one(held, known.gtid, known.after))
