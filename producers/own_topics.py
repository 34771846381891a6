"""Which topic each table writes into, and that no other table writes there.

    tables of a log that is opened  -->  settle  -->  those that can have no topic of their own, and why
    a table that comes later        -->  of      -->  its topic, or the same error: that table's fault

Why nobody loses a topic to a newcomer: tables that have written before are settled first, and what is taken
stays so.  Newcomers who wish for the same topic are all refused, for a choice would change with their order.
"""

from collections.abc import Collection, Mapping
from threading import Lock

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.table import TableId
from wrackline.schemas.topics import assign, table_topic


class OwnTopics:
    """The topics of one server; readers' threads ask too."""

    def __init__(self, server: str) -> None:
        self._server, self._lock = server, Lock()
        self._taken: dict[TableId, str] = {}
        self._refused: dict[TableId, WracklineError] = {}

    def settle(self, *groups: Collection[TableId]) -> Mapping[TableId, WracklineError]:
        """Take note of tables, first of those that have written before; return the refused ones."""
        tables = [table for group in groups for table in group]
        with self._lock:
            for table in tables:
                self._refused.pop(table, None)
            for group in groups:
                self._give(group)
            return {table: self._refused[table] for table in tables if table in self._refused}

    def wished(self, table: TableId) -> str:
        """Return the topic that a table would have, without a look at its neighbours."""
        return table_topic(self._server, table)

    def of(self, table: TableId) -> str:
        """Return a table's topic; raise why it has none."""
        with self._lock:
            if table not in self._taken and table not in self._refused:
                self._give([table])
            if table in self._refused:
                raise self._refused[table]
            return self._taken[table]

    def _give(self, tables: Collection[TableId]) -> None:
        assigned = assign(self._server, tables, taken=self._taken)
        self._taken |= assigned.topics
        self._refused |= assigned.refused
