"""Which existing rows a start asks for, by `snapshot.mode` and the settings beside it.  Pure.

    tables captured now, tables known from before --> a request of the worker's own, or none

A table that the settings capture for the first time is read whichever start it is: at the first one that
is all of them, later it is one that a changed filter lets in.  A statement of one's own (`overrides.py`) says
which of its rows the copy begins with; what is asked for later, and the log, do not know it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Self

from wrackline.producers.snapshot.requests import Purpose, Snapshot
from wrackline.schemas import overrides
from wrackline.schemas.filters import MATCHES_NOTHING, Listed, matches_nothing
from wrackline.schemas.findings import Finding
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

_INCLUDE: Final = "snapshot.include.collection.list"
_CONFIGURED: Final = "configuration_based"
_DATA: Final = "snapshot.mode.configuration.based.snapshot.data"
_STREAM: Final = "snapshot.mode.configuration.based.start.stream"
_ON_ERROR: Final = "snapshot.mode.configuration.based.snapshot.on.data.error"


class Reads(Enum):
    """Whose rows a start reads."""

    NEW = "new"  # of tables that are not known yet
    ALL = "all"  # at each start
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Mode:
    """What `snapshot.mode` means."""

    reads: Reads = Reads.NEW
    ends: bool = False  # the pipeline is over once rows are read
    mends: bool = False  # where the log was lost all is read again, and the log goes on


MODES: Final = {
    "initial": Mode(),
    "exported": Mode(),
    "initial_only": Mode(ends=True),
    "when_needed": Mode(mends=True),
    "always": Mode(Reads.ALL),
    "no_data": Mode(Reads.NONE),
    "never": Mode(Reads.NONE),
    "schema_only": Mode(Reads.NONE),
}


@dataclass(frozen=True, slots=True)
class FirstReads:
    """What the settings say of rows that exist already."""

    mode: Mode = field(default_factory=Mode)
    include: tuple[Listed, ...] = ()
    conditions: Mapping[str, str | None] = field(default_factory=dict)  # by schema.table, or with database

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read the settings."""
        listed = () if values[_INCLUDE] is None else values.listed(_INCLUDE)
        include = tuple(Listed.of(_INCLUDE, text) for text in listed)
        return cls(_mode(values), include, overrides.conditions_of(values))

    def asked(self, tables: Sequence[TableId], known: Collection[TableId], run: str) -> Snapshot | None:
        """Ask for the rows of tables that are not known yet; of all, where each start is to read them."""
        again = self.mode.reads is Reads.ALL
        wanted = [table for table in tables if again or table not in known]
        return self._request(f"start-{run}" if again else "initial", wanted)

    def comes(self, table: TableId, request: str, *, anew: bool = False) -> Snapshot | None:
        """Ask for the rows of a table that comes while the log is read, or comes again after a gap."""
        return None if self.mode.reads is Reads.NONE else self._request(request, [table], anew=anew)

    def mended(self, tables: Sequence[TableId], request: str) -> Snapshot | None:
        """Ask for the rows of all tables after a gap in the log."""
        return self._request(request, tables, anew=True)

    def condition(self, table: TableId) -> str | None:
        """Return which rows a copy begins with; None: all."""
        return next((self.conditions[name] for name in _names(table) if name in self.conditions), None)

    def unused(self, tables: Collection[TableId]) -> Sequence[str]:
        """Name the tables with a statement of their own that are not captured."""
        names = {name for table in tables for name in _names(table)}
        return [name for name in self.conditions if name not in names]

    def unmatched(self, tables: Collection[TableId]) -> Iterator[Finding]:
        """Name each pattern and each statement that is for none of the captured tables."""
        for one in self.include:
            if not any(map(one.matches_table, tables)):
                yield matches_nothing(one, "captured table")
        for name in self.unused(tables):
            yield MATCHES_NOTHING(setting=overrides.LIST, pattern=name, what="captured table")

    def _request(self, request: str, tables: Sequence[TableId], *, anew: bool = False) -> Snapshot | None:
        wanted = tuple(table for table in tables if self._includes(table))
        if (self.mode.reads is Reads.NONE and not anew) or not wanted:
            return None
        conditions = {table: text for table in wanted if (text := self.condition(table)) is not None}
        return Snapshot(request, wanted, Purpose.INITIAL, conditions=conditions, anew=anew)

    def _includes(self, table: TableId) -> bool:
        return not self.include or any(one.matches_table(table) for one in self.include)


NO_READS: Final = FirstReads(MODES["no_data"])


def _mode(values: Values) -> Mode:
    named = values.text("snapshot.mode")
    if named != _CONFIGURED:
        return MODES[named]
    reads = Reads.ALL if values.flag(_DATA) else Reads.NONE
    return Mode(reads, ends=not values.flag(_STREAM), mends=values.flag(_ON_ERROR))


def _names(table: TableId) -> tuple[str, str]:
    """The names by which a setting may mean a table."""
    return f"{table.schema}.{table.name}", str(table)
