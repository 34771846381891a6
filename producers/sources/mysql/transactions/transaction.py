"""The open transaction of the log, and what its events have in common.  Pure.

It is named by its GTID, or by the place of its first event if the server gives no GTID.  The frame of a
table's events is made with the first event, for one transaction and table.
"""

from array import array
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import NamedTuple

from wrackline.producers.sources.mysql.events.events import GtidEvent, Header, MariaDbGtidEvent
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtid, MySqlGtid
from wrackline.producers.sources.mysql.log.position import MySqlPosition
from wrackline.producers.sources.mysql.rows.source_record import (
    MySqlSourceLabels,
    TransactionOrigin,
    streamed_record,
)
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.seq import log_prefix
from wrackline.schemas.tables.table import TableId

_US_PER_MS = 1000
_MS_PER_S = 1000


class TransactionMark(NamedTuple):
    """A place in a transaction to which it may roll back."""

    done: int  # changes before it
    total: int  # events before it, as the transaction's END counts them
    of_tables: "array[int]"  # of these, by table, in the order in which the tables came; empty: none


BEGINNING = TransactionMark(0, 0, array("Q"))


@dataclass(slots=True)
class Transaction:
    """A transaction that has begun; `start` is the place before its first change."""

    id: str
    start: MySqlPosition
    file: str
    gtid: MySqlGtid | MariaDbGtid | None
    server_id: int
    committed_ms: int
    ends: int  # where MySQL said that it ends; 0: it did not
    alone: bool  # only one event follows
    skip: int = 0  # how many changes are already published
    done: int = 0  # changes that have come
    handled_end: int = 0  # behind the last change of a captured table, or the last signal
    handed: int = 0  # of these, behind the last change in a batch
    savepoints: dict[str, TransactionMark] = field(default_factory=dict)  # a name's last one
    thread: int | None = None
    announced: bool = False  # `Begin` was handed out
    prepared: bool = False  # its changes count when it is committed, and are read again then
    void: bool = False  # its statement changes nothing
    lost: bool = False  # the server rolled it back
    committed_us: int | None = None  # if the log has it; older logs have whole seconds
    total: int = 0  # events that have come, as its END counts them
    _frames: dict[TableId, Frame] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """Whether its rows are not handed out at their place."""
        return self.prepared or self.lost

    def ends_at(self, offset: int) -> bool:
        """Whether an event that ends here is its last, for events that do not say so themselves."""
        return self.alone or 0 < self.ends <= offset

    def set_savepoint(self, savepoint: str) -> None:
        """Note at a savepoint how much has come."""
        counted = self._frames.values() if self.total else ()
        self.savepoints[savepoint] = TransactionMark(
            self.done, self.total, array("Q", [frame.of_table for frame in counted])
        )

    def forget_after(self, mark: TransactionMark) -> None:
        """Forget the counts behind this mark, which are not published."""
        self.handled_end, self.total = mark.done, mark.total
        of_tables = chain(mark.of_tables, repeat(0))  # later tables had no events
        for frame, of_table in zip(self._frames.values(), of_tables, strict=False):
            frame.of_table = of_table

    def frame(self, labels: MySqlSourceLabels, table: TableId, place: int) -> Frame:
        """Return the common part of its events of one table, set to an event's place."""
        made = self._frames.get(table)
        if made is None:
            whence = TransactionOrigin(self.file, self.server_id, self.start.gtid, self.thread)
            ts_us = self.committed_ms * _US_PER_MS if self.committed_us is None else self.committed_us
            made = self._frames[table] = Frame(
                streamed_record(labels, table, whence, ts_us=ts_us),
                log_prefix(self.start.epoch, self.start.begins()),
                ts_ms=self.committed_ms,
                transaction=self.id if labels.counted else None,
                skipped=labels.skipped,
            )
        made.place, made.row, made.total = place, 0, self.total
        return made


def begin_transaction(
    event: GtidEvent | MariaDbGtidEvent, head: Header, start: MySqlPosition, file: str
) -> Transaction:
    """Take the first event of a transaction; it is at `start`."""
    name = start.gtid or f"{file}:{start.offset}"
    at_all = head.timestamp * _MS_PER_S
    if isinstance(event, MariaDbGtidEvent):
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
