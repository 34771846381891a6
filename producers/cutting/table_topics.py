"""The topic that each table writes into, and that no other table writes into.

    tables of a log that is opened  -->  settle  -->  those that can have no topic of their own, and why
    a table that comes later        -->  of      -->  its topic, or the same error: that table's fault

Why no table loses its topic to a new table: tables that have written before are settled first, and what is
taken stays taken.  New tables with the same topic are all refused, because a choice would depend on their
order.
"""

from collections.abc import Collection, Mapping
from threading import Lock

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming, assign, table_topic
from wrackline.schemas.tables.table import TableId


class TableTopics:
    """The topics of one server; readers' threads call it too."""

    def __init__(self, server: str, naming: Naming) -> None:
        self._server, self._naming, self._lock = server, naming, Lock()
        self._topics: dict[TableId, str] = {}
        self._refused: dict[TableId, WracklineError] = {}

    @property
    def naming(self) -> Naming:
        """How they are named."""
        return self._naming

    def settle(self, *groups: Collection[TableId]) -> Mapping[TableId, WracklineError]:
        """Note tables, first those that have written before; return the refused tables."""
        tables = [table for group in groups for table in group]
        with self._lock:
            for table in tables:
                self._refused.pop(table, None)
            for group in groups:
                self._give(group)
            return {table: self._refused[table] for table in tables if table in self._refused}

    def wished(self, table: TableId) -> str:
        """Return the topic that a table would have, without a look at its neighbours."""
        return table_topic(self._server, table, self._naming)

    def of(self, table: TableId) -> str:
        """Return a table's topic; raise the reason why it has none."""
        with self._lock:
            if table not in self._topics and table not in self._refused:
                self._give([table])
            if table in self._refused:
                raise self._refused[table]
            return self._topics[table]

    def _give(self, tables: Collection[TableId]) -> None:
        assigned = assign(self._server, tables, taken=self._topics, naming=self._naming)
        self._topics |= assigned.topics
        self._refused |= assigned.refused
