"""All findings about a SQL Server, each with the SQL that solves it; not when they apply.

Names in the statements come quoted: `{database}` is `[shop]`.
"""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_STOPS = "the pipeline does not start"

# The server and the database
VERSION_OLD = rule(
    "sqlserver.version_old",
    ERROR,
    "The server is too old",
    "this is version {version}; change tables number the commands of a transaction, and Standard edition has"
    " change data capture, from SQL Server 2016 with Service Pack 1 (13.0.4001) on",
    _STOPS,
    "upgrade the server",
)
EDITION_WITHOUT = rule(
    "sqlserver.edition_without",
    ERROR,
    "This edition has no change data capture",
    "the server's engine edition is {edition}",
    _STOPS,
    "use Enterprise, Standard or Developer edition, Azure SQL Managed Instance or Azure SQL Database",
)
CDC_OFF = rule(
    "sqlserver.cdc_off",
    ERROR,
    "Changes of the database are not captured",
    "change data capture is disabled in {name}",
    _STOPS,
    "as sysadmin: USE {database}; EXEC sys.sp_cdc_enable_db; on Amazon RDS: EXEC msdb.dbo.rds_cdc_enable_db"
    " N'{name}';",
    fix(
        "sqlserver.cdc_off",
        "USE {database}; EXEC sys.sp_cdc_enable_db;",
        "sysadmin",
        undo="USE {database}; EXEC sys.sp_cdc_disable_db;",
    ),
)
AGENT_STOPPED = rule(
    "sqlserver.agent_stopped",
    ERROR,
    "SQL Server Agent does not run",
    "the service {service} is {status}, and it runs the jobs that capture changes",
    "no change reaches the change tables, and the server's log grows until it runs again",
    "start it, and let it start with the server, as administrator: net start SQLSERVERAGENT (of"
    " a named instance: SQLAgent$<instance>); on Linux: /opt/mssql/bin/mssql-conf set sqlagent.enabled true;"
    " systemctl restart mssql-server; then: USE {database}; EXEC sys.sp_cdc_start_job @job_type ="
    " N'capture';",
)
AGENT_UNSEEN = rule(
    "sqlserver.agent_unseen",
    INFO,
    "Whether SQL Server Agent runs can't be seen",
    "the login has not the right VIEW SERVER STATE, without which nobody sees the server's services",
    "a stopped agent is an error within 15 s only with this right; else nothing but a notice in the log says"
    " that no change is captured (sqlserver.capture_silent): 30 s behind a heartbeat, without one after six"
    " minutes",
    "as sysadmin: USE master; GRANT VIEW SERVER STATE TO {user}; or, with a signal table, set"
    " heartbeat.interval.ms = 10000",
)
CAPTURE_BEHIND = rule(
    "sqlserver.capture_behind",
    WARNING,
    "The capture job is behind",
    "the newest commit in the change tables of {name} is {seconds} s old",
    "changes reach the pipeline that much later; a quiet database reports its place about every five minutes",
    "see the job's errors: SELECT * FROM {database}.sys.dm_cdc_errors; let it take more at once: USE"
    " {database}; EXEC sys.sp_cdc_change_job @job_type = N'capture', @maxtrans = 5000, @maxscans = 100;",
)
CAPTURE_SLOW = rule(
    "sqlserver.capture_slow",
    INFO,
    "The capture job waits between its looks at the log",
    "its polling interval in {name} is {seconds} s",
    "a change reaches the pipeline up to that much later",
    "USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'capture', @pollinginterval = 1; EXEC"
    " sys.sp_cdc_stop_job @job_type = N'capture'; EXEC sys.sp_cdc_start_job @job_type = N'capture';",
    fix(
        "sqlserver.capture_slow",
        "USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'capture', @pollinginterval = 1; EXEC"
        " sys.sp_cdc_stop_job @job_type = N'capture'; EXEC sys.sp_cdc_start_job @job_type = N'capture';",
        "db_owner",
        undo="USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'capture', @pollinginterval ="
        " {seconds};",
        safe=False,  # it ends the job's session
    ),
)
PLACES_LATE = rule(
    "sqlserver.places_late",
    INFO,
    "A quiet database reports its place late",
    "marks are places of the log, and while no captured table of {name} changes, the capture job reports its"
    " place only about every five minutes",
    "on a quiet database each chunk of existing rows waits that long, and freshness is that much less",
    "where the login may write, name a signal table: signal.data.collection = 'dbo.wrackline_signals'; or let"
    " a heartbeat write into a captured table: heartbeat.interval.ms = 10000 and heartbeat.action.query ="
    " 'UPDATE dbo.<table> SET <column> = SYSUTCDATETIME();'",
)
RETENTION_SHORT = rule(
    "sqlserver.retention_short",
    WARNING,
    "Change tables are not kept for long",
    "the cleanup job of {name} deletes changes after {minutes} minutes",
    "the position of a pipeline that is stopped for longer is lost, and the tables must be read again",
    "USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 4320;",
    fix(
        "sqlserver.retention_short",
        "USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 4320;",
        "db_owner",
        undo="USE {database}; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = {minutes};",
        safe=False,  # it costs disk
    ),
)
VERSIONS_OFF = rule(
    "sqlserver.versions_off",
    ERROR,
    "The database keeps no versions of rows",
    "ALLOW_SNAPSHOT_ISOLATION is OFF in {name}, and {reason}",
    "existing rows are not copied",
    "ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION ON;",
    fix(
        "sqlserver.versions_off",
        "ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION ON;",
        "db_owner",
        undo="ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION OFF;",
    ),
)
REPLICATED_SIZE = rule(
    "sqlserver.replicated_size",
    INFO,
    "Long values can't be written to captured tables",
    "max text repl size is {bytes} bytes",
    "a statement that writes a longer value into a captured table fails with error 7139; nothing is lost",
    "as sysadmin: EXEC sys.sp_configure N'max text repl size', -1; RECONFIGURE;",
)
RIGHT_LACKS = rule(
    "sqlserver.right_lacks",
    ERROR,
    "A right is missing",
    "the login may not {purpose}",
    _STOPS,
    "as db_owner: USE {database}; {statement}",
    fix("sqlserver.right_lacks", "USE {database}; {statement}", "db_owner"),
)
SERVER_RIGHT_LACKS = rule(
    "sqlserver.server_right_lacks",
    ERROR,
    "A right on the server is missing",
    "the login may not {purpose}",
    "chunks between places of the log, and tables without a key, are not read",
    "as sysadmin: {statement} or name a signal table, which needs no right on the server:"
    " signal.data.collection = 'dbo.wrackline_signals'; only tables without a key need it then",
    fix("sqlserver.server_right_lacks", "{statement}", "sysadmin"),
)

NO_TABLES = rule(
    "sqlserver.no_tables",
    ERROR,
    "No table is captured",
    "no table of {name} that the filters capture, and that the login can see, has a capture instance",
    "nothing is copied",
    "for each table, as db_owner: USE {database}; GRANT SELECT ON OBJECT::[dbo].[<table>] TO {user}; EXEC"
    " sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'<table>', @role_name = NULL;",
)
TABLES_UNSEEN = rule(
    "sqlserver.tables_unseen",
    INFO,
    "Tables are captured that this login can't see",
    "the login has no right on the tables of these capture instances of {name}: {instances}",
    "they are not copied, whatever the filters say",
    "if they are to be copied, as db_owner: USE {database}; GRANT SELECT ON OBJECT::[<schema>].[<table>] TO"
    " {user};",
)

# A table
COMMANDS_UNNUMBERED = rule(
    "sqlserver.commands_unnumbered",
    WARNING,
    "A change table does not number its commands",
    "the capture instance {instance} is older than the server's update that added __$command_id",
    "the rows of a statement that changes many keys may come in an order in which some are lost",
    "let it be made again: {statement}",
)
COLUMNS_UNCAPTURED = rule(
    "sqlserver.columns_uncaptured",
    WARNING,
    "New columns are not captured",
    "no capture instance has the columns {columns}, which were added to the table later",
    "they are copied from a new instance on, and then the table is read again",
    "as db_owner: {statement}; or let it be done: capture.instance.rotate = true",
)
INSTANCES_TAKEN = rule(
    "sqlserver.instances_taken",
    WARNING,
    "New columns can't be captured",
    "no capture instance has the columns {columns}, and the table already has two instances",
    "these columns are not copied",
    "drop the older instance, when nobody reads it any more: {statement}",
)
OLD_VALUE_UNKNOWN = rule(
    "sqlserver.old_value_unknown",
    INFO,
    "The old value of a column is not captured",
    "change tables never have the value of a {type} before a change",
    "before is null there in events of updates that change it, and of deletes",
    "ALTER TABLE ... ALTER COLUMN ... {instead}(max), if a reader needs it",
)
PLACE_CUT = rule(
    "sqlserver.place_cut",
    INFO,
    "The last place of a time is cut off",
    "a {type} has seven places behind the second, and six are copied",
    "two values that differ only in the seventh place are copied as one",
    "carry it as text, with all places: column.as.text = '{listed}'",
)
COLUMN_MASKED = rule(
    "sqlserver.column_masked",
    ERROR,
    "The login sees masked values of a column",
    "the column has a mask, and the login has not the right to see behind it",
    "existing rows of the table are not copied, because they would differ from what the log has",
    "as db_owner: USE {database}; GRANT UNMASK TO {user}; or leave the column out: column.exclude.list ="
    " '{listed}'",
    fix("sqlserver.column_masked", "USE {database}; GRANT UNMASK TO {user};", "db_owner"),
)
COLUMN_ENCRYPTED = rule(
    "sqlserver.column_encrypted",
    WARNING,
    "The values of a column are encrypted",
    "the column is Always Encrypted, so the server itself can't read its values",
    "its ciphertext is copied, as varbinary: only a client that has the column's key can read it",
    "leave the column out, if no reader has the key: column.exclude.list = '{listed}'",
)
COMPUTED_LEFT_OUT = rule(
    "sqlserver.computed_left_out",
    INFO,
    "A computed column is not copied",
    "change tables have NULL for a computed column",
    "it is left out of events and of the copy",
    "compute it in the target",
)
