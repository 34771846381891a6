"""What an error of the server or the driver means, and which side acts on it.  Pure.

| errors | what it is | who acts |
|---|---|---|
| ORA-00054, 00060, 02049, 04021, 30006 | a lock | we |
| ORA-01033, 01034, 01089, 01090, 01109, 01219, 12526 to 12528, 65024, 65054 | it starts or stops | we |
| ORA-12170, 12541, 12543, 12545, DPY-6005 | the server can't be reached | we |
| ORA-12505, 12514, DPY-6001, 6003 | the listener does not know the database (yet) | we |
| ORA-00018, 00020, 02391, 12516, 12518 to 12520 | too many sessions | we |
| ORA-01555, 01466, 08103, 08176, 08180, 08181 | rows as of an SCN are gone | we, with a newer SCN |
| ORA-00308, 00310, 00334, 01280, 01284, 01289, 01291, 01292, 01304, 01306, 01307, 01333, 01343, 01346, | | |
| 01353, 01368, 01371 | log files changed while they were mined | we, with the files of now |
| ORA-04030, 04031, 04036 | the server has no memory left | we |
| ORA-00257, 01653, 01654, 19809, 30036 | the server has no space left | we |
| ORA-01013, DPY-4024 | a call was cancelled, or took too long | we |
| ORA-01005, 01017, 01045, 28000, 28001, 28009, DPY-4001 | the login is refused | an operator |
| ORA-12650, 12660, DPY-3001, 5016 | native network encryption | an operator |
| DPY-3010, 3012, 3015, 3016, 3040 | the driver can't speak to this server | an operator |
| DPY-2018, 6002, 6006, 6008, 6009 | the server's certificate | an operator |
| ORA-01031, 01536, 01950, 06550, 41900 | a right is missing | an operator |
| ORA-00942, 00959, 04043 | a table is missing, or may not be seen | an operator |
| ORA-65011, 65040, 65090 | the pluggable database is another one than was set | an operator |
| ORA-01325, 01347 | the database does not log what is mined | an operator |
| ORA-01722, 01830, 01843, 01858, 01861, 06502, 12899 | a value that can't be read or compared | an operator |
| ORA-00900 to 00936, 01745, 01747, 01756, 03048 to 03050 | a statement that will fail again | an operator |
| DPY-2003, 4008, 4010 | the same: its binds are not what the driver wants | an operator |
| ORA-00904 | a column is missing | an operator |
| ORA-16000 | the database only reads | an operator |
| all others | a lost connection, or nobody knows | we |

"We" is Transient: tried again, with a limit.  What is lost for good is found in the lists of log files, and
not by an error of the server.  A message can quote the value that it fails on, so its words are shown only
for errors whose message names only objects.
"""

import re
from ssl import SSLCertVerificationError, SSLEOFError, SSLError
from typing import Final

from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

_GRANTS = "what a pipeline needs, with the statements that grant it: wrackline check <pipeline.toml>"

SERVER_LOST = define(
    "oracle.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is retried automatically, on a new connection; see the server's alert log",
)
TEXT_UNDECODED = define(
    "oracle.text_undecoded",
    OperatorNeeded,
    "the server did not {doing}, because a text that it sent is not UTF-8: the database has bytes that are no"
    " characters of its character set",
    hint="find such rows, and correct them: SELECT ROWID FROM <owner>.<table> WHERE"
    " UTL_I18N.VALIDATE_CHARACTER_ENCODING(<column>) > 0;",
)
UNREACHABLE = define(
    "oracle.unreachable",
    Transient,
    "there is no connection to the server: {reason}",
    hint="it is retried automatically; check database.hostname, database.port and the listener, on the"
    " server: lsnrctl status",
    connects=True,
)
SERVICE_UNKNOWN = define(
    "oracle.service_unknown",
    Transient,
    "the listener does not know the service in database.dbname: {reason}",
    hint="it is retried automatically, because a database that starts makes itself known late; the"
    " services, on the server: lsnrctl services",
    connects=True,
)
SESSIONS_SPENT = define(
    "oracle.sessions_spent",
    Transient,
    "the server has no session left for us (error {number})",
    hint="it is retried automatically; to see the limits: SELECT RESOURCE_NAME, CURRENT_UTILIZATION,"
    " LIMIT_VALUE FROM V$RESOURCE_LIMIT WHERE RESOURCE_NAME IN ('processes', 'sessions');",
    connects=True,
)
DATABASE_UNREADY = define(
    "oracle.database_unready",
    Transient,
    "the database is not open now, so the server did not {doing}: {reason}",
    hint="it is retried automatically; to see its state: SELECT OPEN_MODE FROM V$DATABASE; SELECT NAME,"
    " OPEN_MODE FROM V$PDBS; a pluggable database that is MOUNTED: ALTER PLUGGABLE DATABASE <name>"
    " OPEN;",
)
ROWS_LOCKED = define(
    "oracle.rows_locked",
    Transient,
    "the server did not {doing}, because another session locks what it needs (error {number})",
    hint="it is retried automatically; to see which session locks it: SELECT SID, BLOCKING_SESSION,"
    " EVENT FROM V$SESSION WHERE BLOCKING_SESSION IS NOT NULL;",
)
ROWS_GONE = define(
    "oracle.rows_gone",
    Transient,
    "the server did not {doing}, because the rows as of that SCN are gone: {reason}",
    hint="it is retried automatically, as of a newer SCN; to let the server keep them for longer: ALTER"
    " SYSTEM SET UNDO_RETENTION = 3600; and smaller chunks: incremental.snapshot.chunk.size",
)
LOGS_CHANGED = define(
    "oracle.logs_changed",
    Transient,
    "the server did not {doing}, because a log file is not what it was, or can't be read: {reason}",
    hint="it is retried automatically, with the files that are there now; if it lasts, see whether the"
    " server's own account can read them: SELECT NAME, STATUS FROM V$ARCHIVED_LOG ORDER BY"
    " FIRST_CHANGE# DESC;",
)
MEMORY_SHORT = define(
    "oracle.memory_short",
    Transient,
    "the server did not {doing}, because it has no memory left for it (error {number})",
    hint="it is retried automatically; raise the limit: ALTER SYSTEM SET PGA_AGGREGATE_LIMIT = <size>;"
    " or mine in smaller steps: log.mining.batch.size.max",
)
SPACE_SHORT = define(
    "oracle.space_short",
    Transient,
    "the server did not {doing}, because it has no space left (error {number})",
    hint="it is retried automatically; to see what is full: SELECT NAME, SPACE_LIMIT, SPACE_USED,"
    " SPACE_RECLAIMABLE FROM V$RECOVERY_FILE_DEST; SELECT TABLESPACE_NAME, USED_PERCENT FROM"
    " DBA_TABLESPACE_USAGE_METRICS;",
)
CALL_ENDED = define(
    "oracle.call_ended",
    Transient,
    "the server did not {doing} in time (error {number})",
    hint="it is retried automatically; to let it take longer: driver.oracle.jdbc.ReadTimeout",
)
LOGIN_REFUSED = define(
    "oracle.login_refused",
    OperatorNeeded,
    "the server refuses the login: {reason}",
    hint="correct database.user and database.password; in a container database the user has to be a common"
    " one, such as C##WRACKLINE; its state: SELECT ACCOUNT_STATUS FROM DBA_USERS WHERE USERNAME = '<user>';"
    " if it is locked: ALTER USER <user> ACCOUNT UNLOCK; if its password has expired: ALTER USER <user>"
    " IDENTIFIED BY <password>; if it may not log in: GRANT CREATE SESSION TO <user>;",
    connects=True,
)
ENCRYPTION_DIFFERS = define(
    "oracle.encryption_differs",
    OperatorNeeded,
    "the server requires Oracle's native network encryption, which needs the thick mode of python-oracledb"
    " and Oracle's libraries; Wrackline uses its thin mode (error {number})",
    hint='use TLS instead: database.ssl.mode = "verify_identity" and the port of a TCPS listener; or let the'
    " server accept both, in its sqlnet.ora: SQLNET.ENCRYPTION_SERVER = ACCEPTED and"
    " SQLNET.CRYPTO_CHECKSUM_SERVER = ACCEPTED",
    connects=True,
)
CLIENT_UNFIT = define(
    "oracle.client_unfit",
    OperatorNeeded,
    "python-oracledb, in its thin mode, can't speak to this server: {reason}",
    hint="it needs Oracle 12.1 or later, and a password that was set since 11.2: ALTER USER <user>"
    " IDENTIFIED BY <password>; what each number means: python-oracledb's troubleshooting page",
    connects=True,
)
CERTIFICATE_REFUSED = define(
    "oracle.certificate_refused",
    OperatorNeeded,
    "there is no TLS with the server that we can trust: {reason}",
    hint="name its authorities: database.ssl.ca or database.ssl.wallet; and its name, if that is not"
    " database.hostname: database.ssl.server.dn; the port must be that of a TCPS listener, on the"
    " server: lsnrctl status",
    connects=True,
)
RIGHT_MISSING = define(
    "oracle.right_missing",
    OperatorNeeded,
    "the user may not {doing}: {reason}",
    hint=f"{_GRANTS}; if it may not enter the pluggable database, in CDB$ROOT: GRANT SET CONTAINER TO <user>"
    " CONTAINER = ALL;",
)
OBJECT_MISSING = define(
    "oracle.object_missing",
    OperatorNeeded,
    "what is needed to {doing} does not exist, or the user may not see it: {reason}",
    hint=_GRANTS,
)
CONTAINER_WRONG = define(
    "oracle.container_wrong",
    OperatorNeeded,
    "the server can't {doing} in this container: {reason}",
    hint="in a container database, set database.dbname to the service of its root, database.pdb.name to"
    " the pluggable database, and database.user to a common user; without one, remove"
    " database.pdb.name; the names: SELECT NAME FROM V$PDBS;",
)
LOGGING_MISSING = define(
    "oracle.logging_missing",
    OperatorNeeded,
    "the database does not log what is needed to {doing}: {reason}",
    hint="archiving: SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;"
    " and: ALTER DATABASE ADD SUPPLEMENTAL LOG DATA; then see: wrackline check <pipeline.toml>",
)
COLUMN_MISSING = define(
    "oracle.column_missing",
    OperatorNeeded,
    "a column that is needed to {doing} does not exist (error {number})",
    hint="look at the table's columns, and correct the pipeline's settings; see: wrackline check"
    " <pipeline.toml>",
)
VALUE_REFUSED = define(
    "oracle.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a requested key, can't be compared (error {number})",
    hint="correct the row or the request, or leave the column out: column.exclude.list ="
    " '<owner>.<table>.<column>'",
)
STATEMENT_REFUSED = define(
    "oracle.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (error {number})",
    hint="every further try would fail in the same way; report it with the server's version: SELECT"
    " BANNER_FULL FROM V$VERSION;",
)
ONLY_READS = define(
    "oracle.only_reads",
    OperatorNeeded,
    "the database accepts no writes, so the server can't {doing} (error {number})",
    hint="mine archived logs alone: log.mining.archive.log.only.mode = true; or connect to the primary",
)


def _ora(*numbers: int) -> frozenset[str]:
    return frozenset(f"ORA-{number:05d}" for number in numbers)


def _dpy(*numbers: int) -> frozenset[str]:
    return frozenset(f"DPY-{number}" for number in numbers)


_UNREADY: Final = _ora(1033, 1034, 1089, 1090, 1109, 1219, 12526, 12527, 12528, 65024, 65054)
_SERVICES: Final = _ora(12505, 12514) | _dpy(6001, 6003)
_GONE: Final = _ora(1555, 1466, 8103, 8176, 8180, 8181)
_LOGS: Final = _ora(
    *(308, 310, 334, 1280, 1284, 1289, 1291, 1292, 1304, 1306, 1307, 1333, 1343, 1346, 1353, 1368, 1371)
)
_LOGINS: Final = _ora(1005, 1017, 1045, 28000, 28001, 28009) | _dpy(4001)
_UNFIT: Final = _dpy(3010, 3012, 3015, 3016, 3040)
_CERTIFICATES: Final = _dpy(2018, 6002, 6006, 6008, 6009)
_RIGHTS: Final = _ora(1031, 1536, 1950, 6550, 41900)
_MISSING: Final = _ora(942, 959, 4043)
_CONTAINERS: Final = _ora(65011, 65040, 65090)
_LOGGING: Final = _ora(1325, 1347)
_TABLE: Final = ErrorTable(
    {
        ROWS_LOCKED: _ora(54, 60, 2049, 4021, 30006),
        DATABASE_UNREADY: _UNREADY,
        UNREACHABLE: _ora(12170, 12541, 12543, 12545) | _dpy(6005),
        SERVICE_UNKNOWN: _SERVICES,
        SESSIONS_SPENT: _ora(18, 20, 2391, 12516, 12518, 12519, 12520),
        ROWS_GONE: _GONE,
        LOGS_CHANGED: _LOGS,
        MEMORY_SHORT: _ora(4030, 4031, 4036),
        SPACE_SHORT: _ora(257, 1653, 1654, 19809, 30036),
        CALL_ENDED: _ora(1013) | _dpy(4024),
        LOGIN_REFUSED: _LOGINS,
        ENCRYPTION_DIFFERS: _ora(12650, 12660) | _dpy(3001, 5016),
        CLIENT_UNFIT: _UNFIT,
        CERTIFICATE_REFUSED: _CERTIFICATES,
        RIGHT_MISSING: _RIGHTS,
        OBJECT_MISSING: _MISSING,
        CONTAINER_WRONG: _CONTAINERS,
        LOGGING_MISSING: _LOGGING,
        COLUMN_MISSING: _ora(904),
        VALUE_REFUSED: _ora(1722, 1830, 1843, 1858, 1861, 6502, 12899),
        STATEMENT_REFUSED: _ora(
            *(900, 901, 902, 903, 905, 906, 907, 908, 909, 911, 917, 918, 920, 921, 922, 923, 926, 928, 932),
            *(933, 936, 1745, 1747, 1756, 3048, 3049, 3050),  # the last three from 23ai on
        )
        | _dpy(2003, 4008, 4010),
        ONLY_READS: _ora(16000),
    },
    otherwise=SERVER_LOST,
    shown=_UNREADY | _SERVICES | _GONE | _LOGS | _LOGINS | _UNFIT | _CERTIFICATES | _RIGHTS | _MISSING
    | _CONTAINERS | _LOGGING,
    named="error {}",
)  # fmt: skip
_RECURSIVE: Final = "ORA-00604"  # what has failed comes behind it
_UNCONNECTED: Final = "DPY-6005"  # the error's cause says why
_LISTENER: Final = re.compile(r"Similar to (ORA-[0-9]{5})")
_NUMBERS: Final = re.compile(r"ORA-[0-9]{5}")
_HELP: Final = re.compile(r"Help: https?://\S+")


def explain(error: BaseException, doing: str) -> WracklineError:
    """Return what an error of the driver means to us; `doing` continues "the server did not"."""
    found = error.args[0] if error.args else None
    state = _state(found)
    if state == _UNCONNECTED and error.__cause__ is not None:
        return explain(error.__cause__, doing)
    if not state:
        return _unconnected(error)
    return _TABLE.explain(state, _words(found, state), doing=doing)


def _unconnected(error: BaseException) -> WracklineError:
    """Explain an error of the network: its words name no value."""
    if isinstance(error, SSLCertVerificationError):
        return CERTIFICATE_REFUSED(reason=error.verify_message)
    if isinstance(error, SSLError) and not isinstance(error, SSLEOFError):
        return CERTIFICATE_REFUSED(reason=error.reason or "the handshake failed")
    strerror = error.strerror if isinstance(error, OSError) else None
    return UNREACHABLE(reason=strerror or "the connection failed")


def _state(found: object) -> str:
    """The number of the server's error, or else of the driver's."""
    text, code = str(getattr(found, "message", "") or ""), getattr(found, "code", 0)
    state = f"ORA-{code:05d}" if code else str(getattr(found, "full_code", "") or "")
    if state == _RECURSIVE:
        return next((number for number in _NUMBERS.findall(text) if number != _RECURSIVE), state)
    if (listener := _LISTENER.search(text)) is not None:
        return listener[1]
    return state


def _words(found: object, state: str) -> str:
    """The message from its own line on, in one line."""
    text = _HELP.sub(" ", str(getattr(found, "message", "") or ""))
    return " ".join(text[max(text.find(f"{state}:"), 0) :].split())
