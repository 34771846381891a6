"""The transaction that the log is in, and what its events have in common.  Pure.

It is named by its GTID, or by where its first event begins where the server gives none.  The frame of a
table's events is made with the first of them, for one transaction and table.
"""

from dataclasses import dataclass, field

from wrackline.producers.sources.mysql.events import GroupBegun, Header, TransactionBegun
from wrackline.producers.sources.mysql.gtids import MariaDbGtid, MySqlGtid
from wrackline.producers.sources.mysql.origin import Labels, Whence, source_record
from wrackline.producers.sources.mysql.position import MySqlPosition
from wrackline.schemas.frame import Frame
from wrackline.schemas.seq import log_prefix
from wrackline.schemas.table import TableId

_US_PER_MS = 1000
_MS_PER_S = 1000


@dataclass(slots=True)
class Transaction:
    """One that has begun; `start` is the place before its first change."""

    id: str
    start: MySqlPosition
    file: str
    gtid: MySqlGtid | MariaDbGtid | None
    server_id: int
    committed_ms: int
    ends: int  # where MySQL said that it ends; 0: it did not
    alone: bool  # one event follows, and is all of it
    skip: int = 0  # so many changes are out already
    done: int = 0  # changes that have come
    told: int = 0  # behind the last of a table that is captured
    handed: int = 0  # of these, behind the last that is in a batch
    savepoints: dict[str, int] = field(default_factory=dict)  # how many changes stand before each
    thread: int | None = None
    announced: bool = False  # `Begin` was handed out
    prepared: bool = False  # its changes count when it is committed, and are read again then
    void: bool = False  # its statement changes nothing
    lost: bool = False  # the server took it back
    committed_us: int | None = None  # where the log has it; older ones have whole seconds
    _orders: dict[TableId, int] = field(default_factory=dict)
    _frames: dict[TableId, Frame] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """Whether its rows are not told where they stand."""
        return self.prepared or self.lost

    def ends_at(self, offset: int) -> bool:
        """Whether an event that ends here is its last, of those that do not say so themselves."""
        return self.alone or 0 < self.ends <= offset

    def order(self, table: TableId, count: int) -> int:
        """Count its changes of one table; return how many there were before."""
        before = self._orders.get(table, 0)
        self._orders[table] = before + count
        return before

    def passes(self, table: TableId, count: int) -> None:
        """Count changes of one table, whether they are told or not."""
        self.done += count
        self.order(table, count)

    def frame(self, labels: Labels, table: TableId) -> Frame:
        """Return what all of its events of one table have in common."""
        made = self._frames.get(table)
        if made is None:
            gtid = None if self.gtid is None else str(self.gtid)
            whence = Whence(self.start.offset, self.file, self.server_id, gtid, self.thread)
            made = self._frames[table] = Frame(
                source_record(labels, table, whence, ts_ms=self.committed_ms, ts_us=self.committed_us),
                log_prefix(self.start.epoch, self.start.begins()),
                ts_ms=self.committed_ms,
                transaction=self.id if labels.counted else None,
            )
        return made


def begun(event: TransactionBegun | GroupBegun, head: Header, start: MySqlPosition, file: str) -> Transaction:
    """Take the event that a transaction begins with; it lies at `start`."""
    name = f"{file}:{start.offset}" if event.gtid is None else str(event.gtid)
    at_all = head.timestamp * _MS_PER_S
    if isinstance(event, GroupBegun):
        return Transaction(
            name,
            start,
            file,
            event.gtid,
            head.server_id,
            at_all,
            0,
            event.standalone,
            prepared=event.prepared,
            void=event.alters_nothing,
        )
    committed = event.committed_first_us // _US_PER_MS or at_all
    ends = start.offset + event.length if event.length else 0
    exactly = event.committed_first_us or None
    return Transaction(
        name, start, file, event.gtid, head.server_id, committed, ends, alone=False, committed_us=exactly
    )
