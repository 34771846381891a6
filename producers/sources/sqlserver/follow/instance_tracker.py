"""What becomes of the captured tables of one stream, as the catalogue shows it.  Pure.

    the captured tables at one place of the log  ->  Appeared, Vanished, Renamed, Reshaped, Found, Fault

A table is known by its object_id, which outlives its name.  Its shape is that of its newest capture instance,
and is reported when the log has passed the place where that instance begins: before it, the log has the rows
of the older one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Vanished
from wrackline.producers.kit.known_tables import KnownTable, KnownTables
from wrackline.producers.kit.log_reports import LogReports
from wrackline.producers.sources.sqlserver.follow.capture_instances import enable_sql
from wrackline.producers.sources.sqlserver.log.lsn import Lsn, lsn_text
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.tables.table import TableId, TableSchema

CAPTURE_ENDED = define(
    "sqlserver.capture_ended",
    OperatorNeeded,
    "the changes of {table} are no longer captured: its last capture instance was dropped before {position}",
    hint="capture it again, as db_owner: {statement} then read the table again: wrackline snapshot start"
    " <pipeline.toml> '{table}'",
)

TableNews = Appeared | Vanished | Renamed | Reshaped | Found | Fault


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A captured table as the catalogue shows it."""

    table: TableId
    start: Lsn  # where its newest instance begins
    shape: TableSchema | WracklineError


def names_at(instances: Mapping[str, FollowedInstance], database: str) -> dict[int, TableId]:
    """Return the names that tables had at a place."""
    return {one.source: TableId(database, *one.table) for one in instances.values() if one.table is not None}


class InstanceTracker:
    """The tables of one stream."""

    def __init__(
        self,
        captures: Callable[[TableId], bool],
        listed: Collection[TableId] = (),
        names: Mapping[int, TableId] = MappingProxyType({}),
    ) -> None:
        """Take which names are captured, the tables that the caller knows, and the names at our place."""
        self._listed = set(listed)
        self.tables = KnownTables[int, TableSchema | None](captures, LogReports())
        for number, table in names.items():
            if table in self._listed:
                self._list(number, table)

    def update(
        self, shown: Mapping[int, ShownTable], names: Mapping[int, TableId], passed: Lsn
    ) -> Iterator[TableNews]:
        """Report what is new; `names` are those of all tables, `passed`: every commit up to here is out."""
        for number in [number for number in self.tables.by_key if number not in shown]:
            yield from self._ended(number, names, passed)
        for table in self._listed - {one.table for one in shown.values()}:
            self._listed.discard(table)  # it was dropped, or is no longer captured, since the caller read it
            gone = table not in names.values()
            yield Vanished(table, dropped=True) if gone else Fault(table, _capture_ended(table, passed))
        begun = {
            number: one.table
            for number, one in shown.items()
            if one.start <= passed or self._moved(number, one.table)
        }
        for number in self.tables.in_order(begun):  # a table leaves its name before another takes it
            yield from self._shown(number, shown[number], begun=shown[number].start <= passed)

    def waits(self, shown: Mapping[int, ShownTable], passed: Lsn) -> bool:
        """Whether a table's newest instance begins later."""
        return any(one.start > passed for one in shown.values())

    def _list(self, number: int, table: TableId) -> KnownTable[TableSchema | None]:
        """Know the number of a table that the caller knows."""
        self._listed.discard(table)
        known = KnownTable[TableSchema | None](table, None, self.tables.captures(table), is_reported=False)
        self.tables.by_key[number] = known
        return known

    def _moved(self, number: int, table: TableId) -> bool:
        """Whether a table has another name than before: a name doesn't wait for an instance."""
        known = self.tables.by_key.get(number)
        return known is not None and known.table != table

    def _shown(self, number: int, one: ShownTable, *, begun: bool) -> Iterator[TableNews]:
        table, captured = one.table, self.tables.captures(one.table)
        known = self.tables.by_key.get(number)
        shape = _shape(one, known, begun=begun)
        if known is None and table in self._listed:
            known = self._list(number, table)
        if known is None or known.table != table:
            yield from self.tables.release_name(number, table)  # still held where tables exchanged names
        if known is None:
            if captured:
                known = self.tables.by_key[number] = KnownTable(table, shape)
                yield self.tables.appear(known, table, shape, complete=False)
        elif known.table != table:
            known.facts, known.is_reported = shape, True
            yield from self.tables.move(known, table, shape, captured=captured)
        elif not captured or shape is None:
            pass
        elif not known.is_reported:
            known.facts = shape
            yield from self.tables.find(known, shape, frozenset())
        elif known.facts != shape:
            before, known.facts = known.facts, shape
            yield Reshaped(table, refresh=_has_more(before, shape), shape=shape)
        if begun and isinstance(one.shape, WracklineError) and captured:
            yield Fault(table, one.shape)

    def _ended(self, number: int, names: Mapping[int, TableId], passed: Lsn) -> Iterator[TableNews]:
        known = self.tables.by_key[number]
        if names.get(number) != known.table or known.table is None or not known.captured:
            yield from self.tables.remove(number, dropped=known.table not in names.values())
        else:
            del self.tables.by_key[number]
            yield Fault(known.table, _capture_ended(known.table, passed))


def _shape(
    one: ShownTable, known: KnownTable[TableSchema | None] | None, *, begun: bool
) -> TableSchema | None:
    """Return a table's shape: before its newest instance begins, that of the older one."""
    if not begun and known is not None and known.facts is not None:
        return replace(known.facts, id=one.table)
    return one.shape if isinstance(one.shape, TableSchema) else None


def _has_more(before: TableSchema | None, shape: TableSchema) -> bool:
    """Whether there are columns, or types, that the rows before lack."""
    old = {column.identity: column.type for column in before.columns} if before is not None else {}
    return any(old.get(column.identity) != column.type for column in shape.columns)


def _capture_ended(table: TableId, passed: Lsn) -> WracklineError:
    return CAPTURE_ENDED(table=table, statement=enable_sql(table), position=lsn_text(passed))
