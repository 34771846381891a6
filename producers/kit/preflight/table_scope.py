"""Which tables a check looks at.  Pure.

    listed tables, requested tables, filters  ->  chosen tables, absent tables, patterns that match nothing

How a source lists tables, and which of them its user can't read, is its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.tables.table import TableId


class ListedTable(Protocol):
    """A table as a source lists it, with whatever else its probes need."""

    @property
    def id(self) -> TableId:
        """Its name."""
        ...


T = TypeVar("T", bound=ListedTable)


@dataclass(frozen=True, slots=True)
class TableScope(Generic[T]):
    """The tables that a server lists, and the choice among them."""

    listed: Sequence[T]
    requested: frozenset[TableId]
    filters: TableFilter

    def chosen(self, eligible: Callable[[T], bool]) -> list[T]:
        """Return the requested tables, and eligible ones that the filters name.

        Without an include list the filters name nothing, so a table that was not requested is not meant.
        """
        named = bool(self.filters.tables_in or self.filters.schemas_in)
        return [
            table
            for table in self.listed
            if table.id in self.requested or (named and eligible(table) and self.filters.captures(table.id))
        ]

    def absent(self) -> list[TableId]:
        """Return the requested tables that the server does not list."""
        return sorted(self.requested.difference(table.id for table in self.listed))

    def filter_findings(self) -> Iterator[Finding]:
        """Report patterns of the filters that match none of the listed tables."""
        return self.filters.findings(table.id for table in self.listed)
