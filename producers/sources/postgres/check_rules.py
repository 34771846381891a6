"""All that a check of PostgreSQL can find, each with the SQL that mends it; says nothing of when.

A rule is called with the names of what was found and becomes a finding, as an error's code becomes an
error.  Names in SQL come quoted by the server.  What a start or a task ends with is no rule: a check shows
that error (`of_error`), so each thing is said in one place.
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
    "changes of a table that is just being added can be missing from the log, silently",
    "install {fixed} or newer; until then change publications and types while nobody writes",
)
DDL_UNTOLD = rule(
    "pg.ddl_untold",
    INFO,
    "The log does not tell of schema changes",
    "there is no event trigger {name}, so changes of tables are found by looking at the catalogue",
    "a change without a row is seen some seconds after it was made, and several between two looks as one",
    "to have each at its place in the log, as a superuser (this is optional; nothing needs it):\n{trigger}",
)
SENDERS_FEW = rule(
    "pg.wal_senders_few",
    WARNING,
    "No WAL sender is free",
    "{used} of {most} WAL senders are in use",
    "a standby or a pipeline that connects again may find none",
    "as a superuser: ALTER SYSTEM SET max_wal_senders = {more}; then restart the server",
)
SENDER_TIMEOUT_OFF = rule(
    "pg.wal_sender_timeout_off",
    WARNING,
    "Dead connections are not noticed",
    "wal_sender_timeout is 0",
    "a connection that broke keeps the slot in use, and nobody can take over",
    "as a superuser: ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()",
)
SENDER_TIMEOUT_SHORT = rule(
    "pg.wal_sender_timeout_short",
    WARNING,
    "The server gives up on us quickly",
    "wal_sender_timeout is {timeout} ms, and status.update.interval.ms is {interval}",
    "the stream breaks whenever the worker is busy for a moment",
    "as a superuser: ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();"
    " or lower status.update.interval.ms",
)
KEEP_UNLIMITED = rule(
    "pg.slot_keep_unlimited",
    WARNING,
    "A stopped pipeline can fill the server's disk",
    "max_slot_wal_keep_size has no limit; {slot} holds {retained} of log now",
    "while the pipeline stands still the server keeps all its log, and stops when the disk is full",
    "as a superuser, with about half of the disk's free space: ALTER SYSTEM SET max_slot_wal_keep_size ="
    " '50GB'; SELECT pg_reload_conf(); and set an alarm on the pipeline's lag",
)
IDLE_TIMEOUT = rule(
    "pg.slot_idle_timeout",
    WARNING,
    "A stopped pipeline loses its slot",
    "idle_replication_slot_timeout is {seconds} s",
    "after a stop of that length the tables must be read again",
    "as a superuser: ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf()",
)
STANDBY_OLD = rule(
    "pg.standby",
    ERROR,
    "The server is a standby",
    "this is a standby of PostgreSQL {version}; a standby's log can be decoded from 16 on",
    "the pipeline does not start",
    "name the primary in database.hostname",
)

# Failing over
FAILOVER_UNSYNCED = rule(
    "pg.failover_unsynced",
    WARNING,
    "A standby may be promoted that has less than the copy",
    "synchronized_standby_slots is empty, so changes are handed out before any standby has them",
    "after a failover the pipeline may refuse to go on, and the tables must be read again",
    "on the primary: ALTER SYSTEM SET synchronized_standby_slots = '<the standby''s slot>'; SELECT"
    " pg_reload_conf(); on the standby: sync_replication_slots = on, hot_standby_feedback = on,"
    " primary_slot_name, and a dbname in primary_conninfo",
)
SLOT_STAYS = rule(
    "pg.slot_not_failover",
    WARNING,
    "The slot does not follow to a standby",
    "slot.failover is true, and {slot} was made without it",
    "after a failover the slot is missing and the tables must be read again",
    "while the pipeline stands still: {psql} -c 'ALTER_REPLICATION_SLOT {slot} (FAILOVER true)'",
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
    "{slot} holds {retained} of log, beyond max_slot_wal_keep_size",
    "at one of the next checkpoints the slot is lost, and the tables must be read again",
    _RAISE,
)
SLOT_NEAR_LIMIT = rule(
    "pg.slot_near_limit",
    WARNING,
    "The slot holds much log",
    "{slot} holds {retained} of log, more than half of max_slot_wal_keep_size ({limit})",
    "when it holds more than the limit it is lost, and the tables must be read again",
    _RAISE,
)

# The publication
PUBLICATION_FORBIDDEN = rule(
    "pg.publication_forbidden",
    ERROR,
    "The publication is missing and can't be made",
    "there is no publication {publication}; {role} may not make it ({why})",
    "the pipeline does not start",
    "as the tables' owner: {create}",
)
PUBLICATION_ROW_FILTER = rule(
    "pg.publication_row_filter",
    WARNING,
    "The publication filters rows",
    "publication {publication} has a row filter on {table_name}",
    "a row that no longer passes it is deleted in the copy, one that begins to pass is inserted, changes of"
    " the others never come; a snapshot does not know the filter, and reads them all",
    "where that is meant, nothing; else as the table's owner: ALTER PUBLICATION {publication} DROP TABLE"
    " {table_name}; ALTER PUBLICATION {publication} ADD TABLE {table_name}",
)

# Tables
NO_TABLES = rule(
    "pg.no_tables",
    ERROR,
    "There is nothing to copy",
    "no table that {role} can read in database {database} is captured",
    "the pipeline has no work",
    "see which there are: {tables}; then correct table.include.list, or grant the tables",
)
USAGE_MISSING = rule(
    "pg.usage_missing",
    ERROR,
    "The schema may not be used",
    "{role} has no USAGE on the schema of {table_name}",
    "the table's rows can't be read",
    "as its owner: GRANT USAGE ON SCHEMA {schema_name} TO {role}",
)
SELECT_MISSING = rule(
    "pg.select_missing",
    ERROR,
    "The table may not be read",
    "{role} has no SELECT on {table_name}",
    "the table's rows can't be read",
    "as its owner: GRANT SELECT ON {table_name} TO {role}",
)
ROW_SECURITY = rule(
    "pg.row_security",
    ERROR,
    "Row security hides rows",
    "policies of {table_name} apply to {role}",
    "the table's existing rows are not read (pg.rows_hidden), while the log carries its changes",
    "as a superuser: ALTER ROLE {role} BYPASSRLS",
)
UNLOGGED = rule(
    "pg.unlogged",
    ERROR,
    "The table is not logged",
    "{table_name} is unlogged",
    "its changes are in no log",
    "as its owner: ALTER TABLE {table_name} SET LOGGED",
)
KEY_MISSING = rule(
    "pg.key_missing",
    WARNING,
    "The table has no key",
    "{table_name}, of {size} MB, has neither a primary key nor a unique index over columns that are never"
    " null",
    "no change says which row it means; rows from before the start are read in one transaction, which begins"
    " once all that write at that moment have ended, holds back VACUUM until the last row is out, and begins"
    " anew when it is lost",
    "as its owner: ALTER TABLE {table_name} ADD PRIMARY KEY (...); or name columns that tell its rows"
    " apart: message.key.columns",
)
IDENTITY_NOTHING = rule(
    "pg.identity_nothing",
    ERROR,
    "Updates name no row",
    "{leaf} has REPLICA IDENTITY NOTHING",
    "once it is published, every UPDATE and DELETE of it fails in the application",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
)
IDENTITY_MISSING = rule(
    "pg.identity_missing",
    ERROR,
    "Updates name no row",
    "{leaf} has no primary key, and its replica identity is the default",
    "once it is published, every UPDATE and DELETE of it fails in the application",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
)
IDENTITY_OTHER = rule(
    "pg.identity_other",
    ERROR,
    "Updates name rows by other columns than the key",
    "the replica identity of {leaf} does not carry {columns}, which are of its key",
    "a delete does not say which row of the copy it means",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
)
PARTITIONS_SILENT = rule(
    "pg.partitions_silent",
    WARNING,
    "Rows of partitions can come and go without a change in the log",
    "{table_name} is partitioned; TRUNCATE, DETACH or DROP of one of its partitions, and ATTACH of a filled"
    " table, are no changes in its log",
    "rows that went in this way stay in the copy, rows that came so are missing from it",
    "before a partition goes: DELETE its rows, which is logged; after a filled one was attached: wrackline"
    " snapshot start <pipeline.toml> '{request}'; see docs/postgresql.md, Partitions",
)
COLUMN_GENERATED = rule(
    "pg.column_generated",
    WARNING,
    "The log does not carry a generated column",
    "{path} is generated, and the log leaves it out",
    "the copy does not have this column",
    "{mend}",
)
MONEY_DIGITS = rule(
    "pg.money_digits",
    ERROR,
    "Money is written with other digits",
    "{path} is of the type money, which applications of this database write with {digits} digits after the"
    " point; it is copied with 2",
    "the copy's amounts would be wrong by a power of ten",
    "as its owner: ALTER TABLE {table_name} ALTER {column_name} TYPE numeric; or leave it out:"
    " column.exclude.list={path}",
)
