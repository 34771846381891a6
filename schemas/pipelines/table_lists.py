"""A list setting that may be given for single tables as well.

    skipped.operations                = t
    skipped.operations.public.orders  = u,d

In: the list, and those of single tables.  Out: what it names for a table: both lists together.
Tables are compared as their topics are named, because the target's half knows a table by its topic.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableId

_NOTHING: Final = "none"


class TableLists:
    """What a list setting names, for all tables and for single ones."""

    def __init__(
        self, everywhere: Iterable[str], of_tables: Iterable[tuple[Mapping[str, str], Value]]
    ) -> None:
        """Take the list, and the settings of the family `<list>.<table>`."""
        self.everywhere = frozenset(everywhere) - {_NOTHING}
        self._more = {
            _key(TableId("", *places["table"].split(".", 1))): frozenset(more) - {_NOTHING}
            for places, more in of_tables
            if isinstance(more, tuple)
        }

    def more(self, table: TableId) -> frozenset[str]:
        """Return what is named for this table alone."""
        return self._more.get(_key(table), frozenset())

    def of(self, table: TableId) -> frozenset[str]:
        """Return all that is named for a table."""
        return self.everywhere | self.more(table)


def _key(table: TableId) -> str:
    return table_topic("x", table, Naming.DEBEZIUM)
