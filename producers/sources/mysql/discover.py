"""The catalogue: which tables there are, and what a table is to the rest of Wrackline.

    information_schema  ->  TableId, TableFacts, Projection

The log says most of a table itself; the catalogue is asked which tables there are, what the log does not
say, and for shapes before the log has named a table.  One statement describes many tables.

Names are taken as the server keeps them.  Where it keeps them in lower case alone
(`lower_case_table_names=1`), or in any case and compares them without (2), a question finds its table in
any spelling, but the name that goes out is the server's.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.sources.mysql.facts import ColumnFacts, TableFacts
from wrackline.producers.sources.mysql.shapes import Shapes
from wrackline.producers.sources.mysql.types import parse
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId

TABLE_MISSING = define(
    "mysql.table_missing",
    OperatorNeeded,
    "there is no table {table} that this user can see, or not any more",
    hint="see whether it has another name now (SHOW FULL TABLES FROM {database}), and correct "
    "table.include.list; or grant SELECT on it",
)

_SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")
AT_ONCE = 500  # tables that are described by one statement

# Views, sequences and temporary tables have other types.
_TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN %s
ORDER BY 1, 2"""
_FOUND = """
SELECT table_schema, table_name, table_type FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND (table_schema, table_name) IN %s"""
_COLUMNS = """
SELECT table_schema, table_name, column_name, column_type, is_nullable, COALESCE(generation_expression, '')
FROM information_schema.columns WHERE (table_schema, table_name) IN %s
ORDER BY table_schema, table_name, ordinal_position"""
_INDEXES = """
SELECT table_schema, table_name, index_name, column_name, sub_part, nullable
FROM information_schema.statistics WHERE non_unique = 0 AND (table_schema, table_name) IN %s
ORDER BY table_schema, table_name, index_name, seq_in_index"""
_COLLATIONS = """
SELECT id, character_set_name FROM information_schema.{where} WHERE id IS NOT NULL"""
_PRIMARY = "PRIMARY"


class Catalogue:
    """Reads the catalogue over a connection of the caller's; tables are kept only if asked for."""

    def __init__(self, connection: "Connection[Any]", shapes: Shapes) -> None:
        """Take what makes a shape of what the catalogue says."""
        self._connection, self._shapes = connection, shapes
        self._kept: dict[TableId, TableFacts] = {}

    def keep(self, tables: Collection[TableId]) -> None:
        """Look many tables up together; from here on these are as they are now."""
        self._kept |= self.facts_of(tables)

    def tables(self) -> list[TableId]:
        """List the tables that this user can see."""
        return [TableId(database, database, name) for database, name in self._asked(_TABLES, _SYSTEM)]

    def describe(self, table: TableId, names: Mapping[str, str] | None = None) -> Projection:
        """Return a table's shape now, and what of it goes out; `names` are its renamed columns."""
        return self._shapes.of_facts(self.facts(table), names or {})

    def facts(self, table: TableId) -> TableFacts:
        """Return what the catalogue says of a table."""
        found = self._kept.get(table) or self.facts_of([table]).get(table)
        if found is None:
            raise TABLE_MISSING(table=table, database=table.database)
        return found

    def facts_of(self, tables: Collection[TableId]) -> dict[TableId, TableFacts]:
        """The same of many, with few statements; tables that are not there are left out."""
        wanted = list(tables)
        found: dict[TableId, TableFacts] = {}
        for first in range(0, len(wanted), AT_ONCE):
            found |= self._some(wanted[first : first + AT_ONCE])
        return found

    def _some(self, tables: Sequence[TableId]) -> dict[TableId, TableFacts]:
        asked = tuple((table.schema, table.name) for table in tables)
        there = {(database, name): kind for database, name, kind in self._asked(_FOUND, asked)}
        columns: dict[tuple[str, str], list[ColumnFacts]] = defaultdict(list)
        for database, name, column, written, nullable, expression in self._asked(_COLUMNS, asked):
            told = ColumnFacts(column, parse(written), nullable == "YES", bool(expression))
            columns[database, name].append(told)
        indexes: dict[tuple[str, str], dict[str, list[_Part]]] = defaultdict(lambda: defaultdict(list))
        for database, name, index, column, prefix, nullable in self._asked(_INDEXES, asked):
            indexes[database, name][index].append((column, prefix, nullable == "YES"))
        made = {}
        for (database, name), kind in there.items():
            table = TableId(database, database, name)
            key, primary = _key(indexes[database, name])
            made[table] = TableFacts(
                table, tuple(columns[database, name]), key, primary, versioned=kind != "BASE TABLE"
            )
        return made

    def collations(self) -> dict[int, str]:
        """Return the character set of each collation that the server has, also of those made by its owner."""
        [[there]] = self._asked(
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'information_schema'"
            " AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'"
        )
        where = "collation_character_set_applicability" if there else "collations"
        return {int(number): str(name) for number, name in self._asked(_COLLATIONS.format(where=where))}

    def _asked(self, statement: str, *values: object) -> Iterator[Any]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            yield from cursor.fetchall()


_Part = tuple[str | None, int | None, bool]  # a column, how much of it, whether it may be null


def _key(indexes: Mapping[str, Sequence[_Part]]) -> tuple[tuple[str, ...], bool]:
    """Return the primary key, else the unique index over whole not-null columns that has the fewest."""
    if _PRIMARY in indexes:
        return tuple(column for column, _, _ in indexes[_PRIMARY] if column), True
    whole = [
        (len(parts), index, tuple(column for column, _, _ in parts if column))
        for index, parts in indexes.items()
        if all(column and not prefix and not nullable for column, prefix, nullable in parts)
    ]
    return (min(whole)[2], False) if whole else ((), False)
