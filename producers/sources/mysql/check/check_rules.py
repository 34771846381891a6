"""All findings about a MySQL or MariaDB server, each with the SQL that solves it; not when they apply.

A rule is called with the names of what was found and becomes a finding, as an error's code becomes an
error.  `{keep}` and `{stays}` set a setting so that it survives a restart: SET PERSIST in MySQL; in MariaDB,
which has no such statement, SET GLOBAL and the line in its file.
"""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

NO_ROWS = "changes are copied, existing rows are not"
_STOPS = "the pipeline does not start"

# The server
VERSION_OLD = rule(
    "mysql.version_old",
    ERROR,
    "The server is too old",
    "this is {flavour} {version}; logs can name their columns (binlog_row_metadata) only from MySQL 8.0"
    " and MariaDB 10.5 on",
    _STOPS,
    "upgrade the server",
)
VERSION_UNTRIED = rule(
    "mysql.version_untried",
    INFO,
    "This version was not tested",
    "this is {flavour} {version}; MySQL 9.7, MariaDB 10.11 and 11.4 were tested",
    "what is new or different in this version is unknown",
    "try it with a copy of the database first",
)
SERVER_ID_ZERO = rule(
    "mysql.server_id_zero",
    ERROR,
    "The server has no server id",
    "server_id is 0, with which the server lets no client read its log",
    _STOPS,
    "as an administrator: {keep} server_id = {free}{stays}",
)
SERVER_ID_SAME = rule(
    "mysql.server_id_same",
    ERROR,
    "Our server id is the server's own",
    "server_id is {number}, and so is database.server.id",
    "the server takes us for itself, and sends us nothing",
    "remove database.server.id, or set another number: database.server.id = {free}",
)
SERVER_ID_TAKEN = rule(
    "mysql.server_id_taken",
    WARNING,
    "Another reader of the log has our server id",
    "the server has a replica with the server id {number}: {who}",
    "the server disconnects one of the two readers whenever the other connects",
    "set another number: database.server.id = {free}; to see which are taken: SHOW REPLICAS, on MariaDB SHOW"
    " REPLICA HOSTS",
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
    "The log contains statements, not rows",
    "binlog_format is {format}",
    "a change that is logged as a statement does not say which rows it changed, and stops the pipeline",
    "as an administrator: {keep} binlog_format = ROW{stays}; sessions that are open keep their old value",
    fix(
        "mysql.binlog_format",
        "{keep} binlog_format = ROW",
        "administrator",
        undo="{keep} binlog_format = {format}",
    ),
)
BINLOG_ROW_IMAGE = rule(
    "mysql.binlog_row_image",
    ERROR,
    "The log contains parts of rows",
    "binlog_row_image is {image}",
    "a change does not contain the columns that it did not touch, and its table is set aside",
    "as an administrator: {keep} binlog_row_image = FULL{stays}; sessions that are open keep their old value",
    fix(
        "mysql.binlog_row_image",
        "{keep} binlog_row_image = FULL",
        "administrator",
        undo="{keep} binlog_row_image = {image}",
    ),
)
BINLOG_ROW_METADATA = rule(
    "mysql.binlog_row_metadata",
    ERROR,
    "The log does not name its columns",
    "binlog_row_metadata is {metadata}",
    "a change does not say which columns its values belong to, and stops the pipeline",
    "as an administrator: {keep} binlog_row_metadata = FULL{stays}",
    fix(
        "mysql.binlog_row_metadata",
        "{keep} binlog_row_metadata = FULL",
        "administrator",
        undo="{keep} binlog_row_metadata = {metadata}",
    ),
)
LOG_LEAVES_OUT = rule(
    "mysql.log_leaves_out",
    ERROR,
    "The log leaves databases out",
    "{option} keeps changes of the captured database {database} out of the log",
    "changes of its tables are not in the log",
    "remove {option} from the server's file, and restart it; or leave the database out:"
    " database.exclude.list = '{database}'",
)
REPLICA_UNLOGGED = rule(
    "mysql.replica_unlogged",
    ERROR,
    "The replica does not log replicated changes",
    "the server is a replica, and {setting} is OFF",
    "its log contains only changes that are made on the replica itself",
    "add {setting}=ON below [mysqld] in the server's file, and restart it; or name the primary in"
    " database.hostname",
)
RETENTION_SHORT = rule(
    "mysql.retention_short",
    WARNING,
    "The log is not kept for long",
    "binlog_expire_logs_seconds is {seconds}: binlogs are deleted after {hours} hours",
    "the position of a pipeline that is stopped for longer is no longer in the log, and the tables must be"
    " read again",
    "as an administrator: {keep} binlog_expire_logs_seconds = 259200{stays}; on Amazon RDS: CALL"
    " mysql.rds_set_configuration('binlog retention hours', 72)",
    fix(
        "mysql.retention_short",
        "{keep} binlog_expire_logs_seconds = 259200",
        "administrator",
        undo="{keep} binlog_expire_logs_seconds = {seconds}",
        safe=False,
    ),
)
LOG_SIZE_LIMIT = rule(
    "mysql.log_size_limit",
    WARNING,
    "The log is limited by its size",
    "{setting} is {size} bytes: the oldest binlog is deleted when all together are larger",
    "a burst of changes can delete log that a pipeline has not read yet, and the tables must be read again",
    "as an administrator: {keep} {setting} = 0{stays}; binlog_expire_logs_seconds then decides how long it"
    " is kept",
)

# GTIDs
GTIDS_OFF = rule(
    "mysql.gtids_off",
    WARNING,
    "Transactions have no GTIDs",
    "gtid_mode is {mode}, enforce_gtid_consistency is {consistency}",
    "the pipeline can only continue on this server: after a failover the tables must be read again; and"
    " existing rows are read only between rows of a signal table",
    "as an administrator, step by step (each server of a group takes a step before any takes the next):"
    " SET PERSIST enforce_gtid_consistency = WARN; SET PERSIST enforce_gtid_consistency = ON;"
    " SET PERSIST gtid_mode = OFF_PERMISSIVE; SET PERSIST gtid_mode = ON_PERMISSIVE;"
    " SET PERSIST gtid_mode = ON",
)
GTIDS_LOOSE = rule(
    "mysql.gtids_loose",
    WARNING,
    "GTIDs may be out of order",
    "gtid_strict_mode is OFF",
    "a transaction whose number is below the one before it is skipped when the pipeline continues by GTID"
    " on another server",
    "as an administrator: {keep} gtid_strict_mode = ON{stays}",
    fix(
        "mysql.gtids_loose",
        "{keep} gtid_strict_mode = ON",
        "administrator",
        undo="{keep} gtid_strict_mode = OFF",
        safe=False,
    ),
)

# Marks
COMMITS_UNORDERED = rule(
    "mysql.commits_unordered",
    ERROR,
    "The log's order is not the order of commits",
    "binlog_order_commits is OFF, and the server's transactions have no GTIDs",
    "a row that was read could be older than a change of it in the log",
    "as an administrator: {keep} binlog_order_commits = ON{stays}",
    fix(
        "mysql.commits_unordered",
        "{keep} binlog_order_commits = ON",
        "administrator",
        undo="{keep} binlog_order_commits = OFF",
    ),
)
SERVER_READ_ONLY = rule(
    "mysql.server_read_only",
    ERROR,
    "The signal table can't be written",
    "the server accepts no writes, but incremental.snapshot.watermarking.strategy writes to {table_name}",
    NO_ROWS,
    'read between positions of the log: incremental.snapshot.watermarking.strategy = "fence"; or name the'
    " primary in database.hostname",
)

# Rights
READER_FORBIDDEN = rule(
    "mysql.replication_slave_missing",
    ERROR,
    "The log may not be read",
    "{account} has no REPLICATION SLAVE",
    _STOPS,
    "as an administrator: GRANT REPLICATION SLAVE ON *.* TO {account}",
    fix(
        "mysql.replication_slave_missing",
        "GRANT REPLICATION SLAVE ON *.* TO {account}",
        "administrator",
        undo="REVOKE REPLICATION SLAVE ON *.* FROM {account}",
    ),
)
STATUS_FORBIDDEN = rule(
    "mysql.replication_client_missing",
    ERROR,
    "The log's position may not be read",
    "{account} has no REPLICATION CLIENT, which MariaDB calls BINLOG MONITOR",
    _STOPS,
    "as an administrator: GRANT REPLICATION CLIENT ON *.* TO {account}",
    fix(
        "mysql.replication_client_missing",
        "GRANT REPLICATION CLIENT ON *.* TO {account}",
        "administrator",
        undo="REVOKE REPLICATION CLIENT ON *.* FROM {account}",
    ),
)
XA_FORBIDDEN = rule(
    "mysql.xa_recover_missing",
    WARNING,
    "Prepared XA transactions can't be seen",
    "{account} has no XA_RECOVER_ADMIN",
    "a pipeline that starts while one is prepared does not wait for it, and stops when it is committed,"
    " because its rows are in the log before the position from which it is read",
    "as an administrator: GRANT XA_RECOVER_ADMIN ON *.* TO {account}; not needed if no application uses XA",
    fix(
        "mysql.xa_recover_missing",
        "GRANT XA_RECOVER_ADMIN ON *.* TO {account}",
        "administrator",
        undo="REVOKE XA_RECOVER_ADMIN ON *.* FROM {account}",
    ),
)
