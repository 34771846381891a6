"""Which tables there are at this place of the log, and what happens to the captured tables.  Pure.

    deeds             what a query event does, exactly at its place
    table maps        a table that has a row here, regardless of earlier reports
    pictures          the whole catalogue, some time later; held back until the log has passed them

A table is identified by its name: neither server logs anything else that is permanent.  The caller lists the
tables that it knows; any other table is news.  The log contains every DDL except for sessions that write no
log (`sql_log_bin=0`); a picture shows their effects, and those of a DDL that can't be read.  Reports of the
log while a picture was taken are newer than the picture, and win.

Two tables that swap names (`RENAME TABLE t TO _t_old, _t_new TO t`, as gh-ost and pt-online-schema-change do)
need no rule of their own: the name now has another content, which is reported as a table that appears with
rows that the log has not shown under this name.  So its copy is void, and its rows are read again.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from wrackline.producers.contract.steps import Appeared, Found, Renamed, Reshaped, Vanished
from wrackline.producers.kit.known_tables import KnownTable, KnownTables
from wrackline.producers.kit.log_reports import LogReports
from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    DatabaseDropped,
    DdlEffect,
    StatementLogged,
    TableAltered,
    TableCreated,
    TableDropped,
    TableEmptied,
    TableRenamed,
    TransactionControl,
    UnknownEffect,
)
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId, TableSchema

STATEMENT_LOGGED = define(
    "mysql.statement_logged",
    OperatorNeeded,
    "the server logged a statement instead of its rows ({verb}, default database {database}), so it is"
    " unknown what it changed",
    hint="let every session log rows: SET GLOBAL binlog_format = 'ROW', and no SET SESSION binlog_format"
    " where the statement was run; then start after it: wrackline offsets reset <pipeline.toml>, and the"
    " next start reads all rows",
)

TableStep: TypeAlias = Appeared | Vanished | Renamed | Reshaped | TableEmptied
"""A step, or `TableEmptied` at the place of a `Truncate`, whose bytes are the decoder's."""


@dataclass(frozen=True, slots=True)
class MySqlCatalogueSnapshot:
    """The base tables of the catalogue at one moment, with the shapes of the captured tables."""

    begun: int  # how many reports the log had made when it was begun: later reports are newer
    tables: Mapping[TableId, TableSchema | None]  # None: not captured, or its shape is unknown
    upto: tuple[int, int] = (0, 0)  # file and offset of the log: all that is seen here is before it
    unsettled: frozenset[TableId] = frozenset()  # a session is changing these: their facts may be older


class MySqlTableTracker:
    """The captured tables of one stream; the facts of each are its shape as it was last reported."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows."""
        self._captures = captures
        self.reports = LogReports()
        self.tables = KnownTables[TableId, TableSchema | None](captures, self.reports, _subjects)
        self.tables.by_key |= {table: KnownTable(table, None, is_reported=False) for table in listed}

    def done(self, deeds: Sequence[DdlEffect], database: str) -> Iterator[TableStep]:
        """Report what a query event does to captured tables; `database` is its default database."""
        for deed in deeds:
            match deed:
                case TableCreated():
                    yield from self._created(deed)
                case TableRenamed():
                    yield from self._moved(deed)
                case StatementLogged(verb):
                    raise STATEMENT_LOGGED(verb=verb, database=database or "none")
                case UnknownEffect():
                    self.reports.wake()
                case TransactionControl():
                    pass
                case _:
                    yield from self._touched(deed)

    def _touched(
        self, deed: TableDropped | DatabaseDropped | TableEmptied | TableAltered
    ) -> Iterator[TableStep]:
        match deed:
            case TableDropped(table):
                yield from self._dropped(table)
            case DatabaseDropped(name):
                self.reports.add(name)
                for table in [table for table in self.tables.by_key if table.database == name]:
                    yield from self._dropped(table)
            case TableEmptied(table):
                if table in self.tables.by_key and self.tables.captures(table):
                    yield deed
            case TableAltered():
                yield from self._altered(deed)

    def met(self, table: TableId, shape: TableSchema) -> list[TableStep]:
        """Take a table map of a captured name, in a shape that is new to the stream."""
        self.reports.add(table)
        known = self.tables.by_key.get(table)
        if known is not None:
            known.facts = shape
            return []
        return [self._appears(table, complete=False, shape=shape)]

    def picture(self, picture: MySqlCatalogueSnapshot) -> Iterator[TableStep | Found]:
        """Report what the log left out; it has passed this picture."""
        for table in self.tables.missing(picture, picture.tables):
            yield from self._dropped(table, by_log=False)  # it may only be hidden: a right was taken away
        for table, shape in picture.tables.items():
            if self.tables.captures(table) and self.tables.shows(picture, table):
                yield from self._shown(table, shape)
        self.reports.forget(picture)

    def _shown(self, table: TableId, shape: TableSchema | None) -> Iterator[TableStep | Found]:
        known = self.tables.by_key.get(table)
        if known is None:
            yield self._appears(table, complete=False, shape=shape)
        elif shape is not None:
            before, known.facts = known.facts, shape
            if not known.is_reported:
                yield from self.tables.find(known, shape, frozenset())
            elif before != shape:
                yield Reshaped(table, refresh=False, shape=shape)

    def _created(self, deed: TableCreated) -> Iterator[TableStep]:
        table = deed.table
        if deed.perhaps and table in self.tables.by_key:
            return
        yield from self._dropped(table)  # replaced, or dropped by a session that wrote no log
        if self.tables.captures(table):
            yield self._appears(table, complete=deed.complete and not deed.perhaps)

    def _dropped(self, table: TableId, *, by_log: bool = True) -> Iterator[TableStep]:
        self.reports.add(table)
        yield from self.tables.remove(table, dropped=by_log)

    def _moved(self, deed: TableRenamed) -> Iterator[TableStep]:
        old, new = deed.old, deed.new
        self.reports.add(old)
        known = self.tables.by_key.pop(old, None)
        if known is None and (deed.perhaps or self._captures(old)):
            self.reports.wake()  # a view, or nothing: only the catalogue knows
            later = self.tables.by_key.get(new)
            if later is not None and not later.is_reported and self.tables.captures(new):
                yield Reshaped(new, refresh=False)  # it had this name when we began: only the text is new
            return
        yield from self._dropped(new)
        if known is not None and old in self.tables.aside:
            yield Vanished(old, dropped=True)
            known = None
        captured = self.tables.captures(new)
        if known is None:
            if captured:
                yield self._appears(new, complete=False)
            return
        if captured:
            known.is_reported = True
            known.facts = None if known.facts is None else replace(known.facts, id=new)
            self.tables.by_key[new] = known
            self.reports.wake()
        yield from self.tables.move(known, new, known.facts, captured=captured)

    def _altered(self, deed: TableAltered) -> Iterator[TableStep]:
        table = deed.table
        self.reports.add(table)
        self.reports.wake()
        if table in self.tables.by_key and self.tables.captures(table):
            yield Reshaped(table, refresh=not deed.keeps, void=deed.loses)

    def _appears(self, table: TableId, *, complete: bool, shape: TableSchema | None = None) -> Appeared:
        known = self.tables.by_key[table] = KnownTable(table, shape)
        self.reports.wake()
        return self.tables.appear(known, table, shape, complete=complete)


def _subjects(table: TableId) -> tuple[Hashable, ...]:
    """Name what a report may be of if it concerns a table: itself, or its whole database."""
    return table, table.database
