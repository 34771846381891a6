"""What Spanner's documentation says that it does not take, as data: a pattern of a text, and its page.

The emulator runs most of the texts; what it does not look at is here too (partitioned DML, sizes).
"""

import re

RESTRICTIONS = (
    (r"\bMERGE\b", "GoogleSQL: no MERGE"),
    (r"\bOVER\b|\bQUALIFY\b", "GoogleSQL: no window functions"),
    (r"RENAME COLUMN", "ALTER TABLE: no column gets another name"),
    (r"ALTER COLUMN", "ALTER TABLE: a type stays, but for STRING and BYTES and their lengths"),
    (r"DROP COLUMN IF EXISTS", "ALTER TABLE: DROP COLUMN has no IF EXISTS"),
    (r"ADD COLUMN .*, ADD ", "ALTER TABLE: one column in each statement"),
    (r"CREATE (OR REPLACE )?VIEW \S+ (?!SQL SECURITY (INVOKER|DEFINER) AS )", "CREATE VIEW: its security"),
    (r"CREATE VIEW IF NOT EXISTS", "CREATE VIEW: no IF NOT EXISTS"),
    (r"CREATE TABLE (?!.*\) PRIMARY KEY \([^)]+\)$)", "CREATE TABLE: a primary key, behind the columns"),
    (r"CREATE TABLE .* AS SELECT", "CREATE TABLE: not of a query"),
    (r"PRIMARY KEY \(([^,)]+,){16}", "limits: 16 columns of a key"),
    (r"(?<!AS )\b(STRING|BYTES)(?!\(|_)\b", "data types: a column of texts or bytes has a length"),
    (r"STRING\((262144[1-9]|26214[5-9]\d|2621[5-9]\d\d|262[2-9]\d{3}|26[3-9]\d{4}|2[7-9]\d{5}|[3-9]\d{6}|\d{8,})\)",
     "limits: 2,621,440 characters of a cell"),
    (r"NUMERIC\(", "data types: NUMERIC has no digits of its own"),
    (r"\b(BIGNUMERIC|DATETIME|TIME|INTEGER|BIGINT|VARCHAR|BOOLEAN)\b", "data types that it lacks"),
    (r"^(UPDATE|DELETE)(?!.* WHERE )", "DML: UPDATE and DELETE have a WHERE"),
    (r"^(UPDATE|DELETE) .*\b(SELECT|JOIN)\b", "partitioned DML: a row is changed by itself alone"),
    (r"^INSERT\b", "partitioned DML: no INSERT"),
    (r"\b(BEGIN|COMMIT|ROLLBACK)\b", "transactions: they are calls, and no statements"),
    (r"ON CONFLICT|RETURNING|DISTINCT ON|IGNORE NULLS|TRUNCATE|%s", "features that GoogleSQL lacks"),
)  # fmt: skip
MOST_CHARACTERS = 1_000_000  # of a query


def broken(text: str) -> list[str]:
    """Name the restrictions that a text breaks; what stands in quotes breaks none."""
    bare = re.sub(r"'[^']*'", "'…'", text)
    found = [why for pattern, why in RESTRICTIONS if re.search(pattern, bare)]
    names = re.findall(r"`([^`]*)`", bare)
    found += ["names: a letter comes first"] if any(not one[:1].isalpha() for one in names) else []
    found += ["limits: 128 characters of a name"] if any(len(one) > 128 for one in names) else []
    if re.match(r"CREATE (OR REPLACE )?VIEW", bare) and _unqualified(bare):
        found.append("CREATE VIEW: a name of a column has its table's before it")
    return found + (["limits: a query's text"] if len(text) > MOST_CHARACTERS else [])


def _unqualified(view: str) -> list[str]:
    """The names in a view's query that no table's name and no AS stands before."""
    query = view.partition(" AS SELECT ")[2]
    return re.findall(r"(?<!AS )(?<!FROM )(?<![.`\w])`\w+`(?!\.)", query)
