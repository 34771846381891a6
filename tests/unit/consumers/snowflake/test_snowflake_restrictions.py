"""No text for Snowflake is what its documentation refuses; each restriction finds what it is for."""

import pytest

from tests.unit.consumers.snowflake.restrictions import RESTRICTIONS, broken, ends_transaction
from tests.unit.consumers.staged.test_history_texts import texts as history_texts
from tests.unit.consumers.staged.test_texts import texts as staged_texts
from wrackline.consumers.targets.snowflake.limits import STATEMENT_BYTES

TEXTS = {**staged_texts(), **{f"history, {name}": text for name, text in history_texts("snowflake").items()}}
OF_TRANSACTIONS = ("state, moved", "void", "merge of ", "load, all new", "events", "filled ", "history, ")
OUTSIDE = ("history, the table", "history, question", "history, view")
REFUSED = (
    "MERGE INTO a t USING b s ON c WHEN MATCHED THEN DELETE WHEN MATCHED AND d THEN DELETE",
    "MERGE INTO a t USING b s ON c WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "MERGE INTO a t USING TABLE(f()) ON c WHEN MATCHED THEN DELETE",
    "CREATE OR REPLACE TABLE IF NOT EXISTS a (b BIGINT)",
    'CREATE VIEW "a" COPY GRANTS AS SELECT 1',
    'ALTER TABLE "a" ADD COLUMN IF NOT EXISTS "b" BIGINT DEFAULT 1',
    'ALTER TABLE "a" ADD COLUMN "b" BIGINT, ADD COLUMN "c" BIGINT',
    'ALTER TABLE "a" RENAME COLUMN "b" TO "c"',
    "CREATE TRANSIENT TABLE a (b BIGINT) DATA_RETENTION_TIME_IN_DAYS = 7",
    "CREATE TABLE a (b VARCHAR(134217728))",
    "CREATE TABLE a (b BINARY(67108864))",
    "SELECT CAST(a AS DECIMAL(38, 38))",
    "CREATE TABLE a (b BYTEA)",
    "INSERT INTO a SELECT 1 RETURNING b",
    "SELECT ROW_NUMBER() OVER (PARTITION BY COALESCE(a, b))",
    "SELECT SUM(a) OVER w FROM b WINDOW w AS (ORDER BY c)",
    "COPY INTO a FROM (SELECT $1 FROM @b) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE",
    "COPY INTO a FROM @b MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE VALIDATION_MODE = RETURN_ERRORS",
    "COPY INTO a FROM @b FILE_FORMAT = (TYPE = PARQUET) ON_ERROR = SKIP_FILE_10",
    "PUT s3://a/b @c",
    "UPDATE a SET b = %s",
    "SELECT " + "1" * STATEMENT_BYTES,
)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_breaks_no_restriction_of_the_documentation(name: str) -> None:
    assert broken(TEXTS[name]) == []


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_a_refused_text_breaks_one(text: str) -> None:
    assert broken(text)


def test_each_restriction_sees_something() -> None:
    seen = {why for text in REFUSED for why in broken(text)}
    assert {why for _, why in RESTRICTIONS} - seen == set()


def test_no_statement_of_a_batch_commits_its_transaction() -> None:
    """DDL does, so the state would be moved without the rows."""
    steps = [name for name in TEXTS if name.startswith(OF_TRANSACTIONS) and not name.startswith(OUTSIDE)]
    assert len(steps) > 8
    assert [name for name in steps if ends_transaction(TEXTS[name])] == []
    assert ends_transaction("TRUNCATE TABLE a")
    assert ends_transaction("CREATE TABLE a AS SELECT 1")
