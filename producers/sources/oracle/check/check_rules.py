"""All findings about an Oracle database, each with the statement that solves it; not when they apply.

Names in the statements come quoted: `{quoted}` is `"SHOP"."ORDERS"`.
"""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_STOPS = "the pipeline does not start"
_NOT_COPIED = "the table is not copied"
_AS_SYS = "as SYSDBA{in_root}: "

# The database
VERSION_OLD = rule(
    "oracle.version_old",
    WARNING,
    "The database is older than what the source is made for",
    "this is version {version}, and the source is made for Oracle 19c and later",
    "nobody has compared what LogMiner of this version writes with what the source expects",
    "upgrade the database, or try the source on a copy of it first",
)
NOT_PRIMARY = rule(
    "oracle.not_primary",
    ERROR,
    "The database is not a primary",
    "its role is {role}, where LogMiner may not read names from the online catalogue, and SCNs may be others",
    "changes can be missing: nobody has tried it",
    "connect to the primary: database.hostname = '<host of the primary>'",
)
ARCHIVE_OFF = rule(
    "oracle.archive_off",
    ERROR,
    "Redo logs are not archived",
    "the database is in NOARCHIVELOG mode, so a log is overwritten while changes in it are still needed",
    "the pipeline stops as soon as that happens, and the tables must be read again",
    "as SYSDBA, on the host of the database: SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG;"
    " ALTER DATABASE OPEN; on Amazon RDS: turn automated backups on, then EXEC"
    " rdsadmin.rdsadmin_util.set_configuration('archivelog retention hours', 24);",
    fix(
        "oracle.archive_off",
        "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;",
        "SYSDBA",
        undo="SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE NOARCHIVELOG; ALTER DATABASE OPEN;",
        restart=True,
        safe=False,  # it ends all sessions
    ),
)
SUPPLEMENTAL_OFF = rule(
    "oracle.supplemental_off",
    ERROR,
    "The log lacks what LogMiner needs",
    "minimal supplemental logging is off, so rows that moved or were chained can't be read from the log",
    "changes can be missing",
    _AS_SYS + "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA; on Amazon RDS: EXEC"
    " rdsadmin.rdsadmin_util.alter_supplemental_logging('ADD');",
    fix(
        "oracle.supplemental_off",
        "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;",
        "SYSDBA",
        undo="ALTER DATABASE DROP SUPPLEMENTAL LOG DATA;",
        safe=False,  # it waits for open transactions, and the log grows
    ),
)
CONTAINER_UNNAMED = rule(
    "oracle.container_unnamed",
    ERROR,
    "No pluggable database is named",
    "the database has pluggable databases, and the settings name none; the log is mined in the root, which"
    " has no tables of yours",
    "nothing is copied",
    "name one of them (SELECT NAME FROM V$PDBS;): database.pdb.name = '<name>'; and the root's own service:"
    " database.dbname = '<service>'",
)
ROOT_UNNAMED = rule(
    "oracle.root_unnamed",
    ERROR,
    "The service is not that of the root",
    "the service in database.dbname leads into the pluggable database {name}, and LogMiner runs in the root",
    _STOPS,
    "name both: database.dbname = '<service of the root>'; database.pdb.name = '{name}'; the services, on the"
    " server: lsnrctl services",
)
DATABASE_CLOSED = rule(
    "oracle.database_closed",
    ERROR,
    "The pluggable database is not open",
    "{name} is {mode}",
    _STOPS,
    "as SYSDBA, in CDB$ROOT: ALTER PLUGGABLE DATABASE {database} OPEN; ALTER PLUGGABLE DATABASE {database}"
    " SAVE STATE;",
    fix("oracle.database_closed", "ALTER PLUGGABLE DATABASE {database} OPEN;", "SYSDBA"),
)
UNWRITABLE = rule(
    "oracle.unwritable",
    ERROR,
    "Nothing can be written where the log is mined",
    "the database is {mode}, and a row must be committed there before it is known how far the log is whole",
    "no change is read",
    "as SYSDBA: open it for writing; or read archived logs only: log.mining.archive.log.only.mode = true",
)
ARCHIVED_ONLY = rule(
    "oracle.archived_only",
    INFO,
    "Changes come when their log is archived",
    "log.mining.archive.log.only.mode or read.only is set, and a log is archived when it is full, or after"
    " ARCHIVE_LAG_TARGET seconds if that is set",
    "a change is as late as the switch of its log",
    _AS_SYS + "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 300 SCOPE = BOTH;",
)
NODES_UNNAMED = rule(
    "oracle.nodes_unnamed",
    ERROR,
    "Not all instances of the cluster are named",
    "threads of redo that are open: {open}; instances whose address is known: {named}; only an instance"
    " itself says how far its redo is written, and which transactions it has open",
    "no change is read",
    "name the address of each: rac.nodes = '<host1>:1521,<host2>:1521'; the nodes: SELECT THREAD#, HOST_NAME"
    " FROM GV$INSTANCE;",
)

# The log
DESTINATIONS_UNUSED = rule(
    "oracle.destinations_unused",
    ERROR,
    "No log is archived to where it is looked for",
    "archive.destination.name has {named}, and in use are: {valid}",
    "the pipeline stops as soon as it needs a log that is not online any more",
    "name a destination that is in use, or remove archive.destination.name: then each that is local is read",
)
RETENTION_SHORT = rule(
    "oracle.retention_short",
    WARNING,
    "Archived logs are not kept for long",
    "an archived log was deleted {minutes} minutes after it was closed",
    "the position of a pipeline that is stopped for longer is lost, and the tables must be read again",
    "keep them for a day at least, in the job that deletes them, with RMAN: DELETE ARCHIVELOG ALL COMPLETED"
    " BEFORE 'SYSDATE-1'; on Amazon RDS: EXEC rdsadmin.rdsadmin_util.set_configuration('archivelog retention"
    " hours', 24);",
)
RECOVERY_AREA_FULL = rule(
    "oracle.recovery_area_full",
    WARNING,
    "The recovery area is nearly full",
    "{percent} % of its {gib} GiB can't be freed",
    "old archived logs are deleted sooner; once it is full, the database waits with every change",
    _AS_SYS + "ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = {more}G SCOPE = BOTH;",
    fix(
        "oracle.recovery_area_full",
        "ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = {more}G SCOPE = BOTH;",
        "SYSDBA",
        undo="ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = {gib}G SCOPE = BOTH;",
        safe=False,  # it costs disk
    ),
)
TRANSACTION_OLD = rule(
    "oracle.transaction_old",
    WARNING,
    "A transaction is open for long",
    "the oldest began {minutes} minutes ago ({began}, database time); its session is {session} (SID, SERIAL#)"
    " of user {user}, program {program}",
    "all redo from its beginning on is needed until it ends, and is mined again after each restart",
    "let it commit; or end it, which rolls it back, as SYSDBA{where}: ALTER SYSTEM KILL SESSION '{session}'"
    " IMMEDIATE;",
)
TRANSACTION_UNREACHED = rule(
    "oracle.transaction_unreached",
    ERROR,
    "The log no longer has the beginning of an open transaction",
    "the oldest open transaction began at SCN {scn}, and the oldest log that is kept begins at SCN {oldest};"
    " its session is {session} (SID, SERIAL#) of user {user}, program {program}",
    "a pipeline that has to read the transaction stops, because a part of its changes is gone",
    "let it commit before the first start; or end it, which rolls it back, as SYSDBA{where}: ALTER SYSTEM"
    " KILL SESSION '{session}' IMMEDIATE;",
)
LOGS_SMALL = rule(
    "oracle.logs_small",
    WARNING,
    "Redo logs are switched often",
    "thread {thread} has begun {switches} logs within the last hour; its smallest has {mib} MiB",
    "each range of the log needs more files, and each switch interrupts the reading of the log",
    _AS_SYS + "ALTER DATABASE ADD LOGFILE THREAD {thread} SIZE {more}M; (three times), then ALTER DATABASE"
    " DROP LOGFILE GROUP <n>; for each small group that is INACTIVE in V$LOG",
)

# Rights
RIGHT_LACKS = rule(
    "oracle.right_lacks",
    ERROR,
    "A right is missing",
    "the user may not {purpose}",
    _STOPS,
    "as SYSDBA: {statement}",
    fix("oracle.right_lacks", "{statement}", "SYSDBA"),
)
TABLE_RIGHT_LACKS = rule(
    "oracle.table_right_lacks",
    ERROR,
    "A right on a table is missing",
    "the user may not {purpose}",
    "existing rows of the table are not copied",
    "as its owner or SYSDBA: {statement}",
    fix("oracle.table_right_lacks", "{statement}", "owner"),
)
UNSEEN = rule(
    "oracle.unseen",
    INFO,
    "The check can't see everything",
    "the user may not {purpose}, which a pipeline does not need",
    "the check does not know whether something is wrong there",
    "as SYSDBA: {statement}",
    fix("oracle.unseen", "{statement}", "SYSDBA"),
)

# Tables
NO_TABLES = rule(
    "oracle.no_tables",
    ERROR,
    "No table is copied",
    "no table of {name} that the user may read is named by the filters",
    "nothing is copied",
    "for each table, as its owner or SYSDBA: {container}GRANT SELECT, FLASHBACK ON <owner>.<table> TO"
    " {user};",
)
PLACE_CUT = rule(
    "oracle.place_cut",
    INFO,
    "The last places of a time are cut off",
    "a {type} has more than six places behind the second, and six are copied",
    "two values that differ only behind the sixth place are copied as one",
    "carry it as text, with all places: column.as.text = '{listed}'",
)
READ_AGAIN = rule(
    "oracle.read_again",
    INFO,
    "The values of a column are not in the log",
    "what LogMiner shows of a {type} can't be put together again, so its row is read again by its key",
    "an event of a change that touches it lacks the column; an event with the row's newest values follows",
    "nothing to do; or leave the column out, if no reader needs it: column.exclude.list = '{listed}'",
)
VIRTUAL_LEFT_OUT = rule(
    "oracle.virtual_left_out",
    INFO,
    "A virtual column is not copied",
    "the log has no values of a virtual column",
    "it is left out of events and of the copy",
    "compute it in the target",
)
