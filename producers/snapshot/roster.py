"""Which tables want something, and which of the log's rows they want to know of.

In: a table after anything about it has changed.  Out: the tables to look at, so that of many thousand tables
those that want nothing are not asked.
"""

from collections.abc import Iterator

from wrackline.producers.snapshot.tables import Table
from wrackline.producers.snapshot.window import Window
from wrackline.schemas.table import TableId


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

    def windows(self) -> Iterator[Window]:
        """All windows there are."""
        for table in self.windowed.values():
            yield from table.windows.values()

    def others_read_keyless(self, table: Table) -> bool:
        """Whether another table without a key is being read: one such read at a time is enough."""
        return any(other.reads_keyless for other in self.wanting.values() if other is not table)
