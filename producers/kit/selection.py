"""The tables of one source partition: which of them the filters capture, and what each is now.

    catalogue  ->  what the user can see, except the signal table  ->  captured | left out

Every source has its own catalogue, which `catalogued` lends on the connection that is then open.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.tables.table import TableId, TableSchema


class Catalogue(Protocol):
    """What a server says of its tables."""

    def tables(self) -> Sequence[TableId]:
        """List the tables that the connector's user can see."""
        ...

    def keep(self, tables: Collection[TableId]) -> None:
        """Look up many tables together, for the calls that follow."""
        ...

    def describe(self, table: TableId) -> Projection:
        """Return a table's shape now; OperatorNeeded if it has none."""
        ...


class Selection:
    """The tables of a catalogue that the filters select; `ours` is the signal table, which is never data."""

    def __init__(
        self,
        catalogued: Callable[[], AbstractContextManager[Catalogue]],
        chosen: TableFilter,
        ours: Callable[[], TableId | None],
    ) -> None:
        """Ask nothing yet; `ours` may ask the server, so it is called while nothing else does."""
        self._catalogued, self._filter, self._ours = catalogued, chosen, ours

    def tables(self) -> Sequence[TableId]:
        """List the tables that the user can see and the filters capture."""
        return [table for table in self._visible() if self._filter.captures(table)]

    def left_out(self) -> Sequence[TableId]:
        """List the tables that the user can see and the filters do not capture."""
        return [table for table in self._visible() if not self._filter.captures(table)]

    def describe(self, table: TableId) -> TableSchema:
        """Return a table's shape now."""
        with self._catalogued() as catalogue:
            return catalogue.describe(table).table

    def described(self, tables: Collection[TableId]) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the shapes of many tables now, or why a table has none."""
        found: dict[TableId, TableSchema | WracklineError] = {}
        with self._catalogued() as catalogue:
            catalogue.keep(tables)
            for table in tables:
                try:
                    found[table] = catalogue.describe(table).table
                except OperatorNeeded as error:
                    found[table] = error
        return found

    def captures(self, listed: Collection[TableId], aside: Collection[TableId]) -> Callable[[TableId], bool]:
        """Decide by the current name, so that a table may come, go and be renamed."""
        known, not_now, ours = frozenset(listed), frozenset(aside), self._ours()

        def captured(table: TableId) -> bool:
            if table in known:
                return True
            return table != ours and table not in not_now and self._filter.captures(table)

        return captured

    def _visible(self) -> Sequence[TableId]:
        ours = self._ours()
        with self._catalogued() as catalogue:
            return [table for table in catalogue.tables() if table != ours]
