"""What becomes of the captured tables of one stream, as the catalogue and the log's DDL show it.  Pure.

    a look at the catalogue, at a DDL or behind a range  ->  Appeared, Vanished, Renamed, Reshaped, ...

A table is known by its OBJECT_ID, which outlives its name.  A look is newer than the place where it is taken:
what the log still has of before is in columns that nobody can name, and makes its table be read again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Vanished
from wrackline.producers.kit.known_tables import KnownTable, KnownTables
from wrackline.producers.kit.log_reports import LogReports
from wrackline.producers.sources.oracle.follow.ddl_statement import DdlDeed
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId, TableSchema

TableNews: TypeAlias = Appeared | Vanished | Renamed | Reshaped | Found | Fault


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A captured table as the catalogue shows it."""

    table: TableId
    shape: TableSchema | WracklineError | None  # None: it is not captured
    filled: frozenset[int] = frozenset()  # columns that may have values in rows of before, without an event


class OracleTableTracker:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows."""
        self._listed = set(listed)
        self.tables = KnownTables[int, TableSchema | None](captures, LogReports())

    def look(self, seen: Mapping[int, SeenTable], names: Mapping[int, TableId]) -> Iterator[TableNews]:
        """Report what is new; `names` are those of all tables."""
        held = set(names.values())
        for number in [number for number in self.tables.by_key if number not in seen]:
            yield from self.tables.remove(number, dropped=self.tables.by_key[number].table not in held)
        for table in sorted(self._listed - {one.table for one in seen.values()}):
            self._listed.discard(table)  # it is gone since the caller read the catalogue
            yield Vanished(table, dropped=table not in held)
        order = self.tables.in_order({number: one.table for number, one in seen.items()})
        for number in order:  # a table leaves its name before another takes it
            yield from self._seen(number, seen[number])

    def done(self, deed: DdlDeed, table: TableId, reported: Collection[TableId]) -> Iterator[Reshaped]:
        """Report what a DDL did to the rows of a name; `reported` are the tables with news at its place."""
        known = any(one.table == table and one.captured for one in self.tables.by_key.values())
        quiet = deed in {DdlDeed.LEAVES, DdlDeed.RENEWS} and table not in reported
        if known and self.tables.captures(table) and (quiet or deed is DdlDeed.LOSES):
            yield Reshaped(table, refresh=True, void=deed is not DdlDeed.RENEWS)

    def _seen(self, number: int, one: SeenTable) -> Iterator[TableNews]:
        table, captured = one.table, self.tables.captures(one.table)
        shape = one.shape if isinstance(one.shape, TableSchema) else None
        known = self.tables.by_key.get(number)
        if known is None and table in self._listed:
            self._listed.discard(table)
            known = KnownTable[TableSchema | None](table, None, captured, is_reported=False)
            self.tables.by_key[number] = known
        if known is None or known.table != table:
            yield from self.tables.release_name(number, table)  # still held where tables exchanged names
        if known is None:
            if captured:
                known = self.tables.by_key[number] = KnownTable(table, shape)
                yield self.tables.appear(known, table, shape, complete=False)
        elif known.table != table:
            known.facts, known.is_reported = shape, True
            yield from self.tables.move(known, table, shape, captured=captured)
        elif captured and shape is not None:
            if not known.is_reported:
                known.facts = shape
                yield from self.tables.find(known, shape, one.filled)
            elif known.facts != shape:
                before, known.facts = known.facts, shape
                refresh = _is_filled(before, shape, one.filled)
                yield Reshaped(table, refresh=refresh, shape=shape, filled=one.filled)
        if captured and isinstance(one.shape, WracklineError):
            yield Fault(table, one.shape)


def _is_filled(before: TableSchema | None, shape: TableSchema, filled: frozenset[int]) -> bool:
    """Whether a column has another type, or came with values for the rows before."""
    if before is None:
        return True
    old = {column.identity: column.type for column in before.columns}
    return any(
        old[column.identity] != column.type if column.identity in old else column.identity in filled
        for column in shape.columns
    )
