"""What a check of MySQL and MariaDB can find about the server, each with the SQL that mends it; not when.

A rule is called with the names of what was found and becomes a finding, as an error's code becomes an
error.  `{keep}` and `{stays}` are how a setting is set so that it outlives a restart: SET PERSIST in
MySQL, SET GLOBAL in MariaDB, which has no such statement, and the line in its file.
"""

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.table import TableId

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def of_error(
    error: WracklineError,
    table: TableId | None = None,
    column: str | None = None,
    *,
    severity: Severity = ERROR,
    impact: str = "the pipeline does not start",
) -> Finding:
    """Show what a start or a task would end with."""
    name = error.code.partition(".")[2].replace("_", " ").capitalize()
    return Finding(error.code, name, error.sentence, error.hint, impact, severity, table, column)


NO_ROWS = "changes are copied, existing rows are not"
_STOPS = "the pipeline does not start"

# The server
VERSION_OLD = rule(
    "mysql.version_old",
    ERROR,
    "The server is too old",
    "this is {flavour} {version}; only from MySQL 8.0 and MariaDB 10.5 on can a log name its columns"
    " (binlog_row_metadata)",
    _STOPS,
    "upgrade the server",
)
VERSION_UNTRIED = rule(
    "mysql.version_untried",
    INFO,
    "This version was not tried",
    "this is {flavour} {version}; MySQL 9.7, MariaDB 10.11 and 11.4 were tried",
    "what is new or different in this version is not known here",
    "try it with a copy of the database first",
)
SERVER_ID_ZERO = rule(
    "mysql.server_id_zero",
    ERROR,
    "The server has no number",
    "server_id is 0, and then the server lets nobody read its log",
    _STOPS,
    "as an administrator: {keep} server_id = {free}{stays}",
)
SERVER_ID_SAME = rule(
    "mysql.server_id_same",
    ERROR,
    "We have the server's own number",
    "server_id is {number}, and so is database.server.id",
    "the server takes us for itself, and lets us read nothing",
    "take database.server.id out, or set another number: database.server.id={free}",
)
SERVER_ID_TAKEN = rule(
    "mysql.server_id_taken",
    WARNING,
    "Another reader of the log has our number",
    "the server has a replica with the number {number}: {who}",
    "the server ends one of the two readers whenever the other connects",
    "set another number: database.server.id={free}; which are taken: SHOW REPLICAS, on"
    " MariaDB SHOW REPLICA HOSTS",
)

# The log
BINLOG_OFF = rule(
    "mysql.binlog_off",
    ERROR,
    "The server writes no binary log",
    "log_bin is OFF",
    _STOPS,
    "add log_bin=binlog and server_id=<a number of its own> below [mysqld] in the server's file; restart it",
)
BINLOG_FORMAT = rule(
    "mysql.binlog_format",
    ERROR,
    "The log holds statements, not rows",
    "binlog_format is {format}",
    "a change that is logged as a statement does not say which rows it changed, and stops the pipeline",
    "as an administrator: {keep} binlog_format = ROW{stays}; sessions that are open keep what they had",
)
BINLOG_ROW_IMAGE = rule(
    "mysql.binlog_row_image",
    ERROR,
    "The log holds parts of rows",
    "binlog_row_image is {image}",
    "a change does not say what the columns hold that it left alone, and its table is set aside",
    "as an administrator: {keep} binlog_row_image = FULL{stays}; sessions that are open keep what they had",
)
BINLOG_ROW_METADATA = rule(
    "mysql.binlog_row_metadata",
    ERROR,
    "The log does not name its columns",
    "binlog_row_metadata is {metadata}",
    "a change does not say which columns its values are of, and stops the pipeline",
    "as an administrator: {keep} binlog_row_metadata = FULL{stays}",
)
LOG_LEAVES_OUT = rule(
    "mysql.log_leaves_out",
    ERROR,
    "The log leaves databases out",
    "{option} keeps changes of the database {database}, which is captured, out of the log",
    "changes of its tables are in no log",
    "take {option} out of the server's file, and restart it; or leave the database out:"
    " database.exclude.list={database}",
)
REPLICA_UNLOGGED = rule(
    "mysql.replica_unlogged",
    ERROR,
    "The replica does not log what it replicates",
    "the server is a replica, and {setting} is OFF",
    "only changes that are made on the replica itself are in its log",
    "add {setting}=ON below [mysqld] in the server's file, and restart it; or name the primary in"
    " database.hostname",
)
RETENTION_SHORT = rule(
    "mysql.retention_short",
    WARNING,
    "The log is not kept for long",
    "binlog_expire_logs_seconds is {seconds}: binlogs go after {hours} hours",
    "a pipeline that stands still for longer finds its place gone, and the tables must be read again",
    "as an administrator: {keep} binlog_expire_logs_seconds = 259200{stays}; on Amazon RDS: CALL"
    " mysql.rds_set_configuration('binlog retention hours', 72)",
)
LOG_SIZE_LIMIT = rule(
    "mysql.log_size_limit",
    WARNING,
    "The log is cut by its size",
    "{setting} is {size} bytes: the oldest binlog goes when all are larger",
    "a storm of changes can purge what a pipeline has not read, and the tables must be read again",
    "as an administrator: {keep} {setting} = 0{stays}; binlog_expire_logs_seconds then says how long"
    " it is kept",
)

# GTIDs
GTIDS_OFF = rule(
    "mysql.gtids_off",
    WARNING,
    "Transactions have no GTIDs",
    "gtid_mode is {mode}, enforce_gtid_consistency is {consistency}",
    "the pipeline can go on at this server alone: after a failover the tables must be read again; and"
    " existing rows are read between rows of a signal table only",
    "as an administrator, step by step (each server of a group takes a step before any takes the next):"
    " SET PERSIST enforce_gtid_consistency = WARN; SET PERSIST enforce_gtid_consistency = ON;"
    " SET PERSIST gtid_mode = OFF_PERMISSIVE; SET PERSIST gtid_mode = ON_PERMISSIVE;"
    " SET PERSIST gtid_mode = ON",
)
GTIDS_LOOSE = rule(
    "mysql.gtids_loose",
    WARNING,
    "GTIDs may come out of order",
    "gtid_strict_mode is OFF",
    "a number below one before it is skipped where the pipeline goes on by GTID at another server",
    "as an administrator: {keep} gtid_strict_mode = ON{stays}",
)

# Marks
COMMITS_UNORDERED = rule(
    "mysql.commits_unordered",
    ERROR,
    "The log's order is not the order of commits",
    "binlog_order_commits is OFF, and the server's transactions have no GTIDs",
    "a row that was read could be older than one that the log told of",
    "as an administrator: {keep} binlog_order_commits = ON{stays}",
)
SERVER_READ_ONLY = rule(
    "mysql.server_read_only",
    ERROR,
    "The signal table can't be written",
    "the server takes no changes, and incremental.snapshot.watermarking.strategy writes into {table_name}",
    NO_ROWS,
    "read between places of the log: incremental.snapshot.watermarking.strategy=fence; or name the primary in"
    " database.hostname",
)

# Rights
READER_FORBIDDEN = rule(
    "mysql.replication_slave_missing",
    ERROR,
    "The log may not be read",
    "{account} has no REPLICATION SLAVE",
    _STOPS,
    "as an administrator: GRANT REPLICATION SLAVE ON *.* TO {account}",
)
STATUS_FORBIDDEN = rule(
    "mysql.replication_client_missing",
    ERROR,
    "The log's place may not be asked for",
    "{account} has no REPLICATION CLIENT, which MariaDB calls BINLOG MONITOR",
    _STOPS,
    "as an administrator: GRANT REPLICATION CLIENT ON *.* TO {account}",
)
XA_FORBIDDEN = rule(
    "mysql.xa_recover_missing",
    WARNING,
    "Prepared XA transactions can't be seen",
    "{account} has no XA_RECOVER_ADMIN",
    "a pipeline that begins while one is prepared does not wait for it, and stops when it is committed: its"
    " rows stand before the place where the log is read",
    "as an administrator: GRANT XA_RECOVER_ADMIN ON *.* TO {account}; where no application uses XA it can be"
    " left out",
)
