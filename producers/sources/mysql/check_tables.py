"""What stands in the way of single tables: engines, keys, foreign keys, types.

    information_schema + rules about columns  ->  findings, and how far each column is carried

The server shows a user only tables to which it has some right; so one that was asked for and is not listed
may be there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pymysql.connections import Connection

from wrackline.producers.sources.mysql import check_rules, foreign_keys
from wrackline.producers.sources.mysql import check_table_rules as rules
from wrackline.producers.sources.mysql.connect import ask
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.server_facts import ServerFacts
from wrackline.producers.sources.mysql.types import column_type, parse
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.findings import ColumnSupport, Finding, Support
from wrackline.schemas.patterns import only
from wrackline.schemas.table import TableId
from wrackline.schemas.types import ColumnType, Kind

TRANSACTIONAL = frozenset({"InnoDB", "ROCKSDB", "TokuDB", "ndbcluster"})
# Engines whose rows are not the ones that their log tells of.
ELSEWHERE = {
    "FEDERATED": "they are another server's",
    "SPIDER": "they are other servers'",
    "CONNECT": "they are files' or another server's",
    "BLACKHOLE": "it keeps none, and its log tells of all",
    "MRG_MyISAM": "they are those of other tables, under whose names they are logged",
    "MEMORY": "they go with a restart of the server",
}

_SYSTEM = "('mysql', 'information_schema', 'performance_schema', 'sys')"
_TABLES = f"""
SELECT table_schema AS s, table_name AS t, engine AS e, data_length AS size
FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN {_SYSTEM} ORDER BY 1, 2"""  # noqa: S608
_COLUMNS = """
SELECT table_schema AS s, table_name AS t, column_name AS c, column_type AS type
FROM information_schema.columns WHERE table_schema IN %s ORDER BY 1, 2, ordinal_position"""
_KEYED = """
SELECT table_schema AS s, table_name AS t, index_name FROM information_schema.statistics
WHERE non_unique = 0 AND table_schema IN %s GROUP BY 1, 2, 3
HAVING sum(nullable = 'YES') = 0 AND sum(sub_part IS NOT NULL OR column_name IS NULL) = 0"""

Columns = Mapping[TableId, Sequence[tuple[str, str]]]  # names and types as the server writes them


class Table(NamedTuple):
    """A table as the server shows it."""

    id: TableId
    engine: str
    size: int  # bytes


def all_tables(connection: "Connection[Any]") -> list[Table]:
    """List the tables to which our user has any right."""
    return [Table(_id(row), str(row["e"]), int(row["size"] or 0)) for row in ask(connection, _TABLES)]


def columns_of(connection: "Connection[Any]", tables: Collection[TableId]) -> Columns:
    """Return the columns of these tables, in their order."""
    found: dict[TableId, list[tuple[str, str]]] = {table: [] for table in tables}
    for row in _asked(connection, _COLUMNS, tables):
        if (table := _id(row)) in found:
            found[table].append((str(row["c"]), str(row["type"])))
    return found


def keyed(connection: "Connection[Any]", tables: Collection[TableId]) -> frozenset[TableId]:
    """Name those whose rows a key tells apart."""
    return frozenset(map(_id, _asked(connection, _KEYED, tables)))


def storage(table: Table, *, has_key: bool) -> Iterator[Finding]:
    """Say what the table's engine and its lack of a key mean."""
    names = {"table_name": table_name(table.id), "engine": table.engine}
    if (what := ELSEWHERE.get(table.engine)) is not None:
        path = only(f"{table.id.schema}.{table.id.name}")
        yield rules.ROWS_ELSEWHERE(table.id, what=what, path=path, **names)
    elif table.engine not in TRANSACTIONAL:
        yield rules.NO_TRANSACTIONS(table.id, **names)
    if not has_key:
        yield rules.KEY_MISSING(
            table.id, table_name=names["table_name"], size=f"{table.size / (1 << 20):,.0f}"
        )


def cascades(connection: "Connection[Any]", table: TableId) -> Iterator[Finding]:
    """Name foreign keys by which a change of another table changes this one; it may be read."""
    [row] = ask(connection, f"SHOW CREATE TABLE {table_name(table)}")
    for key in foreign_keys.cascades(str(row["Create Table"]), table.schema):
        yield rules.CASCADE_UNLOGGED(
            table,
            constraint=key.name,
            table_name=table_name(table),
            rules=key.rules,
            parent=key.parent,
            columns=key.columns,
            referenced=key.referenced,
            path=table,
        )


def support(
    table: TableId, columns: Sequence[tuple[str, str]], about: ColumnRules
) -> Iterator[ColumnSupport]:
    """Say of each column that is copied how far it is carried."""
    for name, written in columns:
        if about.drops(table, name):
            continue
        match _known(table, name, written, as_text=about.as_text(table, name)):
            case OperatorNeeded() as unknown:
                yield ColumnSupport(table, name, written, Support.NO, unknown.hint)
            case ColumnType(kind=Kind.TEXT_OF | Kind.NUMERIC_TEXT):
                yield ColumnSupport(table, name, written, Support.PARTIAL, "carried as the server's text")
            case _:
                yield ColumnSupport(table, name, written, Support.YES)


def types(table: TableId, columns: Sequence[tuple[str, str]], about: ColumnRules) -> Iterator[Finding]:
    """Name columns whose type is not known here."""
    for name, written in columns:
        known = _known(table, name, written, as_text=about.as_text(table, name))
        if isinstance(known, OperatorNeeded):
            yield check_rules.of_error(known, table, name, impact="the table is not copied")


def absent(facts: ServerFacts, table: TableId, there: Collection[TableId], account: str) -> Iterator[Finding]:
    """Say why a table that was asked for is not listed."""
    small = TableId(table.schema.lower(), table.schema.lower(), table.name.lower())
    folds = facts.count("lower_case_table_names")
    if folds and small in there:
        yield rules.NAME_CASE(table, folds=folds, table_name=table_name(table), real=table_name(small))
    else:
        yield rules.TABLE_ABSENT(table, table_name=table_name(table), account=account)


def _known(table: TableId, name: str, written: str, *, as_text: bool) -> ColumnType | OperatorNeeded:
    try:
        return column_type(parse(written), column=f"{table.schema}.{table.name}.{name}", as_text=as_text)
    except OperatorNeeded as unknown:
        return unknown


def _asked(
    connection: "Connection[Any]", statement: str, tables: Collection[TableId]
) -> list[dict[str, Any]]:
    databases = sorted({table.schema for table in tables})
    return ask(connection, statement, databases) if databases else []


def _id(row: Mapping[str, Any]) -> TableId:
    return TableId(str(row["s"]), str(row["s"]), str(row["t"]))
