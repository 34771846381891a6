"""Which existing rows a start requests, by `snapshot.mode` and the settings beside it.  Pure.

    tables captured now, tables known from before --> a request of the worker's own, or none

A table that the settings capture for the first time is read at any start: at the first start these are all
tables, later a table that a changed filter lets in.  A statement for a table (`overrides.py`) says with which
of its rows the copy begins; later requests, and the log, do not use it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Self

from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings import overrides
from wrackline.schemas.settings.filters import MATCHES_NOTHING, Listed, no_match_finding
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_INCLUDE: Final = "snapshot.include.collection.list"
_CONFIGURED: Final = "configuration_based"
_DATA: Final = "snapshot.mode.configuration.based.snapshot.data"
_STREAM: Final = "snapshot.mode.configuration.based.start.stream"
_ON_ERROR: Final = "snapshot.mode.configuration.based.snapshot.on.data.error"


class Reads(Enum):
    """The tables whose rows a start reads."""

    NEW = "new"  # of tables that are not known yet
    ALL = "all"  # at each start
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SnapshotMode:
    """What `snapshot.mode` means."""

    reads: Reads = Reads.NEW
    ends: bool = False  # the pipeline is over once rows are read
    recovers: bool = False  # if the log is lost, all is read again, and the log continues


MODES: Final = {
    "initial": SnapshotMode(),
    "exported": SnapshotMode(),
    "initial_only": SnapshotMode(ends=True),
    "when_needed": SnapshotMode(recovers=True),
    "always": SnapshotMode(Reads.ALL),
    "no_data": SnapshotMode(Reads.NONE),
    "never": SnapshotMode(Reads.NONE),
    "schema_only": SnapshotMode(Reads.NONE),
}


@dataclass(frozen=True, slots=True)
class FirstReads:
    """The settings for rows that exist already."""

    mode: SnapshotMode = field(default_factory=SnapshotMode)
    include: tuple[Listed, ...] = ()
    conditions: Mapping[str, str | None] = field(default_factory=dict)  # by schema.table, or with database

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read the settings."""
        listed = () if values[_INCLUDE] is None else values.listed(_INCLUDE)
        include = tuple(Listed.of(_INCLUDE, text) for text in listed)
        return cls(_mode(values), include, overrides.conditions_of(values))

    def request_at_start(
        self, tables: Sequence[TableId], known: Collection[TableId], run: str
    ) -> SnapshotRequest | None:
        """Request the rows of tables that are not known yet, or of all tables if each start reads them."""
        again = self.mode.reads is Reads.ALL
        wanted = [table for table in tables if again or table not in known]
        return self._request(f"start-{run}" if again else "initial", wanted)

    def comes(self, table: TableId, request: str, *, anew: bool = False) -> SnapshotRequest | None:
        """Request the rows of a table that comes while the log is read, or comes again after a gap."""
        return None if self.mode.reads is Reads.NONE else self._request(request, [table], anew=anew)

    def request_after_gap(self, tables: Sequence[TableId], request: str) -> SnapshotRequest | None:
        """Request the rows of all tables after a gap in the log."""
        return self._request(request, tables, anew=True)

    def condition(self, table: TableId) -> str | None:
        """Return the condition of the rows that a copy begins with; None: all rows."""
        return next((self.conditions[name] for name in _names(table) if name in self.conditions), None)

    @property
    def reads_every_new_table(self) -> bool:
        """Whether a table of any name is read, with all of its rows, when it is captured first."""
        return self.mode.reads is not Reads.NONE and not self.include and not self.conditions

    def unused_statements(self, tables: Collection[TableId]) -> Sequence[str]:
        """Name the tables with a statement of their own that are not captured."""
        names = {name for table in tables for name in _names(table)}
        return [name for name in self.conditions if name not in names]

    def unmatched_findings(self, tables: Collection[TableId]) -> Iterator[Finding]:
        """Name each pattern and each statement that matches no captured table."""
        for one in self.include:
            if not any(map(one.matches_table, tables)):
                yield no_match_finding(one, "captured table")
        for name in self.unused_statements(tables):
            yield MATCHES_NOTHING(setting=overrides.LIST, pattern=name, what="captured table")

    def _request(
        self, request: str, tables: Sequence[TableId], *, anew: bool = False
    ) -> SnapshotRequest | None:
        wanted = tuple(table for table in tables if self._includes(table))
        if (self.mode.reads is Reads.NONE and not anew) or not wanted:
            return None
        conditions = {table: text for table in wanted if (text := self.condition(table)) is not None}
        return SnapshotRequest(request, wanted, Purpose.INITIAL, conditions=conditions, anew=anew)

    def _includes(self, table: TableId) -> bool:
        return not self.include or any(one.matches_table(table) for one in self.include)


NO_READS: Final = FirstReads(MODES["no_data"])


def _mode(values: Values) -> SnapshotMode:
    named = values.text("snapshot.mode")
    if named != _CONFIGURED:
        return MODES[named]
    reads = Reads.ALL if values.flag(_DATA) else Reads.NONE
    return SnapshotMode(reads, ends=not values.flag(_STREAM), recovers=values.flag(_ON_ERROR))


def _names(table: TableId) -> tuple[str, str]:
    """Return the names by which a setting may mean a table."""
    return f"{table.schema}.{table.name}", str(table)
