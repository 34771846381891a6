"""The catalogue of one database: which tables it has, and the facts of each.

    ALL_TABLES, ALL_TAB_COLS, ALL_CONSTRAINTS, ALL_INDEXES ...  ->  OracleTableFacts, OracleLook, Projection

Tables are described together, with a statement for each kind of fact.  Facts are kept, and asked for again if
the time of the table's last DDL is another.  It has only whole seconds, by the clock of one of the nodes; so
facts of a table that was altered within the last minute are not kept.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover import catalogue_sql
from wrackline.producers.sources.oracle.discover.facts import (
    OracleColumnFacts,
    OracleLook,
    OracleTableFacts,
    OracleType,
)
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

TABLE_MISSING = define(
    "oracle.table_missing",
    OperatorNeeded,
    "table {table} does not exist, no longer exists, or is not visible to this user",
    hint="check whether it has another name now: SELECT OWNER, TABLE_NAME FROM ALL_TABLES WHERE OWNER ="
    " '<owner>'; correct table.include.list; or as an administrator: GRANT SELECT, FLASHBACK ON"
    " {quoted} TO <user>",
)

_DOING: Final = "describe its tables"
_PARTS_OF_OTHERS: Final = ("BIN$", "MLOG$_", "RUPD$_")  # dropped tables, logs of materialized views
_ARCHIVAL: Final = "ORA_ARCHIVE_STATE"  # of ROW ARCHIVAL
_SETTLED: Final = timedelta(minutes=1)


class VisibleTable(NamedTuple):
    """A table that our user sees, as the list has it."""

    id: TableId
    object_id: int
    version: str
    settled: bool  # whether the next DDL will give it another version
    unlogged: bool  # temporary or external: LogMiner shows no rows of it
    partitioned: bool
    rows: int | None  # when its statistics were gathered
    row_bytes: int | None


class OracleCatalogue:
    """Reads the catalogue over the caller's session, which is in this database."""

    def __init__(
        self, session: OracleSession, database: str, shapes: OracleShapes, unread: Collection[TableId] = ()
    ) -> None:
        """Take the tables of ours that are never data, beside the signal table."""
        self._session, self._database, self.shapes, self._unread = session, database, shapes, unread
        self._cache: dict[TableId, OracleTableFacts] = {}  # by the caller's wish
        self._settled: dict[int, OracleTableFacts] = {}
        self._last: OracleTableFacts | None = None  # of the table that was described last

    def keep(self, tables: Collection[TableId]) -> None:
        """Look up many tables together; from here on their facts do not change."""
        wanted = frozenset(tables)
        found = self._described([one for one in self.listed() if one.id in wanted])
        self._cache |= {facts.id: facts for facts in found}

    def tables(self) -> list[TableId]:
        """List the tables that our user can see, and whose rows are in the log."""
        return [one.id for one in self.listed() if not one.unlogged]

    def left_out(self, captures: Callable[[TableId], bool]) -> dict[TableId, UncapturedReason]:
        """Say why each other table is left out."""
        return {
            one.id: UncapturedReason.UNLOGGED if captures(one.id) else UncapturedReason.FILTERS
            for one in self.listed()
            if one.unlogged or not captures(one.id)
        }

    def sizes(self) -> dict[TableId, TableSize]:
        """Return how large tables were when their statistics were gathered."""
        return {one.id: TableSize(one.rows, _product(one.rows, one.row_bytes)) for one in self.listed()}

    def describe(self, table: TableId) -> Projection:
        """Return a table's current shape."""
        self._last = self.facts(table)
        return self.shapes.of(self._last)

    def described(self, table: TableId) -> OracleTableFacts:
        """Return the facts that a table was described by."""
        return self._last if self._last is not None and self._last.id == table else self.facts(table)

    def facts(self, table: TableId) -> OracleTableFacts:
        """Return the facts of one table."""
        if table in self._cache:
            return self._cache[table]
        if table.database == self._database:
            for facts in self._described(self._listed(catalogue_sql.one_table(table))):
                return facts
        raise TABLE_MISSING(table=table, quoted=f'"{table.schema}"."{table.name}"')

    def rows(self, table: TableId) -> int | None:
        """Return how many rows a table had when its statistics were gathered."""
        return next((one.rows for one in self._listed(catalogue_sql.one_table(table))), None)

    def look(self, reads: Callable[[TableId], bool]) -> OracleLook:
        """Look at all tables, and describe those that are read."""
        listed = self.listed()
        read = [one for one in listed if not one.unlogged and reads(one.id)]
        tables = {facts.object_id: facts for facts in self._described(read)}
        self._settled = {number: facts for number, facts in self._settled.items() if number in tables}
        split = {one.id: one.object_id for one in read if one.partitioned}
        parts: dict[int, int] = {}
        if split:
            for owner, name, number in self._ask(catalogue_sql.partitions(split)):
                if (whole := split.get(self._id(owner, name))) is not None:
                    parts[number] = whole
        return OracleLook({one.object_id: one.id for one in listed}, tables, parts)

    def listed(self) -> list[VisibleTable]:
        """List all tables that our user can see."""
        return [one for one in self._listed(catalogue_sql.TABLES) if one.id not in self._unread]

    def _listed(self, sql: str) -> list[VisibleTable]:
        return [
            VisibleTable(
                self._id(owner, name),
                number,
                altered,
                _moment(now) - _moment(altered) > _SETTLED,
                bool(unlogged),
                bool(partitioned),
                rows,
                row_bytes,
            )
            for owner, name, number, altered, now, unlogged, partitioned, rows, row_bytes in self._ask(sql)
            if not name.startswith(_PARTS_OF_OTHERS)
        ]

    def _described(self, listed: Sequence[VisibleTable]) -> list[OracleTableFacts]:
        """Return the facts of tables, in their order; of one that has gone meanwhile, nothing."""
        kept = self._settled
        asked = [one for one in listed if not _is_current(kept.get(one.object_id), one)]
        found = self._ask_facts(asked) if asked else {}
        self._settled = {
            **{number: facts for number, facts in kept.items() if facts.id not in found},
            **{one.object_id: found[one.id] for one in asked if one.settled and one.id in found},
        }
        gone = {one.id for one in asked} - found.keys()
        return [found.get(one.id) or kept[one.object_id] for one in listed if one.id not in gone]

    def _ask_facts(self, listed: Sequence[VisibleTable]) -> dict[TableId, OracleTableFacts]:
        tables = [one.id for one in listed]
        columns: dict[TableId, list[OracleColumnFacts]] = defaultdict(list)
        for owner, name, *column in self._ask(catalogue_sql.columns(tables)):
            columns[self._id(owner, name)].append(_column(column))
        primary: dict[TableId, list[str]] = defaultdict(list)
        for owner, name, part in self._ask(catalogue_sql.primary_keys(tables)):
            primary[self._id(owner, name)].append(part)
        unique: dict[TableId, dict[tuple[str, str], list[str]]] = defaultdict(dict)
        for owner, name, *index, part in self._ask(catalogue_sql.unique_indexes(tables)):
            unique[self._id(owner, name)].setdefault((index[0], index[1]), []).append(part)
        logged = {self._id(owner, name) for owner, name in self._ask(catalogue_sql.log_groups(tables))}
        ((every,),) = self._ask(catalogue_sql.DATABASE)
        return {
            one.id: OracleTableFacts(
                one.id,
                one.object_id,
                tuple(columns[one.id]),
                tuple(primary[one.id]),
                tuple(map(tuple, unique[one.id].values())),
                every == "YES" or one.id in logged,
                one.version,
            )
            for one in listed
            if one.id in columns
        }

    def _ask(self, sql: str) -> list[Fields]:
        return self._session.ask(sql, _DOING)

    def _id(self, owner: str, name: str) -> TableId:
        return TableId(self._database, owner, name)


def _is_current(facts: OracleTableFacts | None, one: VisibleTable) -> bool:
    return facts is not None and (facts.id, facts.version) == (one.id, one.version)


def _column(row: Sequence[str | int | None]) -> OracleColumnFacts:
    name, number, kind, kind_owner, units, size, precision, scale, nullable, virtual, hidden, *more = row
    users, default = more
    made = OracleType(str(kind), _number(units) or (_number(size) if kind == "RAW" else None))
    return OracleColumnFacts(
        str(name),
        _number(number) or 0,
        made._replace(
            precision=_number(precision),
            scale=_number(scale),
            owner=None if kind_owner is None else str(kind_owner),
        ),
        nullable == "Y",
        virtual == "YES" and kind_owner is None,  # a type of objects is stored in hidden columns
        hidden == "YES" and (users == "NO" or name == _ARCHIVAL),
        default is not None,
    )


def _number(value: str | int | None) -> int | None:
    return None if value is None else int(value)


def _product(rows: int | None, size: int | None) -> int | None:
    return None if rows is None or size is None else rows * size


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
