"""The statements of the preflight.  Pure.

Times come as text, in the zone of the database's host, and with them its own time; nothing else is compared.
"""

from typing import Final

_MOMENT: Final = "'YYYY-MM-DD HH24:MI:SS'"

DATABASE: Final = (
    "SELECT LOG_MODE, DATABASE_ROLE, OPEN_MODE, CDB, SUPPLEMENTAL_LOG_DATA_MIN, RESETLOGS_CHANGE#,"
    " CURRENT_SCN, SYS_CONTEXT('USERENV', 'CON_NAME') FROM V$DATABASE"
)
VERSION: Final = "SELECT BANNER FROM V$VERSION WHERE BANNER LIKE 'Oracle%'"
NOW: Final = f"SELECT TO_CHAR(SYSDATE, {_MOMENT}) FROM DUAL"  # noqa: S608 - our own text
PRIVILEGES: Final = "SELECT PRIVILEGE FROM SESSION_PRIVS"
USER: Final = (
    "SELECT u.USERNAME, u.DEFAULT_TABLESPACE, q.MAX_BYTES FROM USER_USERS u"
    " LEFT JOIN USER_TS_QUOTAS q ON q.TABLESPACE_NAME = u.DEFAULT_TABLESPACE"
)
TABLE: Final = "SELECT TABLE_NAME FROM ALL_TABLES WHERE OWNER = :owner AND TABLE_NAME = :name"
THREADS: Final = "SELECT THREAD# FROM V$THREAD WHERE STATUS = 'OPEN' AND ENABLED <> 'DISABLED'"
LOGS: Final = (
    "SELECT THREAD#, SEQUENCE#, FIRST_CHANGE#, BYTES FROM V$LOG"
    " WHERE STATUS IN ('CURRENT', 'ACTIVE', 'INACTIVE')"  # another one has no redo
)
ARCHIVED: Final = (
    f"SELECT THREAD#, SEQUENCE#, FIRST_CHANGE#, TO_CHAR(FIRST_TIME, {_MOMENT}),"  # noqa: S608 - our own text
    f" TO_CHAR(NEXT_TIME, {_MOMENT}),"
    " CASE WHEN NAME IS NOT NULL AND STATUS = 'A' THEN 1 ELSE 0 END"
    " FROM V$ARCHIVED_LOG WHERE ARCHIVED = 'YES' AND RESETLOGS_CHANGE# = :resetlogs"
)
DESTINATIONS: Final = "SELECT DEST_NAME FROM V$ARCHIVE_DEST_STATUS WHERE STATUS = 'VALID' ORDER BY DEST_ID"
RECOVERY_AREA: Final = "SELECT SPACE_LIMIT, SPACE_USED, SPACE_RECLAIMABLE FROM V$RECOVERY_FILE_DEST"
OLDEST_TRANSACTION: Final = (
    f"SELECT t.START_SCN, TO_CHAR(t.START_DATE, {_MOMENT}), s.SID, s.SERIAL#, s.USERNAME, s.PROGRAM"  # noqa: S608
    " FROM V$TRANSACTION t LEFT JOIN V$SESSION s ON s.SADDR = t.SES_ADDR"
    " WHERE t.START_SCN > 0 ORDER BY t.START_SCN FETCH FIRST 1 ROWS ONLY"  # of some it is not known
)
END_MINING: Final = "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;"
"""It needs the right to run the package, and ends nothing, because a new session mines nothing."""


def no_insert(table: str) -> str:
    """Insert no row: it fails without the right to."""
    return f"INSERT INTO {table} (LAST_SCN) SELECT 0 FROM DUAL WHERE 1 = 0"  # noqa: S608 - a quoted name


def no_delete(table: str) -> str:
    """Delete no row: it fails without the right to."""
    return f"DELETE FROM {table} WHERE LAST_SCN <> LAST_SCN"  # noqa: S608 - a quoted name


def nothing_of(source: str) -> str:
    """Select no row of a view or a table: it fails if it can't be read."""
    return f"SELECT 1 FROM {source} WHERE 1 = 0"  # noqa: S608 - a quoted name, or one of ours
