"""A transaction on its way out: how far it has come, and what its events have in common.  Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wrackline.producers.sources.oracle.follow.ddl_statement import DdlDeed
from wrackline.producers.sources.oracle.mining.mined_row import MinedRow
from wrackline.producers.sources.oracle.mining.position import RedoRowPlace, commit_seq
from wrackline.producers.sources.oracle.rows.source_record import (
    OracleSourceLabels,
    row_spot,
    streamed_record,
)
from wrackline.producers.sources.oracle.transactions.transaction_buffer import CommittedTransaction
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.table import TableId


@dataclass(slots=True)
class OutgoingTransaction:
    """A transaction that is being handed out."""

    transaction: CommittedTransaction
    rest: Iterator[Sequence[tuple[RedoRowPlace, MinedRow]]]
    done: int  # rows that have come, also those of before a resume
    last: RedoRowPlace | None = None  # the row that came last
    announced: bool = False
    deeds: list[tuple[DdlDeed, TableId]] = field(default_factory=list)
    hidden: bool = False  # whether nothing of it is published
    altered: bool = False  # whether it has a DDL
    void: set[int] = field(default_factory=set)  # tables that are read again
    total: int = 0  # events that have come, as its END counts them
    frames: dict[TableId, Frame] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in events."""
        return self.transaction.xid.lower()

    @property
    def committed_ms(self) -> int:
        """When it was committed."""
        return self.transaction.committed // 1000

    def frame(self, labels: OracleSourceLabels, epoch: int, table: TableId, row: MinedRow) -> Frame:
        """Return the common part of its events of one table, set to a row's place."""
        made, out = self.frames.get(table), self.transaction
        if made is None:
            source = streamed_record(labels, table, out.xid, out.place.scn, out.username, ts_us=out.committed)
            made = self.frames[table] = Frame(
                source,
                commit_seq(epoch, out.place),
                ts_ms=self.committed_ms,
                transaction=self.name if labels.counted else None,
                skipped=labels.skipped,
            )
        made.total = self.total
        made.spot, made.row = row_spot(row.scn, row.rs_id, row.thread), row.ssn
        return made
