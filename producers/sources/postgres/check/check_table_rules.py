"""All findings about PostgreSQL tables, each with the SQL that solves it; not when they apply."""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

NO_TABLES = rule(
    "pg.no_tables",
    ERROR,
    "There is nothing to copy",
    "no table that {role} can read in database {database} is captured",
    "the pipeline has no work",
    "list the tables: {tables}; then correct table.include.list, or grant the tables",
)
USAGE_MISSING = rule(
    "pg.usage_missing",
    ERROR,
    "The schema may not be used",
    "{role} has no USAGE on the schema of {table_name}",
    "the table's rows can't be read",
    "as its owner: GRANT USAGE ON SCHEMA {schema_name} TO {role}",
    fix(
        "pg.usage_missing",
        "GRANT USAGE ON SCHEMA {schema_name} TO {role}",
        "owner",
        undo="REVOKE USAGE ON SCHEMA {schema_name} FROM {role}",
    ),
)
SELECT_MISSING = rule(
    "pg.select_missing",
    ERROR,
    "The table may not be read",
    "{role} has no SELECT on {table_name}",
    "the table's rows can't be read",
    "as its owner: GRANT SELECT ON {table_name} TO {role}",
    fix(
        "pg.select_missing",
        "GRANT SELECT ON {table_name} TO {role}",
        "owner",
        undo="REVOKE SELECT ON {table_name} FROM {role}",
    ),
)
ROW_SECURITY = rule(
    "pg.row_security",
    ERROR,
    "Row security hides rows",
    "policies of {table_name} apply to {role}",
    "the table's existing rows are not read (pg.rows_hidden), although the log contains its changes",
    "as a superuser: ALTER ROLE {role} BYPASSRLS",
    fix(
        "pg.row_security",
        "ALTER ROLE {role} BYPASSRLS",
        "superuser",
        undo="ALTER ROLE {role} NOBYPASSRLS",
        safe=False,
    ),
)
UNLOGGED = rule(
    "pg.unlogged",
    ERROR,
    "The table is not logged",
    "{table_name} is unlogged",
    "its changes are in no log",
    "as its owner: ALTER TABLE {table_name} SET LOGGED",
    fix(
        "pg.unlogged",
        "ALTER TABLE {table_name} SET LOGGED",
        "owner",
        undo="ALTER TABLE {table_name} SET UNLOGGED",
        safe=False,
    ),
)
KEY_UNPROVEN = rule(
    "pg.key_unproven",
    WARNING,
    "Nothing keeps the key unique",
    "no unique index over columns that are never null covers {columns}, the key of {table_name} by"
    " message.key.columns; {looked}",
    "two rows with the same key become one row in the copy, and a change of one changes both",
    "make these columns NOT NULL, then as its owner: ALTER TABLE {table_name} ADD UNIQUE ({columns})",
)
EMPTY = rule(
    "pg.tables_empty",
    INFO,
    "Tables without rows",
    "these have no rows: {shown}",
    "each gets a topic, and a table in the target, only with its first row",
    "nothing needs to be done",
)
NOT_GRANTED = rule(
    "pg.tables_not_granted",
    INFO,
    "Tables that the role may not read",
    "no filter leaves these tables out, and {role} may not read them: {shown}",
    "they are not copied until the role may read them",
    "nothing, if that is intended; otherwise as their owner: {usage}GRANT SELECT ON {every} TO {role}",
)
NOT_LOGGED = rule(
    "pg.tables_unlogged",
    WARNING,
    "Unlogged tables",
    "no filter leaves these tables out, and they are unlogged: {shown}",
    "their changes are in no log, so they are not copied",
    "as the owner of each: ALTER TABLE <table> SET LOGGED; or name them in table.exclude.list",
)
KEY_MISSING = rule(
    "pg.key_missing",
    WARNING,
    "The table has no key",
    "{table_name}, of {size} MB, has neither a primary key nor a unique index over columns that are never"
    " null",
    "no change says which row it belongs to; rows from before the start are read in one transaction, which"
    " starts once all transactions that are writing at that moment have ended, holds back VACUUM until the"
    " last row is read, and starts again if it is lost",
    "as its owner: ALTER TABLE {table_name} ADD PRIMARY KEY (...); or name columns that identify its rows:"
    " message.key.columns",
)
IDENTITY_NOTHING = rule(
    "pg.identity_nothing",
    ERROR,
    "Updates do not identify a row",
    "{leaf} has REPLICA IDENTITY NOTHING",
    "once it is published, every UPDATE and DELETE of it fails in the application",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
    fix(
        "pg.identity_nothing",
        "ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
        "owner",
        undo="ALTER TABLE {leaf} REPLICA IDENTITY NOTHING",
    ),
)
IDENTITY_MISSING = rule(
    "pg.identity_missing",
    ERROR,
    "Updates do not identify a row",
    "{leaf} has no primary key, and its replica identity is the default",
    "once it is published, every UPDATE and DELETE of it fails in the application",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
    fix(
        "pg.identity_missing",
        "ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
        "owner",
        undo="ALTER TABLE {leaf} REPLICA IDENTITY DEFAULT",
    ),
)
IDENTITY_OTHER = rule(
    "pg.identity_other",
    ERROR,
    "Updates identify rows by other columns than the key",
    "the replica identity of {leaf} does not contain {columns}, which belong to its key",
    "a delete would not say which row of the copy it belongs to, so the table is set aside when its first"
    " change arrives",
    "as its owner: ALTER TABLE {leaf} REPLICA IDENTITY {wanted}",
    fix("pg.identity_other", "ALTER TABLE {leaf} REPLICA IDENTITY {wanted}", "owner"),
)
PARTITIONS_SILENT = rule(
    "pg.partitions_silent",
    WARNING,
    "Rows of partitions can come and go without a change in the log",
    "{table_name} is partitioned; TRUNCATE, DETACH or DROP of one of its partitions, and ATTACH of a table"
    " with rows, leave no changes in its log",
    "rows that were removed this way stay in the copy, and rows that were added this way are missing from it",
    "before a partition is removed: DELETE its rows, which is logged; after a table with rows was"
    " attached: wrackline snapshot start <pipeline.toml> '{request}'; see docs/postgresql.md, Partitions",
)
COLUMN_GENERATED = rule(
    "pg.column_generated",
    WARNING,
    "The log does not carry a generated column",
    "{path} is generated, and the log does not contain it",
    "the copy does not have this column",
    "{fix}",
)
MONEY_DIGITS = rule(
    "pg.money_digits",
    ERROR,
    "Money is written with other digits",
    "{path} has the type money, which applications of this database write with {digits} digits after the"
    " point; it is copied with 2",
    "the copy's amounts would be wrong by a power of ten",
    "as its owner: ALTER TABLE {table_name} ALTER {column_name} TYPE numeric; or leave it out:"
    " column.exclude.list = '{path}'",
)
