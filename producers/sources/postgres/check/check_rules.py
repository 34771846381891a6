"""All findings about a PostgreSQL server, each with the SQL that solves it; not when they apply.

A rule is called with the names of what was found and becomes a finding, as an error's code becomes an
error.  Names in SQL are quoted by the server.  An error that ends a start or a task is not a rule: a check
shows that error (`error_finding`), so each thing is said in one place.
"""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

# The server
VERSION_OLD = rule(
    "pg.version_old",
    ERROR,
    "The server is too old",
    "this is PostgreSQL {version}; 14 to 18 are supported",
    "the pipeline does not start",
    "upgrade the server: pg_upgrade",
)
VERSION_NEW = rule(
    "pg.version_new",
    WARNING,
    "The server is newer than what was tested",
    "this is PostgreSQL {version}; 14 to 18 were tested",
    "types and settings of the new version are not known here",
    "try it with a copy of the database first",
)
VERSION_LOSES = rule(
    "pg.version_loses",
    WARNING,
    "This minor version can lose changes",
    "this is PostgreSQL {version}; before {fixed} a transaction that runs during ALTER PUBLICATION or"
    " ALTER TYPE is decoded as if that had not happened",
    "changes of a table that is being added can be missing from the log without any error",
    "install {fixed} or newer; until then change publications and types only while no session writes",
)
DDL_UNTOLD = rule(
    "pg.ddl_untold",
    INFO,
    "The log does not announce schema changes",
    "there is no event trigger {name}, so changes of tables are found by looking at the catalogue",
    "a change without a row is seen some seconds after it was made, and several changes between two looks"
    " count as one",
    "to have each change at its place in the log, as a superuser (optional; nothing depends on"
    " it):\n{trigger}",
)
DDL_UNSEALED = rule(
    "pg.ddl_trigger_unsealed",
    WARNING,
    "Messages of the event trigger could be forged",
    "the event trigger {name} calls {function}, which has no secret that is closed to PUBLIC, so any role"
    " that can log in can write messages that look like its own",
    "its messages are ignored, and changes of tables are found by looking at the catalogue",
    "install it again, as a superuser; {function} may then be dropped if it still exists:\n{trigger}",
)
DDL_SECRET_HIDDEN = rule(
    "pg.ddl_secret_hidden",
    WARNING,
    "The secret of the event trigger can't be read",
    "{role} may not read the sequence {sequence}, so genuine messages of the event trigger {name} can't be"
    " distinguished from forged ones",
    "its messages are ignored, and changes of tables are found by looking at the catalogue",
    "as the sequence's owner: GRANT SELECT ON SEQUENCE {sequence} TO {role}",
    fix(
        "pg.ddl_secret_hidden",
        "GRANT SELECT ON SEQUENCE {sequence} TO {role}",
        "owner",
        undo="REVOKE SELECT ON SEQUENCE {sequence} FROM {role}",
    ),
)
MESSAGES_PUBLIC = rule(
    "pg.messages_public",
    INFO,
    "Every role that can log in may write logical messages",
    "PUBLIC may execute {forms} forms of the function pg_logical_emit_message",
    "any role can fill the log with messages, and messages that message.prefix.include.list does not leave"
    " out are published",
    "if not all roles are trusted, as a superuser; repeat the last line for each role whose programs write"
    " messages:\nREVOKE EXECUTE ON FUNCTION {every} FROM PUBLIC;"
    "\nGRANT EXECUTE ON FUNCTION {every} TO {role};",
)
SENDERS_FEW = rule(
    "pg.wal_senders_few",
    WARNING,
    "No WAL sender is free",
    "{used} of {most} WAL senders are in use",
    "a standby or a pipeline that reconnects may find no free one",
    "as a superuser: ALTER SYSTEM SET max_wal_senders = {more}; then restart the server",
    fix(
        "pg.wal_senders_few",
        "ALTER SYSTEM SET max_wal_senders = {more}",
        "superuser",
        undo="ALTER SYSTEM RESET max_wal_senders",
        safe=False,
        restart=True,
    ),
)
SENDER_TIMEOUT_OFF = rule(
    "pg.wal_sender_timeout_off",
    WARNING,
    "Dead connections are not noticed",
    "wal_sender_timeout is 0",
    "a broken connection keeps the slot in use, and no other process can take over",
    "as a superuser: ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()",
    fix(
        "pg.wal_sender_timeout_off",
        "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET wal_sender_timeout; SELECT pg_reload_conf()",
    ),
)
SENDER_TIMEOUT_SHORT = rule(
    "pg.wal_sender_timeout_short",
    WARNING,
    "The server closes our connection quickly",
    "wal_sender_timeout is {timeout} ms, and status.update.interval.ms is {interval}",
    "the stream breaks whenever the worker is busy for a moment",
    "as a superuser: ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();"
    " or lower status.update.interval.ms",
    fix(
        "pg.wal_sender_timeout_short",
        "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET wal_sender_timeout; SELECT pg_reload_conf()",
    ),
)
KEEP_UNLIMITED = rule(
    "pg.slot_keep_unlimited",
    WARNING,
    "A stopped pipeline can fill the server's disk",
    "max_slot_wal_keep_size has no limit; {slot} now keeps {retained} of log",
    "while the pipeline is stopped the server keeps all its log, and the server stops when the disk is full",
    "as a superuser, with about half of the disk's free space: ALTER SYSTEM SET max_slot_wal_keep_size ="
    " '50GB'; SELECT pg_reload_conf(); and set an alarm on the pipeline's lag",
    fix(
        "pg.slot_keep_unlimited",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET max_slot_wal_keep_size; SELECT pg_reload_conf()",
        safe=False,
    ),
)
IDLE_TIMEOUT = rule(
    "pg.slot_idle_timeout",
    WARNING,
    "A stopped pipeline loses its slot",
    "idle_replication_slot_timeout is {seconds} s",
    "after a stop of that length the tables must be read again",
    "as a superuser: ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf()",
    fix(
        "pg.slot_idle_timeout",
        "ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET idle_replication_slot_timeout; SELECT pg_reload_conf()",
    ),
)
STANDBY_OLD = rule(
    "pg.standby",
    ERROR,
    "The server is a standby",
    "this is a standby of PostgreSQL {version}; logical decoding on a standby needs version 16 or newer",
    "the pipeline does not start",
    "name the primary in database.hostname",
)

# Failing over
FAILOVER_UNSYNCED = rule(
    "pg.failover_unsynced",
    WARNING,
    "A standby may be promoted that has less than the copy",
    "synchronized_standby_slots is empty, so changes are published before any standby has them",
    "after a failover the pipeline may refuse to continue, and the tables must be read again",
    "on the primary: ALTER SYSTEM SET synchronized_standby_slots = '<the standby''s slot>'; SELECT"
    " pg_reload_conf(); on the standby: sync_replication_slots = on, hot_standby_feedback = on,"
    " primary_slot_name, and a dbname in primary_conninfo",
)
SLOT_STAYS = rule(
    "pg.slot_not_failover",
    WARNING,
    "The slot is not copied to a standby",
    "slot.failover is true, and {slot} was created without it",
    "after a failover the slot is missing and the tables must be read again",
    "while the pipeline is stopped: {psql} -c 'ALTER_REPLICATION_SLOT {slot} (FAILOVER true)'",
)

# The slot
_RAISE = (
    "start the pipeline, or as a superuser raise the limit: ALTER SYSTEM SET max_slot_wal_keep_size ="
    " '{more}'; SELECT pg_reload_conf()"
)
SLOT_UNRESERVED = rule(
    "pg.slot_unreserved",
    WARNING,
    "The slot is about to be lost",
    "{slot} keeps {retained} of log, beyond max_slot_wal_keep_size",
    "at one of the next checkpoints the slot is lost, and the tables must be read again",
    _RAISE,
    fix(
        "pg.slot_unreserved",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '{more}'; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET max_slot_wal_keep_size; SELECT pg_reload_conf()",
        safe=False,
    ),
)
SLOT_NEAR_LIMIT = rule(
    "pg.slot_near_limit",
    WARNING,
    "The slot keeps much log",
    "{slot} keeps {retained} of log, more than half of max_slot_wal_keep_size ({limit})",
    "when it keeps more than the limit it is lost, and the tables must be read again",
    _RAISE,
    fix(
        "pg.slot_near_limit",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '{more}'; SELECT pg_reload_conf()",
        "superuser",
        undo="ALTER SYSTEM RESET max_slot_wal_keep_size; SELECT pg_reload_conf()",
        safe=False,
    ),
)

# The publication
PUBLICATION_FORBIDDEN = rule(
    "pg.publication_forbidden",
    ERROR,
    "The publication is missing and can't be created",
    "there is no publication {publication}; {role} may not create it ({why})",
    "the pipeline does not start",
    "as the tables' owner: {create}",
    fix("pg.publication_forbidden", "{create}", "owner", undo="DROP PUBLICATION {publication}"),
)
PUBLICATION_ROW_FILTER = rule(
    "pg.publication_row_filter",
    WARNING,
    "The publication filters rows",
    "publication {publication} has a row filter on {table_name}",
    "a row that no longer passes the filter is deleted in the copy, one that starts to pass is inserted,"
    " and changes of other rows never arrive; a snapshot ignores the filter and reads all rows",
    "if that is intended, nothing; otherwise as the table's owner: ALTER PUBLICATION {publication} DROP"
    " TABLE {table_name}; ALTER PUBLICATION {publication} ADD TABLE {table_name}",
)
