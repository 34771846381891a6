"""Which tables want something, and which of the log's rows they want to know of.

In: a table after anything about it has changed.  Out: the tables to look at, so that of many thousand tables
those that want nothing are not asked.
"""

from collections.abc import Iterator, Sequence

from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.tables import Table
from wrackline.producers.snapshot.window import Window
from wrackline.schemas.table import TableId

_ORDER = (Purpose.REQUESTED, Purpose.REFRESH, Purpose.INITIAL)


class Roster:
    """The tables of one machine, by what they want."""

    def __init__(self) -> None:
        self.wanting: dict[TableId, Table] = {}  # in the order in which they came to want something
        self.planning: dict[TableId, Table] = {}
        self.windowed: dict[TableId, Table] = {}
        self.watching: dict[int, Table] = {}  # by ref

    def note(self, table: Table) -> None:
        """Look at a table again."""
        if table.watches or table.state.active is not None:
            self.wanting.setdefault(table.id, table)
        else:
            self.wanting.pop(table.id, None)
        if table.plan is not None:
            self.planning[table.id] = table
        else:
            self.planning.pop(table.id, None)
        if table.windows:
            self.windowed.setdefault(table.id, table)
        else:
            self.windowed.pop(table.id, None)
        for ref in table.refs:
            if table.watches:
                self.watching[ref] = table
            else:
                self.watching.pop(ref, None)

    def most_urgent_first(self) -> Sequence[Table]:
        """Who wants something, in the order in which readers are given out when they are few.

        Rows that the copy lacks a part of, then what somebody asked for and waits for, then what the copy has
        wrong, then what it does not have yet; among these who came first.
        """
        return sorted(self.wanting.values(), key=_urgency)

    def windows(self) -> Iterator[Window]:
        """All windows there are."""
        for table in self.windowed.values():
            yield from table.windows.values()

    def others_read_keyless(self, table: Table) -> bool:
        """Whether another table without a key is being read: one such read at a time is enough."""
        return any(other.reads_keyless for other in self.wanting.values() if other is not table)


def _urgency(table: Table) -> int:
    job = table.state.active
    if table.state.missing or job is None:
        return -1
    return _ORDER.index(job.purpose)
