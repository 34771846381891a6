"""What the catalogue says about a table, in addition to the log.  Pure.

    information_schema        ->  MySqlTableFacts
    TableMap and MySqlTableFacts   ->  which of the log's columns are the server's own, and whether its rows
                                  can be used

The log is older than the catalogue, so where they differ, the log is right.  Where they agree, the catalogue
adds what the log lacks: MariaDB's own types, generated columns, a unique index.
"""

import re
from typing import NamedTuple

from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.discover.types import MySqlType
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import TableMap
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.tables.table import TableId

SYSTEM_VERSIONED = define(
    "mysql.system_versioned",
    OperatorNeeded,
    "{table} is system-versioned: its log contains the history of each row in addition to the row",
    hint="ALTER TABLE {quoted} DROP SYSTEM VERSIONING, or leave it out: table.exclude.list = '{table}'",
)
OLD_TEMPORAL = define(
    "mysql.old_temporal",
    OperatorNeeded,
    "column {column} of {table} is stored in the format from before MariaDB 10.1, and the log does not say"
    " how long its values are",
    hint="SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE {quoted} FORCE; "
    "then: wrackline snapshot start <pipeline.toml> '{table}'",
)


class MySqlColumnFacts(NamedTuple):
    """One column of the catalogue."""

    name: str
    type: MySqlType
    nullable: bool = True
    generated: bool = False


class MySqlTableFacts(NamedTuple):
    """A table of the catalogue; its key is the primary key, else a unique index over not-null columns."""

    table: TableId
    columns: tuple[MySqlColumnFacts, ...]
    key: tuple[str, ...] = ()
    primary: bool = False
    versioned: bool = False


# MariaDB implements a unique index over long texts by a hash, in hidden columns behind all others.
_HASH = re.compile(r"DB_ROW_HASH_\d+", re.ASCII)
_PERIOD = ("row_start", "row_end")  # MariaDB's default names of a row's period
_MICROSECONDS = 6


def hidden(told: TableMap, facts: MySqlTableFacts | None) -> frozenset[int]:
    """Return the places of the server's own columns, which a SELECT does not show."""
    named = {column.name for column in facts.columns} if facts else set()
    found = set()
    for place in reversed(range(len(told.columns))):
        column = told.columns[place]
        ours = column.wire == wire.LONGLONG and column.unsigned and _HASH.fullmatch(column.name)
        if not ours or column.name in named:
            break
        found.add(place)
    return frozenset(found)


def check_facts(facts: MySqlTableFacts) -> None:
    """Refuse a table whose log contains more than a SELECT shows."""
    if facts.versioned:
        raise _versioned(facts.table)


def check_log(told: TableMap, table: TableId, facts: MySqlTableFacts | None) -> None:
    """Refuse a table whose rows in the log can't be used."""
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
