"""Which tables there are as far as the log has come, and what becomes of those that are captured.  Pure.

    deeds             what a query event does, exactly at its place
    table maps        a table that has a row here, whatever was said of it before
    pictures          the whole catalogue, some time after; held back until the log has passed them

A table is its name: neither server logs anything else that outlives it.  The caller lists the tables that it
knows of; any other that is met is news.  The log tells of every DDL but those of a session that wrote no log
(`sql_log_bin=0`), and those that can't be read: what is left of these a picture shows.  What the log told
while a picture was taken is newer than the picture, and stands.

Two tables that swap names (`RENAME TABLE t TO _t_old, _t_new TO t`, as gh-ost and pt-online-schema-change do)
need no rule of their own: the name goes on with another content, which is told as a table that appears with
rows the log has not shown under this name.  So its copy is void, and its rows are read again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from wrackline.producers.changes import Appeared, Found, Renamed, Reshaped, Vanished
from wrackline.producers.sources.mysql.statements import (
    Altered,
    Control,
    Created,
    DatabaseDropped,
    Deed,
    Doubtful,
    Dropped,
    Emptied,
    Logged,
    Moved,
)
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId, TableSchema

STATEMENT_LOGGED = define(
    "mysql.statement_logged",
    OperatorNeeded,
    "the server logged a statement in place of its rows ({verb}, default database {database}), and nobody can"
    " say what it changed",
    hint="have every session log rows: SET GLOBAL binlog_format = 'ROW', and no SET SESSION binlog_format"
    " where it was run; then begin behind it: wrackline offsets reset <pipeline.toml>, and the next start"
    " reads all rows",
)

Told: TypeAlias = Appeared | Vanished | Renamed | Reshaped | Emptied
"""A step, or `Emptied` at the place of a `Truncate`, whose bytes are the decoder's."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The base tables of the catalogue at one moment, with the shapes of those that are captured."""

    begun: int  # how much the log had told when it was begun: what is told later is newer
    tables: Mapping[TableId, TableSchema | None]  # None: not captured, or its shape is not known
    upto: tuple[int, int] = (0, 0)  # file and offset of the log: before it stands all that is seen here
    unsettled: frozenset[TableId] = frozenset()  # somebody is changing these: what is seen may be older


@dataclass(slots=True)
class _Known:
    shape: TableSchema | None = None  # as it was last said
    listed: bool = False  # by the caller, and no picture has shown it yet


class Roll:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows of."""
        self._captures = captures
        self.aside: set[TableId] = set()  # no change of these is handed out any more
        self._tables = {table: _Known(listed=True) for table in listed}
        self._told = self._stirs = 0
        self._named: dict[TableId | str, int] = {}  # tables and databases, by when the log named them last

    @property
    def told(self) -> int:
        """How often the log has told something; any thread may ask."""
        return self._told

    @property
    def stirs(self) -> int:
        """How often the log told of something that the catalogue may say more about; for any thread."""
        return self._stirs

    def fresh(self) -> Collection[TableId | str]:
        """Name the tables and databases that the log named since the last picture; any thread may ask."""
        return tuple(self._named)

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured."""
        return table not in self.aside and self._captures(table)

    def done(self, deeds: Sequence[Deed], database: str) -> Iterator[Told]:
        """Tell what a query event makes of captured tables; `database` is its default one."""
        for deed in deeds:
            match deed:
                case Created():
                    yield from self._created(deed)
                case Moved():
                    yield from self._moved(deed)
                case Logged(verb):
                    raise STATEMENT_LOGGED(verb=verb, database=database or "none")
                case Doubtful():
                    self._stirs += 1
                case Control():
                    pass
                case _:
                    yield from self._touched(deed)

    def _touched(self, deed: Dropped | DatabaseDropped | Emptied | Altered) -> Iterator[Told]:
        match deed:
            case Dropped(table):
                yield from self._dropped(table)
            case DatabaseDropped(name):
                self._tell(name)
                for table in [table for table in self._tables if table.database == name]:
                    yield from self._dropped(table)
            case Emptied(table):
                if table in self._tables and self.captures(table):
                    yield deed
            case Altered():
                yield from self._altered(deed)

    def met(self, table: TableId, shape: TableSchema) -> list[Told]:
        """Tell of a table map of a captured name, in a shape that the stream has not met."""
        self._tell(table)
        known = self._tables.get(table)
        if known is not None:
            known.shape = shape
            return []
        return [self._appears(table, complete=False, shape=shape)]

    def picture(self, picture: Picture) -> Iterator[Told | Found]:
        """Tell what the log left out; it has passed this picture."""
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

    def _shown(self, table: TableId, shape: TableSchema | None) -> Iterator[Told | Found]:
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

    def _created(self, deed: Created) -> Iterator[Told]:
        table = deed.table
        if deed.perhaps and table in self._tables:
            return
        yield from self._dropped(table)  # replaced, or dropped by a session that wrote no log
        if self.captures(table):
            yield self._appears(table, complete=deed.complete and not deed.perhaps)

    def _dropped(self, table: TableId) -> Iterator[Told]:
        self._tell(table)
        if self._tables.pop(table, None) is not None:
            yield Vanished(table)

    def _moved(self, deed: Moved) -> Iterator[Told]:
        old, new = deed.old, deed.new
        self._tell(old)
        known = self._tables.pop(old, None)
        if known is None and (deed.perhaps or self._captures(old)):
            self._stirs += 1  # a view, or nothing: only the catalogue knows
            later = self._tables.get(new)
            if later is not None and later.listed and self.captures(new):
                yield Reshaped(new, refresh=False)  # it was so called when we began: only the words are news
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

    def _altered(self, deed: Altered) -> Iterator[Told]:
        table = deed.table
        self._tell(table)
        self._stirs += 1
        if table in self._tables and self.captures(table):
            yield Reshaped(table, refresh=not deed.keeps, void=deed.loses)

    def _appears(self, table: TableId, *, complete: bool, shape: TableSchema | None = None) -> Appeared:
        self._tables[table] = _Known(shape)
        self._stirs += 1
        return Appeared(table, complete, shape)

    def _tell(self, name: TableId | str) -> None:
        self._told += 1
        self._named[name] = self._told

    def _older(self, table: TableId, picture: Picture) -> bool:
        """Whether the log had said its last of a table before the picture was begun."""
        if table in picture.unsettled:
            return False
        last = max(self._named.get(table, 0), self._named.get(table.database, 0))
        return last <= picture.begun
