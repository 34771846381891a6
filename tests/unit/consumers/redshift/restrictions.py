"""What Redshift's manual says that it does not take, as data: a pattern of a text, and the page that says so.

A parser of the dialect is lenient: it finds a wrong word, not a refused one.
"""

import re

RESTRICTIONS = (
    (r"ADD COLUMN IF NOT EXISTS", "ALTER TABLE: ADD has no IF NOT EXISTS"),
    (r"DROP COLUMN IF EXISTS", "ALTER TABLE: DROP has no IF EXISTS"),
    (r"ADD COLUMN .*, ADD ", "ALTER TABLE: one column in each statement"),
    (r"ALTER COLUMN .* TYPE", "ALTER TABLE: a type only grows, and not inside a transaction"),
    (r"CREATE TABLE IF NOT EXISTS [^(]* AS ", "CREATE TABLE AS: no IF NOT EXISTS"),
    (r"CREATE OR REPLACE VIEW", "CREATE VIEW: it replaces only a view with the same columns"),
    (r"CREATE TABLE (?!.*(DISTKEY|AS SELECT))", "CREATE TABLE: layout"),
    (r"DISTKEY\([^)]*,", "CREATE TABLE: one column is the DISTKEY"),
    (r"WHEN (NOT )?MATCHED AND", "MERGE: no condition beside MATCHED"),
    (r'DELETE FROM "[^"]*"\."[^"]*" (?!USING|WHERE|$)\w+', "DELETE: no alias"),
    (r"DELETE FROM [^;]* USING \(", "DELETE: USING names tables"),
    (r"SET t\.", "UPDATE: a column that is set has no table before it"),
    (r"(?s)UPDATE [^;]* FROM [^;]* (LEFT|RIGHT|FULL) (OUTER )?JOIN", "UPDATE: no outer join in FROM"),
    (r"ON CONFLICT|RETURNING|FILTER \(", "features of PostgreSQL that Redshift lacks"),
    (r"(?i)\b(BYTEA|JSONB?|UUID|XML|SERIAL|MONEY|TEXT)\b", "data types of PostgreSQL that Redshift lacks"),
    (r"VARCHAR(?!\(\d)", "character types: without a length it is 256 bytes, and a CAST cuts"),
    (r"VARCHAR\((6553[6-9]|655[4-9]\d|65[6-9]\d\d|6[6-9]\d{3}|[7-9]\d{4}|\d{6,})\)", "VARCHAR: 65,535 bytes"),
    (r"VARBYTE\((\d{8,}|[2-9]\d{6})\)", "VARBYTE: 1,024,000 bytes, where Redshift is oldest"),
    (r"DECIMAL\(19,", "numeric types: 19 digits are kept in 8 bytes"),
    (r"DECIMAL\((39|[4-9]\d)|DECIMAL\(\d+, (3[89]|[4-9]\d)\)", "numeric types: 38 digits, scale 37"),
    (r"(?<!% 1000000\)) \* INTERVAL '1 microsecond'", "a product is a double"),
    (r"[%$][s\d]\b(?!')", "nothing is bound"),
    (r"MERGE INTO|TRUNCATE|VACUUM|APPEND FROM", "what ends a transaction, or is not ours to run"),
)
MOST_BYTES = 16 * 1024 * 1024  # of a statement

RESERVED = frozenset(
    re.findall(
        r"\w+",
        """AES128 AES256 ALL
    ALLOWOVERWRITE ANALYSE ANALYZE AND ANY ARRAY AS ASC AUTHORIZATION AZ64 BACKUP BETWEEN
    BINARY BLANKSASNULL BOTH BYTEDICT BZIP2 CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CREDENTIALS CROSS
    CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURRENT_USER_ID DEFAULT DEFERRABLE DEFLATE DEFRAG
    DELTA DELTA32K DESC DISABLE DISTINCT DO ELSE EMPTYASNULL ENABLE ENCODE ENCRYPT ENCRYPTION END EXCEPT
    EXPLICIT FALSE FOR FOREIGN FREEZE FROM FULL GLOBALDICT256 GLOBALDICT64K GRANT GROUP GZIP HAVING IDENTITY
    IGNORE ILIKE IN INITIALLY INNER INTERSECT INTERVAL INTO IS ISNULL JOIN LANGUAGE LEADING LEFT LIKE LIMIT
    LOCALTIME LOCALTIMESTAMP LUN LUNS LZO LZOP MINUS MOSTLY13 MOSTLY32 MOSTLY8 NATURAL NEW NOT NOTNULL NULL
    NULLS OFF OFFLINE OFFSET OID OLD ON ONLY OPEN OR ORDER OUTER OVERLAPS PARALLEL PARTITION PERCENT
    PERMISSIONS PLACING PRIMARY RAW READRATIO RECOVER REFERENCES REJECTLOG RESORT RESPECT RESTORE RIGHT SELECT
    SESSION_USER SIMILAR SNAPSHOT SOME SYSDATE SYSTEM TABLE TAG TDES TEXT255 TEXT32K THEN TIMESTAMP TO TOP
    TRAILING TRUE TRUNCATECOLUMNS UNION UNIQUE USER USING VERBOSE WALLET WHEN WHERE WITH WITHOUT""",
    )
)


def broken(text: str) -> list[str]:
    """Name the restrictions that a text breaks; what stands in quotes breaks none but that of a backslash."""
    bare = re.sub(r"'(?!1 microsecond|1 second|epoch)(?:[^']|'')*'", "'…'", text)
    named = re.sub(r'"(?:[^"]|"")*"', '"name"', bare)
    found = [why for pattern, why in RESTRICTIONS if re.search(pattern, named)]
    found += ["literals"] if "\\" in re.sub(r'"(?:[^"]|"")*"', "", text) else []
    return found + (["a statement's size"] if len(text.encode()) > MOST_BYTES else [])
