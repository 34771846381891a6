"""What Snowflake's documentation says that it does not take, as data: a pattern of a text, and its page.

A parser of the dialect is lenient: it finds a wrong word, not a refused one.
"""

import re

from wrackline.consumers.targets.snowflake.limits import STATEMENT_BYTES

RESTRICTIONS = (
    (r"WHEN MATCHED THEN .* WHEN MATCHED", "MERGE: a clause without condition is the last of its kind"),
    (r"WHEN NOT MATCHED BY (SOURCE|TARGET)", "MERGE: rows are matched or not, by no side"),
    (r"(?s)\bMERGE INTO .* USING (?!\(SELECT|\()\S+ (?!\w+ ON )", "MERGE: a source is a table or a subquery"),
    (r"CREATE OR REPLACE \w+ IF NOT EXISTS", "CREATE: OR REPLACE and IF NOT EXISTS exclude each other"),
    (r"CREATE VIEW .*COPY GRANTS", "CREATE VIEW: COPY GRANTS only where a view is replaced"),
    (r"ADD COLUMN IF NOT EXISTS .*(DEFAULT|AUTOINCREMENT|IDENTITY|UNIQUE|PRIMARY KEY|REFERENCES|NOT NULL)",
     "ALTER TABLE: ADD COLUMN IF NOT EXISTS has no default and no constraint"),
    (r"ADD COLUMN .*, ADD ", "ALTER TABLE: ADD stands once"),
    (r"ALTER COLUMN|MODIFY COLUMN|RENAME COLUMN", "ALTER TABLE: a type only grows"),
    (r"TRANSIENT TABLE .*DATA_RETENTION_TIME_IN_DAYS = (?![01]$)", "CREATE TABLE: transient ones keep a day"),
    (r"VARCHAR\((1677721[7-9]|167772[2-9]\d|16777[3-9]\d\d|1[7-9]\d{6}|[2-9]\d{7,}|\d{9,})\)",
     "text types: 16,777,216, where an account is old"),
    (r"BINARY\((838860[9]|8[4-9]\d{5}|9\d{6}|\d{8,})\)", "binary types: 8,388,608, where an account is old"),
    (r"(DECIMAL|NUMBER|NUMERIC)\((39|[4-9]\d|\d{3,})|(DECIMAL|NUMBER|NUMERIC)\(\d+, ?(3[89]|[4-9]\d)\)",
     "numeric types: 38 digits, scale 37"),
    (r"\b(BYTEA|BYTES|JSONB?|SERIAL|MONEY|INT64|FLOAT64|BIGNUMERIC|BOOL)\b", "data types that it lacks"),
    (r"ON CONFLICT|RETURNING|\bFILTER \(|DISTINCT ON \(|WITHIN NULLS", "features that it lacks"),
    (r"ROW_NUMBER\(\) OVER \((?![^()]*(?:\([^()]*\)[^()]*)*ORDER BY)", "ROW_NUMBER: it wants an order"),
    (r"\bWINDOW \w+ AS \(|\bOVER \w+", "window functions: a window has no name"),
    (r"COPY INTO \S+ FROM \(.*MATCH_BY_COLUMN_NAME", "COPY INTO: by names no query transforms"),
    (r"MATCH_BY_COLUMN_NAME .*VALIDATION_MODE|VALIDATION_MODE .*MATCH_BY_COLUMN_NAME",
     "COPY INTO: by names nothing is validated"),
    (r"COPY INTO .*TYPE = PARQUET.*ON_ERROR = SKIP_FILE_\d", "COPY INTO: errors are not counted in Parquet"),
    (r"^PUT (?!'…'|'file://)", "PUT: a file of this machine, file://"),
    (r"(?<![:\w]):\d\b|%s|(?<= )\?(?= |$)", "nothing is bound"),
)  # fmt: skip


def broken(text: str) -> list[str]:
    """Name the restrictions that a text breaks; what stands in quotes breaks none but that of PUT."""
    bare = re.sub(r"'(?!file://)(?:[^'\\]|''|\\.)*'", "'…'", text)
    named = re.sub(r'"(?:[^"]|"")*"', '"name"', bare)
    found = [why for pattern, why in RESTRICTIONS if re.search(pattern, named)]
    return found + (["a statement's size"] if len(text.encode()) > STATEMENT_BYTES else [])


def ends_transaction(text: str) -> bool:
    """Whether a statement commits the transaction around it, as DDL does there."""
    return re.match(r"(SELECT|INSERT|UPDATE|DELETE|MERGE) ", text) is None
