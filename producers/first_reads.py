"""Which existing rows a start asks for, by `snapshot.mode` and `snapshot.include.collection.list`.  Pure.

    tables captured now, tables known from before --> a request of the worker's own, or none

A table that the settings capture for the first time is read whichever start it is: at the first one that
is all of them, later it is one that a changed filter lets in.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Self

from wrackline.producers.snapshot.requests import Purpose, Snapshot
from wrackline.schemas.filters import Listed
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

_INCLUDE: Final = "snapshot.include.collection.list"


@dataclass(frozen=True, slots=True)
class FirstReads:
    """What the settings say of rows that exist already."""

    mode: str = "initial"
    include: tuple[Listed, ...] = ()

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read the settings."""
        listed = () if values[_INCLUDE] is None else values.listed(_INCLUDE)
        return cls(values.text("snapshot.mode"), tuple(Listed.of(_INCLUDE, text) for text in listed))

    def asked(self, tables: Sequence[TableId], known: Collection[TableId], run: str) -> Snapshot | None:
        """Ask for the rows of tables that are not known yet; of all, where each start is to read them."""
        if self.mode == "no_data":
            return None
        again = self.mode == "always"
        wanted = tuple(t for t in tables if (again or t not in known) and self._includes(t))
        return Snapshot(f"start-{run}" if again else "initial", wanted, Purpose.INITIAL) if wanted else None

    def comes(self, table: TableId, request: str) -> Snapshot | None:
        """Ask for the rows of a table that comes while the log is read."""
        wanted = self.mode != "no_data" and self._includes(table)
        return Snapshot(request, (table,), Purpose.INITIAL) if wanted else None

    def _includes(self, table: TableId) -> bool:
        return not self.include or any(one.matches_table(table) for one in self.include)
