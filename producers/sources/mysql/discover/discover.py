"""The catalogue: which tables there are, and what a table means to the rest of Wrackline.

    information_schema  ->  TableId, MySqlTableFacts, Projection

The log itself describes most of a table; the catalogue has the list of tables, the facts that the log lacks,
and shapes before the log has named a table.

A statement asks for one table or for all tables of a database: MariaDB answers only these two without opening
every table of the server.

Names are used as the catalogue has them.  Where the server does not distinguish `T` and `t`
(`lower_case_table_names` 1 or 2), any spelling finds its table.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect.quoting import identifier
from wrackline.producers.sources.mysql.discover.facts import MySqlColumnFacts, MySqlTableFacts
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.discover.types import parse
from wrackline.producers.sources.mysql.log.position import ColumnNames
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

TABLE_MISSING = define(
    "mysql.table_missing",
    OperatorNeeded,
    "table {table} does not exist, no longer exists, or is not visible to this user",
    hint="check whether it has another name now (SHOW FULL TABLES FROM {database}), and correct"
    " table.include.list; or grant SELECT on it",
)

SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
SINGLY = 20  # up to this many tables of a database are queried one by one

# Views, sequences and temporary tables have other types.
_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN %s
ORDER BY 1, 2"""
_FOUND = """
SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND {where}"""
_COLUMNS = """
SELECT table_name, column_name, column_type, is_nullable, COALESCE(generation_expression, '')
FROM information_schema.columns WHERE {where} ORDER BY table_name, ordinal_position"""
_INDEXES = """
SELECT table_name, index_name, column_name, sub_part, nullable
FROM information_schema.statistics WHERE non_unique = 0 AND {where}
ORDER BY table_name, index_name, seq_in_index"""
_IN_DATABASE, _ONE = "table_schema = %s", "table_schema = %s AND table_name = %s"
_COLLATIONS = """
SELECT id, character_set_name FROM information_schema.{where} WHERE id IS NOT NULL"""
_PRIMARY = "PRIMARY"


_Part: TypeAlias = tuple[str | None, int | None, bool]  # a column, how much of it, whether it may be null


class MySqlCatalogue:
    """Reads the catalogue over the caller's connection; tables are kept only after `keep`."""

    def __init__(
        self, connection: "Connection[Any]", shapes: MySqlShapes, names: Callable[[], ColumnNames] = dict
    ) -> None:
        """Take the maker of shapes, and the columns that were renamed so far in the log."""
        self._connection, self._shapes, self._names = connection, shapes, names
        self._cache: dict[TableId, MySqlTableFacts] = {}
        self._folds: bool | None = None

    def keep(self, tables: Collection[TableId]) -> None:
        """Look up many tables together; from here on their facts do not change."""
        self._cache |= self.facts_of(tables)

    def tables(self) -> list[TableId]:
        """List the tables that this user can see."""
        return [TableId(database, database, name) for database, name in self._query(_TABLES, SYSTEM)]

    def describe(self, table: TableId) -> Projection:
        """Return a table's current shape, and the part of it that is published.

        A renamed column counts as the same column only from where the log contains the rename: if the log
        reaches it before rows are released, the reader has to read them again.
        """
        return self._shapes.of_facts(self.facts(table), self._names().get(str(table), {}))

    def facts(self, table: TableId) -> MySqlTableFacts:
        """Return the catalogue's facts of a table."""
        found = self.facts_of([table]).get(table)
        if found is None:
            raise TABLE_MISSING(table=table, database=identifier(table.database))
        return found

    def facts_of(self, tables: Collection[TableId]) -> dict[TableId, MySqlTableFacts]:
        """Return the facts of many tables, with few statements; missing tables are left out."""
        by_database: dict[str, list[TableId]] = defaultdict(list)
        for table in tables:
            if table not in self._cache:
                by_database[self._same(table)[0]].append(table)
        found = {table: self._cache[table] for table in tables if table in self._cache}
        for database, wanted in by_database.items():
            few = len(wanted) <= SINGLY
            asked = [self._same(table) for table in wanted] if few else [(database,)]
            there = {self._same(facts.table): facts for names in asked for facts in self._read_facts(names)}
            found |= {table: there[same] for table in wanted if (same := self._same(table)) in there}
        return found

    def _read_facts(self, names: tuple[str, ...]) -> list[MySqlTableFacts]:
        """Describe one table, or all tables of a database."""
        where = _IN_DATABASE if len(names) == 1 else _ONE
        found = list(self._query(_FOUND.format(where=where), *names))
        columns: dict[str, list[MySqlColumnFacts]] = defaultdict(list)
        for table, column, written, nullable, expression in self._query(_COLUMNS.format(where=where), *names):
            columns[table].append(
                MySqlColumnFacts(column, parse(written), nullable == "YES", bool(expression))
            )
        indexes: dict[str, dict[str, list[_Part]]] = defaultdict(lambda: defaultdict(list))
        for table, index, column, prefix, nullable in self._query(_INDEXES.format(where=where), *names):
            indexes[table][index].append((column, prefix, nullable == "YES"))
        return [
            MySqlTableFacts(
                TableId(database, database, table),
                tuple(columns[table]),
                *self._key(database, table, indexes[table]),
                versioned=kind != "BASE TABLE",
            )
            for database, table, kind in found
        ]

    def _key(
        self, database: str, table: str, indexes: Mapping[str, Sequence[_Part]]
    ) -> tuple[tuple[str, ...], bool]:
        """Return the primary key, else the unique index that the server uses as one: the oldest of them.

        The log calls this index the primary key too.
        """
        if _PRIMARY in indexes:
            return tuple(column for column, _, _ in indexes[_PRIMARY] if column), True
        unique = _unique(indexes)
        if len(unique) > 1:
            name = f"{identifier(database)}.{identifier(table)}"
            order = [row[2] for row in self._query(f"SHOW INDEX FROM {name}")]
            unique = {index: unique[index] for index in order if index in unique}
        return next(iter(unique.values()), ()), False

    def _same(self, table: TableId) -> tuple[str, ...]:
        """Return the names to query a table by, which are the same for all its spellings."""
        if self._folds is None:
            [[setting]] = self._query("SELECT @@lower_case_table_names")
            self._folds = bool(setting)
        names = table.schema, table.name
        return tuple(map(str.lower, names)) if self._folds else names

    def collations(self) -> dict[int, str]:
        """Return the character set of each collation of the server, also of those that its owner made."""
        [[there]] = self._query(
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'information_schema'"
            " AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'"
        )
        where = "collation_character_set_applicability" if there else "collations"
        return {int(number): str(name) for number, name in self._query(_COLLATIONS.format(where=where))}

    def _query(self, statement: str, *values: object) -> Iterator[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            yield from cursor.fetchall()


def _unique(indexes: Mapping[str, Sequence[_Part]]) -> dict[str, tuple[str, ...]]:
    """Return the unique indexes over whole columns that are never null."""
    return {
        index: tuple(column for column, _, _ in parts if column)
        for index, parts in indexes.items()
        if all(column and not prefix and not nullable for column, prefix, nullable in parts)
    }
