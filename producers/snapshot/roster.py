"""Which tables want something, and which of the log's rows they want to know of.

In: a table after anything about it has changed.  Out: the tables to look at, so that of many thousand tables
those that want nothing are not asked.
"""

from collections.abc import Iterator

from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.tables import Table
from wrackline.producers.snapshot.window import Window
from wrackline.schemas.table import TableId

# Rows that the copy lacks a part of, then what somebody asked for and waits for, then what the copy has
# wrong, then what it does not have yet.
_ORDER = (None, Purpose.REQUESTED, Purpose.REFRESH, Purpose.INITIAL)


class Roster:
    """The tables of one machine, by what they want."""

    def __init__(self) -> None:
        self.wanting: dict[TableId, Table] = {}
        self._urgent: dict[Purpose | None, dict[TableId, Table]] = {purpose: {} for purpose in _ORDER}
        self._keyless: dict[TableId, Table] = {}  # that were being read when they were noted last
        self.unstreamed: dict[
            TableId, Table
        ] = {}  # that want something, and whose changes are not handed out
        self.planning: dict[TableId, Table] = {}
        self.windowed: dict[TableId, Table] = {}
        self.watching: dict[int, Table] = {}  # by ref

    def note(self, table: Table) -> None:
        """Look at a table again."""
        wants = table.watches or table.state.active is not None
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

    def most_urgent_first(self) -> Iterator[Table]:
        """Who wants something, in the order in which readers are given out when they are few.

        Among those that are as urgent who came first.  They may be noted meanwhile.
        """
        for those in self._urgent.values():
            yield from list(those.values())

    def windows(self) -> Iterator[Window]:
        """All windows there are."""
        for table in self.windowed.values():
            yield from table.windows.values()

    def others_read_keyless(self, table: Table) -> bool:
        """Whether another table without a key is being read: one such read at a time is enough."""
        return any(other.reads_keyless for other in self._keyless.values() if other is not table)


def _keep(those: dict[TableId, Table], table: Table, kept: bool) -> None:  # noqa: FBT001 - what was asked
    if kept:
        those.setdefault(table.id, table)
    else:
        those.pop(table.id, None)


def _urgency(table: Table) -> Purpose | None:
    job = table.state.active
    return None if table.state.missing or job is None else job.purpose
