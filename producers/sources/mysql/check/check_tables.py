"""The findings about single tables: engines, keys, foreign keys, types.

    information_schema + rules about columns  ->  findings, and how far each column is carried

The server shows a user only tables to which the user has some right; so a requested table that is not listed
may exist.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pymysql
from pymysql.connections import Connection

from wrackline.producers.kit.preflight.column_findings import (
    TypedColumn,
    chosen_key_findings,
)
from wrackline.producers.sources.mysql.check import check_table_rules as rules
from wrackline.producers.sources.mysql.check.check_access import ABSENT
from wrackline.producers.sources.mysql.chunks import key_uniqueness
from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.producers.sources.mysql.connect.server_errors import RIGHTS
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.producers.sources.mysql.discover import foreign_keys
from wrackline.producers.sources.mysql.discover.types import column_type, parse
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

TRANSACTIONAL = frozenset({"InnoDB", "ROCKSDB", "TokuDB", "ndbcluster"})
# Engines whose rows are not the rows in their log.
ELSEWHERE = {
    "FEDERATED": "its rows are on another server",
    "SPIDER": "its rows are on other servers",
    "CONNECT": "its rows are in files or on another server",
    "BLACKHOLE": "it stores no rows, but its log contains all changes",
    "MRG_MyISAM": "its rows belong to other tables, under whose names they are logged",
    "MEMORY": "its rows are lost when the server restarts",
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

# Kinds that are carried only in part.
PARTIAL = dict.fromkeys((Kind.TEXT_OF, Kind.NUMERIC_TEXT), "carried as the server's text")


class MySqlCheckedTable(NamedTuple):
    """A table as the server shows it."""

    id: TableId
    engine: str
    size: int  # bytes


def all_tables(connection: "Connection[Any]") -> list[MySqlCheckedTable]:
    """List the tables to which our user has any right."""
    return [
        MySqlCheckedTable(_id(row), str(row["e"]), int(row["size"] or 0))
        for row in query_dicts(connection, _TABLES)
    ]


def columns_of(
    connection: "Connection[Any]", tables: Collection[TableId]
) -> Mapping[TableId, Sequence[TypedColumn]]:
    """Return the columns of these tables, in their order."""
    found: dict[TableId, list[TypedColumn]] = {table: [] for table in tables}
    for row in _query_tables(connection, _COLUMNS, tables):
        if (table := _id(row)) in found:
            name, written = str(row["c"]), str(row["type"])
            type_of = partial(column_type, parse(written), column=f"{table.schema}.{table.name}.{name}")
            found[table].append(TypedColumn(name, written, type_of))
    return found


def tables_with_key(connection: "Connection[Any]", tables: Collection[TableId]) -> frozenset[TableId]:
    """Return the tables whose rows a key distinguishes."""
    return frozenset(map(_id, _query_tables(connection, _KEYED, tables)))


def chosen_key(
    connection: "Connection[Any]", table: TableId, key: Sequence[str], there: Collection[str]
) -> Iterator[Finding]:
    """Report where the columns that message.key.columns names may not distinguish rows, or do not."""
    return chosen_key_findings(
        rules.KEY_UNPROVEN,
        table,
        key,
        there,
        partial(key_uniqueness.is_proven_unique, connection, table, key),
        partial(key_uniqueness.count_duplicates, connection, table, key),
        key_uniqueness.MOST_S,
        table_name=table_name(table),
        columns=", ".join(map(identifier, key)),
    )


def storage(table: MySqlCheckedTable, *, has_key: bool) -> Iterator[Finding]:
    """Report what the table's engine and its lack of a key mean."""
    names = {"table_name": table_name(table.id), "engine": table.engine}
    if (what := ELSEWHERE.get(table.engine)) is not None:
        path = exact_pattern(f"{table.id.schema}.{table.id.name}")
        yield rules.ROWS_ELSEWHERE(table.id, what=what, path=path, **names)
    elif table.engine not in TRANSACTIONAL:
        yield rules.NO_TRANSACTIONS(table.id, **names)
    if not has_key:
        yield rules.KEY_MISSING(
            table.id, table_name=names["table_name"], size=f"{table.size / (1 << 20):,.0f}"
        )


def cascades(connection: "Connection[Any]", table: TableId) -> Iterator[Finding]:
    """Name foreign keys by which a change of another table changes this table, which must be readable."""
    try:
        [row] = query_dicts(connection, f"SHOW CREATE TABLE {table_name(table)}")
    except pymysql.err.MySQLError as exc:
        if exc.args[0] in RIGHTS | ABSENT:  # it was dropped, or rights on its columns are not enough
            return
        raise
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


def absence_finding(
    facts: MySqlServerFacts, table: TableId, there: Collection[TableId], account: str
) -> Iterator[Finding]:
    """Report why a requested table is not listed."""
    small = TableId(table.schema.lower(), table.schema.lower(), table.name.lower())
    folds = facts.count("lower_case_table_names")
    if folds and small in there:
        yield rules.NAME_CASE(table, folds=folds, table_name=table_name(table), real=table_name(small))
    else:
        yield rules.TABLE_ABSENT(table, table_name=table_name(table), account=account)


def _query_tables(
    connection: "Connection[Any]", statement: str, tables: Collection[TableId]
) -> list[dict[str, Any]]:
    databases = sorted({table.schema for table in tables})
    return query_dicts(connection, statement, databases) if databases else []


def _id(row: Mapping[str, Any]) -> TableId:
    return TableId(str(row["s"]), str(row["s"]), str(row["t"]))
