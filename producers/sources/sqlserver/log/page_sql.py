"""The statements of a poll.  Pure.

    commits above our place  ->  one batch: a page of each change table, then what proves that nothing is
    missing

Every value is a number or bytes, and is written into the statement: so a place never passes a collation.  A
change table is ordered as its clustered index, which costs the server nothing.  T-SQL has no row values, so
the place behind a row is written out.  The proof comes last in the batch: what the cleanup job has deleted
before a page was read, it has announced before the proof is read.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.connect.quoting import binary_literal, identifier, system_name
from wrackline.producers.sources.sqlserver.log.change_rows import RowPlace, lsn_of, place_in
from wrackline.producers.sources.sqlserver.log.lsn import SIZE, Lsn
from wrackline.producers.sources.sqlserver.log.page_merger import PageRequest

LOCK_TIMEOUT: Final = "SET LOCK_TIMEOUT 10000;"
# Once a connection.  A reader gives way in a deadlock, and its transactions end with each statement.
SESSION: Final = (
    "SET NOCOUNT ON; SET XACT_ABORT ON; SET TEXTSIZE 2147483647; SET DEADLOCK_PRIORITY LOW;"
    f" {LOCK_TIMEOUT} SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
)
_ZONED: Final = "tran_end_time AT TIME ZONE CURRENT_TIMEZONE_ID()"
_OFFSET: Final = "TODATETIMEOFFSET(tran_end_time, DATEPART(TZOFFSET, SYSDATETIMEOFFSET()))"
_IN_ONE: Final = 50  # databases in one statement
# Skips what is locked; without the first, a server refuses the second where a database reads versions.
_UNLOCKED: Final = "WITH (READCOMMITTEDLOCK, READPAST)"
_INSTANCE: Final = (
    "CAST(object_id AS binary(4)) + ISNULL(start_lsn, 0x00) + CASE WHEN has_drop_pending = 1 THEN 0x01 ELSE"
    " 0x00 END"
)
_TABLE: Final = "CAST(object_id AS binary(4)) + CAST(schema_id AS binary(4)) + CAST(name AS varbinary(256))"
_ORDER: Final = ("__$start_lsn", "__$command_id", "__$seqval", "__$operation")


class ChangeTable(NamedTuple):
    """A capture instance's change table, as statements name it."""

    table: int
    instance: str
    columns: Sequence[str]
    numbered: bool = True  # whether it has __$command_id; servers had none before the updates of 2016


def commits_after(
    database: str | None, lsn: Lsn, most: int, *, with_it: bool = False, zoned: bool = False
) -> str:
    """Select the next commits; `with_it`: from the one at `lsn` on, because we stopped inside it.

    Commits have the server's local time.  `zoned`: the server knows its zone by name (SQL Server 2022,
    Azure), and so the offset of each day; others know only the offset of today.
    """
    sign, time = ">=" if with_it else ">", _ZONED if zoned else _OFFSET
    return (
        f"SELECT TOP ({most}) start_lsn, {time}, tran_id"  # noqa: S608 - a quoted name, and bytes
        f" FROM {system_name(database, 'cdc.lsn_time_mapping')}"
        f" WHERE start_lsn {sign} {binary_literal(lsn)} ORDER BY start_lsn;"
    )


def newest_commits(databases: Sequence[str]) -> str:
    """Select the newest commit of each database that is not locked, with the database's place in the list."""
    return _numbered(
        f"(SELECT MAX(start_lsn) FROM {system_name(database, 'cdc.lsn_time_mapping')} {_UNLOCKED})"  # noqa: S608
        for database in databases
    )


def catalogue_digests(databases: Sequence[str]) -> str:
    """Select what differs when a catalogue has changed: of its instances, of its DDL, and of its names.

    CHECKSUM_AGG takes rows in any order, so two that exchange their names might leave it as it was, and so
    might two starts that a cleanup raises alike: a row is hashed first.  A lock on the catalogue is not
    waited for: then this fails at once.
    """
    return "SET LOCK_TIMEOUT 0;\n" + _numbered(map(_digests, databases))


def _digests(database: str) -> str:
    instances, ddl, tables = (
        system_name(database, name) for name in ("cdc.change_tables", "cdc.ddl_history", "sys.tables")
    )
    return (
        f"(SELECT {_digest(_INSTANCE)} FROM {instances} {_UNLOCKED}),"  # noqa: S608 - quoted names
        f" (SELECT MAX(ddl_lsn) FROM {ddl} {_UNLOCKED}),"
        f" (SELECT {_digest(_TABLE)} FROM {tables} WHERE is_tracked_by_cdc = 1 AND is_ms_shipped = 0)"
    )


def _digest(row: str) -> str:
    return f"CHECKSUM_AGG(CHECKSUM(HASHBYTES('SHA2_256', {row})))"


def _numbered(columns: Iterable[str]) -> str:
    """Select columns of each database, with its place in the list."""
    selects = [f"SELECT {number}, {shown}" for number, shown in enumerate(columns)]
    several = [selects[at : at + _IN_ONE] for at in range(0, len(selects), _IN_ONE)]
    return "\n".join(" UNION ALL ".join(some) + ";" for some in several)


def page(database: str | None, request: PageRequest, change_table: ChangeTable) -> str:
    """Select a page of a change table."""
    order = _ORDER if change_table.numbered else (_ORDER[0], *_ORDER[2:])
    shown = [name if name in order else f"NULL AS {name}" for name in _ORDER]
    columns = ", ".join([*shown, "__$update_mask", *map(identifier, change_table.columns)])
    return (
        f"SELECT TOP ({request.most_rows}) {columns} FROM {_source(database, change_table.instance)}"  # noqa: S608 - quoted names, and bytes
        f" WHERE {_behind(request, numbered=change_table.numbered)} ORDER BY {', '.join(order)};"
    )


def instances_now(database: str | None) -> str:
    """Select what proves that no page lacks rows: each instance, from where its table has all, for whom.

    Without the role of an instance its change table looks empty, and no error says why.
    """
    return (
        "SELECT capture_instance, object_id, start_lsn, has_drop_pending,"  # noqa: S608 - a quoted name
        f" CASE WHEN role_name IS NULL OR {is_member('role_name')} THEN 1 ELSE 0 END"
        f" FROM {system_name(database, 'cdc.change_tables')};"
    )


def is_member(role: str) -> str:
    """Write the condition that our login may read what is only for a role: an owner needs none."""
    return f"IS_ROLEMEMBER({role}) = 1 OR IS_ROLEMEMBER(N'db_owner') = 1"


def ddl_after(database: str | None, lsn: Lsn) -> str:
    """Select later statements about captured tables; rows of instances that are gone stay in the history."""
    return (
        "SELECT h.source_object_id, h.object_id, h.required_column_update, h.ddl_command, h.ddl_lsn"  # noqa: S608
        f" FROM {system_name(database, 'cdc.ddl_history')} h"
        f" JOIN {system_name(database, 'cdc.change_tables')} c ON c.object_id = h.object_id"
        f" WHERE h.ddl_lsn > {binary_literal(lsn)} ORDER BY h.ddl_lsn;"
    )


def poll(
    database: str | None, requests: Sequence[PageRequest], tables: Sequence[ChangeTable], ddl: Lsn
) -> str:
    """Write one round trip; its results come in the order of the requests, then the proof, then the DDL."""
    known = {one.table: one for one in tables}
    pages = [page(database, request, known[request.table]) for request in requests]
    return "\n".join([*pages, instances_now(database), ddl_after(database, ddl)])


def rows_of_range(database: str | None, instance: str, above: Lsn, upto: Lsn) -> str:
    """Count the rows of a range that was handed out: later rows would show that a commit came late."""
    return (
        f"SELECT COUNT_BIG(*) FROM {_source(database, instance)}"  # noqa: S608 - a quoted name, and bytes
        f" WHERE __$start_lsn > {binary_literal(above)} AND __$start_lsn <= {binary_literal(upto)};"
    )


def names_now(table: int | None = None) -> str:
    """Select the names of the captured tables, or of one, behind a row: all before it was answered.

    A session that changes a table locks its name, and is not waited for: then this fails at once.
    """
    chosen = "" if table is None else f" AND t.object_id = {table}"
    return (
        "SELECT 1; SET LOCK_TIMEOUT 0; SELECT t.object_id, s.name, t.name FROM sys.tables t"  # noqa: S608 - a number
        " JOIN sys.schemas s ON s.schema_id = t.schema_id"
        f" WHERE t.is_tracked_by_cdc = 1 AND t.is_ms_shipped = 0{chosen}; {LOCK_TIMEOUT}"
    )


def _source(database: str | None, instance: str) -> str:
    return system_name(database, f"cdc.{identifier(f'{instance}_CT')}")


def _behind(request: PageRequest, *, numbered: bool) -> str:
    after, upto = lsn_of(request.after), f"__$start_lsn <= {binary_literal(request.upto)}"
    if len(request.after) == SIZE:
        return f"__$start_lsn >= {binary_literal(after)} AND {upto}"
    place = place_in(request.after, request.table)
    if not numbered and place.command is not None:  # all of its rows in this commit come before
        return f"__$start_lsn > {binary_literal(after)} AND {upto}"
    inside = f"__$start_lsn = {binary_literal(after)} AND ({_later(place, numbered=numbered)})"
    return f"({inside} OR __$start_lsn > {binary_literal(after)}) AND {upto}"


def _later(place: RowPlace, *, numbered: bool) -> str:
    """Write what comes behind a place in its transaction; NULL comes first, and equals nothing."""
    seqval = binary_literal(place.seqval)
    row = f"__$seqval > {seqval} OR __$seqval = {seqval} AND __$operation > {place.operation}"
    if not numbered:
        return row
    if place.command is None:
        return f"__$command_id IS NOT NULL OR {row}"
    return f"__$command_id > {place.command} OR __$command_id = {place.command} AND ({row})"
