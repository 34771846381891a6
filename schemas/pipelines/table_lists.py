"""A list setting that may be given for single tables as well.

    skipped.operations                = t
    skipped.operations.public.orders  = u,d

In: the list, and those of single tables.  Out: what it names for a table: both lists together.
Tables are compared as their topics are named, because the target's half knows a table by its topic: a *copy*
has such names already.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableId

_NOTHING: Final = "none"


class TableLists:
    """What a list setting names, for all tables and for single ones."""

    def __init__(
        self,
        everywhere: Iterable[str],
        of_tables: Iterable[tuple[Mapping[str, str], Value]],
        naming: Naming,
    ) -> None:
        """Take the list, and the settings of the family `<list>.<table>`."""
        self.everywhere, self._naming = frozenset(everywhere) - {_NOTHING}, naming
        self._more = {
            self._key(places["table"].split(".", 1)): frozenset(more) - {_NOTHING}
            for places, more in of_tables
            if isinstance(more, tuple)
        }

    def more(self, table: TableId) -> frozenset[str]:
        """Return what is named for this table alone."""
        return self._more.get(self._key(table[1:]), frozenset())

    def more_of_copy(self, table: TableId) -> frozenset[str]:
        """Return what is named for the table of this copy alone."""
        return self._more.get(table[1:], frozenset())

    def of(self, table: TableId) -> frozenset[str]:
        """Return all that is named for a table."""
        return self.everywhere | self.more(table)

    def of_copy(self, table: TableId) -> frozenset[str]:
        """Return all that is named for the table of this copy."""
        return self.everywhere | self.more_of_copy(table)

    def _key(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self._naming.part, names))
