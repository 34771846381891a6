"""What the catalogue says of a table, beside what the log says of it.  Pure.

    information_schema        ->  TableFacts
    TableMap and TableFacts   ->  which of the log's columns are the server's own, and whether its rows
                                  are what they seem

The log is older than the catalogue, so where they differ the log is right.  Where they agree, the catalogue
adds what the log lacks: MariaDB's own types, what is generated, a unique index.
"""

import re
from typing import NamedTuple

from wrackline.producers.sources.mysql import wire_types as wire
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.table_map import TableMap
from wrackline.producers.sources.mysql.types import MySqlType
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.table import TableId

SYSTEM_VERSIONED = define(
    "mysql.system_versioned",
    OperatorNeeded,
    "{table} is system-versioned: its log holds the history of each row beside the row",
    hint="ALTER TABLE {quoted} DROP SYSTEM VERSIONING, or leave it out: table.exclude.list={table}",
)
OLD_TEMPORAL = define(
    "mysql.old_temporal",
    OperatorNeeded,
    "column {column} of {table} is kept in the form of before MariaDB 10.1, of which the log does not say "
    "how long it is",
    hint="SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE {quoted} FORCE; "
    "then: wrackline snapshot start <pipeline.toml> '{table}'",
)


class ColumnFacts(NamedTuple):
    """One column of the catalogue."""

    name: str
    type: MySqlType
    nullable: bool = True
    generated: bool = False


class TableFacts(NamedTuple):
    """A table of the catalogue; its key is the primary key, else a unique index over not-null columns."""

    table: TableId
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...] = ()
    primary: bool = False
    versioned: bool = False


# MariaDB keeps a unique index over long texts by a number of its own, in columns behind all others.
_HASH = re.compile(r"DB_ROW_HASH_\d+", re.ASCII)
_PERIOD = ("row_start", "row_end")  # what MariaDB calls a row's time where nobody named it
_MICROSECONDS = 6


def hidden(told: TableMap, facts: TableFacts | None) -> frozenset[int]:
    """Return the places of columns that the server has for itself, and that no SELECT shows."""
    named = {column.name for column in facts.columns} if facts else set()
    found = set()
    for place in reversed(range(len(told.columns))):
        column = told.columns[place]
        ours = column.wire == wire.LONGLONG and column.unsigned and _HASH.fullmatch(column.name)
        if not ours or column.name in named:
            break
        found.add(place)
    return frozenset(found)


def check_facts(facts: TableFacts) -> None:
    """Refuse a table of which a SELECT shows less than the log."""
    if facts.versioned:
        raise _versioned(facts.table)


def check_log(told: TableMap, table: TableId, facts: TableFacts | None) -> None:
    """Refuse a table whose rows in the log are not what they seem."""
    if facts is None and _has_period(told):
        raise _versioned(table)
    types = {column.name: column.type for column in facts.columns} if facts else {}
    for column in told.columns:
        known = types.get(column.name)
        if column.wire in (wire.TIME, wire.DATETIME, wire.TIMESTAMP) and known is not None and known.sizes:
            raise OLD_TEMPORAL(column=column.name, table=table, quoted=table_name(table))


def _versioned(table: TableId) -> WracklineError:
    return SYSTEM_VERSIONED(table=table, quoted=table_name(table))


def _has_period(told: TableMap) -> bool:
    last = told.columns[-2:]
    return tuple(column.name for column in last) == _PERIOD and all(
        (column.wire, column.meta) == (wire.TIMESTAMP2, _MICROSECONDS) and not column.nullable
        for column in last
    )
