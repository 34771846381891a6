"""The statements that try the assumptions, on a connection to the database.  Pure.

What is written are rows of the signal table: signals of a kind that a running pipeline passes by.
"""

from collections.abc import Collection
from typing import Final

from wrackline.producers.sources.sqlserver.connect.quoting import (
    binary_literal,
    identifier,
    literal,
    table_name,
)
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.schemas.tables.table import TableId

MOST_ROWS: Final = 500  # of each change table
COMMITS: Final = "SELECT TOP (1000) start_lsn FROM cdc.lsn_time_mapping ORDER BY start_lsn DESC;"
SCANS: Final = (
    "SELECT end_lsn, start_time, empty_scan_count FROM sys.dm_cdc_log_scan_sessions WHERE session_id > 0;"
)
VERSIONS: Final = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT;"
VERSION: Final = "SELECT @@VERSION;"
_KEY: Final = "__$start_lsn, __$command_id, __$seqval, __$operation"
_FALLING: Final = ", ".join(f"{name} DESC" for name in _KEY.split(", "))


def newest_rows(instance: str) -> str:
    """Select the newest rows of a change table."""
    return f"SELECT TOP ({MOST_ROWS}) {_KEY} FROM {_changes(instance)} ORDER BY {_FALLING};"  # noqa: S608 - quoted


def own_rows(instance: str, above: Lsn, ids: Collection[str]) -> str:
    """Select what the signal table's change table has of these rows."""
    return (
        f"SELECT {_KEY}, [id] FROM {_changes(instance)} WHERE __$start_lsn > {binary_literal(above)}"  # noqa: S608
        f" AND [id] IN ({', '.join(map(literal, ids))}) ORDER BY {_KEY};"
    )


def rows_there(table: TableId, ids: Collection[str]) -> str:
    """Select which of these rows are in the signal table."""
    return f"SELECT [id] FROM {table_name(table)} WHERE [id] IN ({', '.join(map(literal, ids))});"  # noqa: S608


def rows_like(table: TableId, prefix: str) -> str:
    """Select the rows of the signal table whose id begins so."""
    return f"SELECT [id] FROM {table_name(table)} WHERE [id] LIKE {literal(prefix + '%')};"  # noqa: S608


def begun(insert: str) -> str:
    """Begin a transaction with a statement."""
    return f"BEGIN TRANSACTION; {insert}"


def exchange(table: TableId, one: str, other: str) -> str:
    """Exchange the keys of two rows, with one statement."""
    one, other = literal(one), literal(other)
    return (
        f"UPDATE {table_name(table)} SET [id] = CASE WHEN [id] = {one} THEN {other} ELSE {one} END"  # noqa: S608
        f" WHERE [id] IN ({one}, {other});"
    )


def remove(table: TableId, ids: Collection[str]) -> str:
    """Delete these rows."""
    return f"DELETE FROM {table_name(table)} WHERE [id] IN ({', '.join(map(literal, ids))});"  # noqa: S608


def _changes(instance: str) -> str:
    return f"cdc.{identifier(f'{instance}_CT')}"
