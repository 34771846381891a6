"""The statements of mining, and what their rows are.  Pure.

SQL makes whole numbers and texts of everything.  A row of V$LOGMNR_CONTENTS has its time by the clock of the
server's own zone, wherever the session is; the offset of that zone is asked for with each range.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.connect.quoting import literal
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.log_files import NO_END, LogFile, RedoThread
from wrackline.producers.sources.oracle.mining.mined_row import (
    DDL,
    ENDS,
    INTERNAL,
    LOB_PARTS,
    MISSING,
    ROW_OPERATIONS,
    START,
    UNSUPPORTED,
    MinedRow,
    mined_row,
)

DATABASE: Final = "SELECT RESETLOGS_CHANGE#, DBID, CDB, TO_CHAR(SYSTIMESTAMP, 'TZH:TZM') FROM V$DATABASE"
THREADS: Final = "SELECT THREAD#, ENABLED, STATUS FROM V$THREAD"
ONLINE: Final = (
    "SELECT f.MEMBER, l.THREAD#, l.SEQUENCE#, l.FIRST_CHANGE#, l.NEXT_CHANGE#, l.STATUS"
    " FROM V$LOG l JOIN V$LOGFILE f ON f.GROUP# = l.GROUP#"
    " WHERE l.STATUS IN ('CURRENT', 'ACTIVE', 'INACTIVE') AND f.STATUS IS NULL"
)
"""A member has a status if it can't be read, or lacks something."""
_ARCHIVED: Final = (
    "SELECT NAME, THREAD#, SEQUENCE#, FIRST_CHANGE#, NEXT_CHANGE# FROM V$ARCHIVED_LOG"
    " WHERE NAME IS NOT NULL AND ARCHIVED = 'YES' AND STATUS = 'A' AND STANDBY_DEST = 'NO'"
    " AND RESETLOGS_CHANGE# = :resetlogs AND NEXT_CHANGE# > :scn_after"
)
ENDED: Final = (
    "SELECT THREAD#, MAX(SEQUENCE#) FROM V$ARCHIVED_LOG"
    " WHERE RESETLOGS_CHANGE# = :resetlogs AND NEXT_CHANGE# <= :scn_from GROUP BY THREAD#"
)
"""Also of logs whose files are gone."""
_NEW: Final = "SYS.DBMS_LOGMNR.NEW"
_MORE: Final = "SYS.DBMS_LOGMNR.ADDFILE"
START_MINING: Final = (
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :scn_from, ENDSCN => :scn_upto,"
    " OPTIONS => SYS.DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + SYS.DBMS_LOGMNR.NO_ROWID_IN_STMT); END;"
)
END_MINING: Final = "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;"

UNKNOWN_OWNER: Final = "UNKNOWN"
_UNKNOWN_TABLE: Final = "OBJ# "
_UNKNOWN_COLUMN: Final = '"COL '
_ROOT: Final = "CDB$ROOT"
_MOST_ITEMS: Final = 1_000  # of a list in SQL
_NO_XID: Final = "0" * 16
_SECOND: Final = 1_000_000
_ZONE: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")

_COLUMNS: Final = (
    *("SCN", "THREAD#", "RS_ID", "SSN", "RAWTOHEX(XID)", "OPERATION_CODE", "ROLLBACK", "CSF", "STATUS"),
    *("INFO", "ROUND((TIMESTAMP - DATE '1970-01-01') * 86400)", "START_SCN", "COMMIT_SCN", "ROW_ID"),
    *("DATA_OBJ#", "DATA_OBJV#", "SEG_OWNER", "TABLE_NAME", "USERNAME", "SQL_REDO"),
    *("RBASQN", "RBABLK", "RBABYTE"),
)
_XID: Final = 4
_MOMENT: Final = 10
_RBA: Final = 20
_CONTAINER: Final = 0
"""One container is mined, by its name.  So its number says nothing, and it may change."""


class MinedDatabase(NamedTuple):
    """The row of V$DATABASE."""

    incarnation: Incarnation
    has_containers: bool
    zone_s: int  # of the server's own clock, east of UTC


def database_facts(fields: Fields) -> MinedDatabase:
    """Read the row."""
    resetlogs, database_id, containers, zone = fields
    if (found := _ZONE.fullmatch(zone)) is None:
        raise ValueError("not the offset of a zone")
    seconds = int(f"{found[1]}1") * (int(found[2]) * 3600 + int(found[3]) * 60)
    return MinedDatabase(Incarnation(resetlogs, database_id), containers == "YES", seconds)


def redo_threads(rows: Iterable[Fields]) -> list[RedoThread]:
    """Read V$THREAD."""
    return [
        RedoThread(number, enabled=enabled != "DISABLED", open=status == "OPEN")
        for number, enabled, status in rows
    ]


def archived_sql(destinations: Collection[str]) -> str:
    """Write the list of archived logs; no destinations: each that is local."""
    if not destinations:
        return _ARCHIVED
    names = ", ".join(literal(name.upper()) for name in destinations)
    return (
        f"{_ARCHIVED} AND DEST_ID IN (SELECT DEST_ID FROM V$ARCHIVE_DEST_STATUS"  # noqa: S608 - quoted
        f" WHERE DEST_NAME IN ({names}))"
    )


def online_files(rows: Iterable[Fields]) -> list[LogFile]:
    """Read the online logs; a member is a copy of its log, and one of them is enough."""
    return [
        LogFile(name, thread, sequence, first, end or NO_END, archived=False, current=status == "CURRENT")
        for name, thread, sequence, first, end, status in rows
    ]


def archived_files(rows: Iterable[Fields]) -> list[LogFile]:
    """Read the archived logs."""
    return [
        LogFile(name, thread, sequence, first, end, archived=True)
        for name, thread, sequence, first, end in rows
    ]


def add_file_sql(*, first: bool) -> str:
    """Write what adds a file; the first one makes the session forget others."""
    return (
        "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :name,"
        f" OPTIONS => {_NEW if first else _MORE}); END;"
    )


def mined_container(facts: MinedDatabase, container: str | None) -> str | None:
    """Return the container whose rows are mined; None: there is but one."""
    return container or (_ROOT if facts.has_containers else None)


def contents_sql(owners: Collection[str], container: str | None) -> str:
    """Write the SELECT of a range.

    It has the starts and the ends of all transactions, and of what they did that which is of a captured
    owner's tables, or of a table or an owner that the catalogue of now does not name.  An INTERNAL row that
    names a row ends a statement with large objects.
    """
    operations = ", ".join(map(str, sorted({*ROW_OPERATIONS, *LOB_PARTS, DDL, UNSUPPORTED})))
    internal = f"OPERATION_CODE = {INTERNAL} AND ROW_ID IS NOT NULL AND ROW_ID NOT LIKE '%AAAAAAAAAAAA'"
    ends = ", ".join(map(str, sorted({START, *ENDS})))
    rows = f"({_of_owners(owners)}) AND (OPERATION_CODE IN ({operations}) OR {internal})"
    ours = f"OPERATION_CODE IN ({ends}) OR {rows}"
    if container is not None:
        ours = f"SRC_CON_NAME = {literal(container)} AND ({ours})"
    return (
        f"SELECT {', '.join(_COLUMNS)} FROM V$LOGMNR_CONTENTS"  # noqa: S608 - names are quoted
        f" WHERE SCN > :scn_after AND SCN <= :scn_upto AND (OPERATION_CODE = {MISSING} OR {ours})"
    )


def row_of(fields: Sequence[Any], zone_s: int) -> MinedRow:
    """Make a row of what the SELECT returns."""
    moment = fields[_MOMENT]
    return mined_row(
        (
            *fields[:_XID],
            _CONTAINER,
            fields[_XID] or _NO_XID,
            *fields[_XID + 1 : _MOMENT],
            None if moment is None else (moment - zone_s) * _SECOND,
            *fields[_MOMENT + 1 : _RBA],
        ),
        [number or 0 for number in fields[_RBA:]],
    )


def is_unresolved(row: MinedRow) -> bool:
    """Whether the catalogue of now does not name the row's table, or one of its columns."""
    return row.owner == UNKNOWN_OWNER or row.table.startswith(_UNKNOWN_TABLE) or _UNKNOWN_COLUMN in row.redo


def _of_owners(owners: Collection[str]) -> str:
    names = [literal(name) for name in sorted({UNKNOWN_OWNER, *owners})]
    lists = (names[at : at + _MOST_ITEMS] for at in range(0, len(names), _MOST_ITEMS))
    return " OR ".join(["SEG_OWNER IS NULL", *(f"SEG_OWNER IN ({', '.join(some)})" for some in lists)])
