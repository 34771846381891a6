"""All findings about MySQL and MariaDB tables, each with the SQL that solves it; not when they apply."""

from wrackline.schemas.language.findings import Severity, fix, rule

ERROR, WARNING = Severity.ERROR, Severity.WARNING

NO_TABLES = rule(
    "mysql.no_tables",
    ERROR,
    "There is nothing to copy",
    "no table that {account} can read is captured",
    "the pipeline has no work",
    "list the tables: SELECT table_schema, table_name FROM information_schema.tables; then correct"
    " database.include.list and table.include.list, or grant the tables: GRANT SELECT ON <database>.* TO"
    " {account}",
)
TABLE_ABSENT = rule(
    "mysql.table_absent",
    ERROR,
    "The table does not exist",
    "{table_name} does not exist, or {account} has no right to it",
    "the table is not copied",
    "create it, or as an administrator: GRANT SELECT ON {table_name} TO {account}; or leave it out:"
    " table.exclude.list",
)
NAME_CASE = rule(
    "mysql.name_case",
    ERROR,
    "Names are in lower case only",
    "lower_case_table_names is {folds}, so {table_name} is called {real} here",
    "the table is not found under the given name",
    "name it in lower case: {real}",
)
SELECT_MISSING = rule(
    "mysql.select_missing",
    ERROR,
    "The table may not be read",
    "{account} has no SELECT on {table_name}, or not on every column that is copied",
    "the table's rows can't be read",
    "as an administrator: GRANT SELECT ON {table_name} TO {account}",
    fix(
        "mysql.select_missing",
        "GRANT SELECT ON {table_name} TO {account}",
        "administrator",
        undo="REVOKE SELECT ON {table_name} FROM {account}",
    ),
)
SIGNAL_MISSING = rule(
    "mysql.signal_table_unwritable",
    ERROR,
    "The signal table can't be written",
    "{account} has no INSERT on {table_name}, or it does not exist with the columns (id, type, data)",
    "changes are copied, existing rows are not",
    "as an administrator: CREATE TABLE IF NOT EXISTS {table_name} (id varchar(80) PRIMARY KEY, type"
    " varchar(32) NOT NULL, data varchar(2048)); GRANT SELECT, INSERT ON {table_name} TO {account}",
    fix(
        "mysql.signal_table_unwritable",
        "CREATE TABLE IF NOT EXISTS {table_name} (id varchar(80) PRIMARY KEY, type varchar(32) NOT NULL,"
        " data varchar(2048)); GRANT SELECT, INSERT ON {table_name} TO {account}",
        "administrator",
        undo="REVOKE SELECT, INSERT ON {table_name} FROM {account}",
    ),
)
KEY_UNPROVEN = rule(
    "mysql.key_unproven",
    WARNING,
    "Nothing keeps the key unique",
    "no unique index over columns that are never null covers {columns}, the key of {table_name} by"
    " message.key.columns; {looked}",
    "two rows with the same key become one row in the copy, and a change of one changes both",
    "make these columns NOT NULL, then as its owner: ALTER TABLE {table_name} ADD UNIQUE ({columns})",
)
KEY_MISSING = rule(
    "mysql.key_missing",
    WARNING,
    "The table has no key",
    "{table_name}, of {size} MB, has neither a primary key nor a unique index over whole columns that are"
    " never null",
    "no change says which row it belongs to; rows from before the start are read in one transaction, which"
    " starts over if it is lost",
    "as its owner: ALTER TABLE {table_name} ADD PRIMARY KEY (...); or name columns that identify its rows:"
    " message.key.columns; such a read needs RELOAD, and on MySQL also LOCK TABLES",
)
KEY_RIGHTS = rule(
    "mysql.key_rights_missing",
    ERROR,
    "A table without a key may not be read",
    "{table_name} has no key, and {account} has no {right}",
    "changes are copied, the table's existing rows are not",
    "as an administrator: GRANT {right} TO {account}; or give the table a key, or name columns that"
    " identify its rows: message.key.columns",
    fix("mysql.key_rights_missing", "GRANT {right} TO {account}", "administrator"),
)
NO_TRANSACTIONS = rule(
    "mysql.no_transactions",
    WARNING,
    "The table is not transactional",
    "{table_name} is stored by {engine}",
    "readers see a change before it is in the log, and it remains if its transaction is rolled back",
    "as its owner: ALTER TABLE {table_name} ENGINE = InnoDB",
)
ROWS_ELSEWHERE = rule(
    "mysql.rows_elsewhere",
    ERROR,
    "The table's rows are not stored here",
    "{table_name} is stored by {engine}: {what}",
    "its log and its rows do not agree",
    "copy it from where its rows are stored, or leave it out: table.exclude.list = '{path}'; or as its owner:"
    " ALTER TABLE {table_name} ENGINE = InnoDB",
)
CASCADE_UNLOGGED = rule(
    "mysql.cascade_unlogged",
    WARNING,
    "Rows change without a change in the log",
    "the foreign key {constraint} of {table_name} has {rules}: rows that it deletes or changes are not in"
    " the log",
    "when a row of {parent} is deleted or its key changes, the copy keeps rows of {table_name} as they were",
    "let the application change these rows itself: ALTER TABLE {table_name} DROP FOREIGN KEY {constraint};"
    " ALTER TABLE {table_name} ADD CONSTRAINT {constraint} FOREIGN KEY ({columns}) REFERENCES {parent}"
    " ({referenced}); or if that is not possible, delete the copy's rows by hand and read the others again:"
    " wrackline snapshot start <pipeline.toml> '{path}'",
)
