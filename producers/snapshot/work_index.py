"""Which tables want something, and which of the log's rows they need.

In: a table after anything about it has changed.  Out: the tables to look at, so that of many thousand tables
those that want nothing are not looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.snapshot.snapshot_table import SnapshotTable
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.producers.snapshot.work_items import Ticket
from wrackline.schemas.tables.table import TableId

# First rows that the copy has only in part, then requests that an operator waits for, then rows that are
# wrong in the copy, then rows that it does not have yet.
_ORDER = (None, Purpose.REQUESTED, Purpose.REFRESH, Purpose.INITIAL)


@dataclass(frozen=True, slots=True)
class ReadUnderWay:
    """A chunk of a job: being read, or held until the log has passed its mark."""

    table: TableId
    number: int  # of the range that it belongs to
    ticket: Ticket
    stage: WindowStage
    rows: int  # that are held


class WorkIndex:
    """The tables of one machine, by what they want."""

    def __init__(self) -> None:
        self.wanting: dict[TableId, SnapshotTable] = {}
        self._urgent: dict[Purpose | None, dict[TableId, SnapshotTable]] = {purpose: {} for purpose in _ORDER}
        self._keyless: dict[TableId, SnapshotTable] = {}  # those being read when they were last noted
        self.unstreamed: dict[
            TableId, SnapshotTable
        ] = {}  # those that want something, and whose changes are not handed out
        self.planning: dict[TableId, SnapshotTable] = {}
        self.windowed: dict[TableId, SnapshotTable] = {}
        self.watching: dict[int, SnapshotTable] = {}  # by ref

    def note(self, table: SnapshotTable) -> None:
        """Look at a table again."""
        wants = bool(table.windows or table.state.missing or table.state.active)
        _keep(self.wanting, table, wants)
        urgency = _urgency(table) if wants else None
        for purpose, those in self._urgent.items():
            _keep(those, table, wants and purpose is urgency)
        _keep(self.unstreamed, table, wants and not table.streamed and table.state.set_aside is None)
        _keep(self.planning, table, table.plan is not None)
        _keep(self.windowed, table, bool(table.windows))
        _keep(self._keyless, table, table.reads_keyless)
        for ref in table.refs:
            if table.watches:
                self.watching[ref] = table
            else:
                self.watching.pop(ref, None)

    def most_urgent_first(self) -> Iterator[SnapshotTable]:
        """Yield the tables that want something, in the order in which they get readers when readers are few.

        Among equally urgent tables, the first that came is first.  They may be noted meanwhile.
        """
        for those in self._urgent.values():
            yield from list(those.values())

    def windows(self) -> Iterator[Window]:
        """All windows there are."""
        for table in self.windowed.values():
            yield from table.windows.values()

    @property
    def held(self) -> int:
        """The bytes of all windows, with those that are being read."""
        return sum(window.size for window in self.windows())

    def reads(self) -> Sequence[ReadUnderWay]:
        """Return the chunks of jobs; on any thread, so it may be a moment old."""
        return [
            ReadUnderWay(table.id, window.number, ticket, window.stage, window.rows)
            for table in self.windowed.copy().values()
            for ticket, window in table.windows.copy().items()
            if window.job is not None
        ]

    def others_read_keyless(self, table: SnapshotTable) -> bool:
        """Whether another table without a key is being read: one such read at a time is enough."""
        return any(other.reads_keyless for other in self._keyless.values() if other is not table)


def _keep(those: dict[TableId, SnapshotTable], table: SnapshotTable, kept: bool) -> None:  # noqa: FBT001 - what was asked
    if kept:
        those.setdefault(table.id, table)
    else:
        those.pop(table.id, None)


def _urgency(table: SnapshotTable) -> Purpose | None:
    job = table.state.active
    return None if table.state.missing or job is None else job.purpose
