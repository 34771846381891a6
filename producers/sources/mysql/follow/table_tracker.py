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

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from wrackline.producers.contract.steps import Appeared, Found, Renamed, Reshaped, Vanished
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


@dataclass(slots=True)
class _MySqlKnownTable:
    shape: TableSchema | None = None  # as it was last reported
    listed: bool = False  # by the caller, and no picture has shown it yet


class MySqlTableTracker:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows."""
        self._captures = captures
        self.aside: set[TableId] = set()  # changes of these tables are no longer handed out
        self._tables = {table: _MySqlKnownTable(listed=True) for table in listed}
        self._told = self._stirs = 0
        self._named: dict[TableId | str, int] = {}  # tables and databases, by their last report

    @property
    def told(self) -> int:
        """How many reports the log has made; any thread may ask."""
        return self._told

    @property
    def stirs(self) -> int:
        """How often the log reported something that the catalogue may explain; any thread may ask."""
        return self._stirs

    def fresh(self) -> Collection[TableId | str]:
        """Name the tables and databases that the log named since the last picture; any thread may ask."""
        return tuple(self._named)

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured."""
        return table not in self.aside and self._captures(table)

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
                    self._stirs += 1
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
                self._tell(name)
                for table in [table for table in self._tables if table.database == name]:
                    yield from self._dropped(table)
            case TableEmptied(table):
                if table in self._tables and self.captures(table):
                    yield deed
            case TableAltered():
                yield from self._altered(deed)

    def met(self, table: TableId, shape: TableSchema) -> list[TableStep]:
        """Take a table map of a captured name, in a shape that is new to the stream."""
        self._tell(table)
        known = self._tables.get(table)
        if known is not None:
            known.shape = shape
            return []
        return [self._appears(table, complete=False, shape=shape)]

    def picture(self, picture: MySqlCatalogueSnapshot) -> Iterator[TableStep | Found]:
        """Report what the log left out; it has passed this picture."""
        for table in [table for table in self._tables if table not in picture.tables]:
            if self._older(table, picture):
                yield from self._dropped(table)
        for table, shape in picture.tables.items():
            if self.captures(table) and self._older(table, picture):
                yield from self._shown(table, shape)
        self._named = {
            name: when
            for name, when in self._named.items()
            if when > picture.begun or name in picture.unsettled
        }

    def _shown(self, table: TableId, shape: TableSchema | None) -> Iterator[TableStep | Found]:
        known = self._tables.get(table)
        if known is None:
            yield self._appears(table, complete=False, shape=shape)
        elif shape is not None:
            before, known.shape = known.shape, shape
            if known.listed:
                known.listed = False
                yield Found(shape, frozenset())
            elif before != shape:
                yield Reshaped(table, refresh=False, shape=shape)

    def _created(self, deed: TableCreated) -> Iterator[TableStep]:
        table = deed.table
        if deed.perhaps and table in self._tables:
            return
        yield from self._dropped(table)  # replaced, or dropped by a session that wrote no log
        if self.captures(table):
            yield self._appears(table, complete=deed.complete and not deed.perhaps)

    def _dropped(self, table: TableId) -> Iterator[TableStep]:
        self._tell(table)
        if self._tables.pop(table, None) is not None:
            yield Vanished(table)

    def _moved(self, deed: TableRenamed) -> Iterator[TableStep]:
        old, new = deed.old, deed.new
        self._tell(old)
        known = self._tables.pop(old, None)
        if known is None and (deed.perhaps or self._captures(old)):
            self._stirs += 1  # a view, or nothing: only the catalogue knows
            later = self._tables.get(new)
            if later is not None and later.listed and self.captures(new):
                yield Reshaped(new, refresh=False)  # it had this name when we began: only the text is new
            return
        yield from self._dropped(new)
        if not self.captures(new):
            if known is not None:
                yield Vanished(old)
        elif known is None or old in self.aside:
            if known is not None:
                yield Vanished(old)
            yield self._appears(new, complete=False)
        else:
            known.listed = False
            if known.shape is not None:
                known.shape = replace(known.shape, id=new)
            self._tables[new] = known
            self._stirs += 1
            yield Renamed(old, new, known.shape)

    def _altered(self, deed: TableAltered) -> Iterator[TableStep]:
        table = deed.table
        self._tell(table)
        self._stirs += 1
        if table in self._tables and self.captures(table):
            yield Reshaped(table, refresh=not deed.keeps, void=deed.loses)

    def _appears(self, table: TableId, *, complete: bool, shape: TableSchema | None = None) -> Appeared:
        self._tables[table] = _MySqlKnownTable(shape)
        self._stirs += 1
        return Appeared(table, complete, shape)

    def _tell(self, name: TableId | str) -> None:
        self._told += 1
        self._named[name] = self._told

    def _older(self, table: TableId, picture: MySqlCatalogueSnapshot) -> bool:
        """Whether the log's last report of a table is older than the beginning of the picture."""
        if table in picture.unsettled:
            return False
        last = max(self._named.get(table, 0), self._named.get(table.database, 0))
        return last <= picture.begun
