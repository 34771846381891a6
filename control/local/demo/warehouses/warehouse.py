"""What the demo needs of the place of its copy; nothing outside this folder depends on which one it is.

    class    --started--> Warehouse    runs, and says how a pipeline's file names it
             --reader-->  CopyReader   in a process of its own: looks at the copy as its readers do

A copy's cells have the plain form of shops/shop.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from rich.console import Console
from rich.table import Table

from wrackline.consumers.contract.target import Counting
from wrackline.control.local.demo.shops.shop import Cells
from wrackline.control.local.stack.stack import Stack
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema


@dataclass(frozen=True, slots=True)
class CopyRows:
    """All that readers of a table see."""

    columns: Sequence[str]
    rows: Iterable[Cells]  # of the source's columns, in its order; read only if the columns are the same


class CopyReader(Protocol):
    """Looks at the copy; each call sees what is there now."""

    def begin(self, values: Values) -> None:
        """Take the pipeline's settings, before anything else is asked."""
        ...

    def applied(self, table: TableId) -> int:
        """Return the offsets that the table has applied, summed over the partitions."""
        ...

    def count(self, table: TableId) -> int | None:
        """Count what readers see; None: no table."""
        ...

    def read(self, table: TableSchema) -> CopyRows | None:
        """Read what readers see; None: no table."""
        ...

    def query(self, text: str, table: TableId) -> str | None:
        """Run a query of the warehouse's own SQL, and write its rows; None: no table."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Warehouse(Protocol):
    """One that runs."""

    kind: ClassVar[str]  # the target's folder
    title: ClassVar[str]  # as people call it
    label: ClassVar[str]  # a line of the picture: 13 characters
    sql: ClassVar[str]  # what its queries are written in
    stands_for: ClassVar[str]  # what is said first, where an emulator runs in place of a service
    stays: ClassVar[bool]  # whether the copy is there when everything has ended

    @classmethod
    def started(cls, stack: Stack, folder: Path) -> Self:
        """Start what has to run; the folder is the copy's."""
        ...

    @classmethod
    def reader(cls, folder: Path) -> CopyReader:
        """Prepare to read, before the servers run."""
        ...

    @property
    def settings(self) -> str:
        """How the pipeline's file names it: lines of its part [target], and parts behind it."""
        ...


def text_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows below their columns' names."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*("NULL" if cell is None else str(cell) for cell in row))
    out = StringIO()
    Console(file=out, width=160).print(table)
    return out.getvalue()


class EmulatedReader(ABC):
    """A reader of a service's emulator: progress by our own target, rows by the service's own driver."""

    _target: Any = None  # of the kind that the folder opens
    _user: Any = None  # the service's own driver

    def begin(self, values: Values) -> None:
        """Connect, as the pipeline does."""
        self._target = self.open(values)

    @abstractmethod
    def open(self, values: Values) -> object:
        """Open our target, which trusts nothing that it has read before."""

    def applied(self, table: TableId) -> int:
        """Ask our target."""
        return sum(self._target.applied(table).offsets.values())

    def count(self, table: TableId) -> int | None:
        """Count in the view."""
        if self._target.held(table) is None or not isinstance(self._target, Counting):
            return None
        return self._target.count(table)

    def close(self) -> None:
        """End both."""
        for one in (self._user, self._target):
            if one is not None:
                one.close()
