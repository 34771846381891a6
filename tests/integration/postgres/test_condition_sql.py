"""A condition selects the rows that it names, whatever stands in it, and nothing else gets to the server."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.servers import Database
from tests.integration.postgres.test_key_bounds import WORDS
from wrackline.producers.sources.postgres.chunks.condition_sql import where
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language import conditions
from wrackline.schemas.language.conditions import ColumnName, Comparison
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.servers

Sql = psycopg.Connection[tuple[object, ...]]
PUBLISHED = ("id", "word", "Odd Name", "n", "day", "yes", "mood", "doc")
ROWS = [
    (1, "new", "x", Decimal("1.5"), dt.date(2024, 2, 29), True, "glad"),
    (2, "old", None, Decimal(-3), dt.date(1999, 12, 31), False, "sad"),
    (3, None, "it's", None, None, None, None),
]


@pytest.fixture
def connection(database: Database) -> Iterator[Sql]:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        made.execute(
            'CREATE TABLE c (id int PRIMARY KEY, word text, "Odd Name" varchar(9), n numeric(9, 2), day date,'
            " yes boolean, mood mood, doc json, secret text)"
        )
        for row in ROWS:
            made.execute("INSERT INTO c VALUES (%s, %s, %s, %s, %s, %s, %s, '{}', 'hidden')", row)
        yield made


def picked(connection: Sql, text: str) -> list[object]:
    table = TableId(connection.info.dbname, "public", "c")
    condition = where(connection, table, text, PUBLISHED)
    query = f"SELECT id FROM c WHERE {condition} ORDER BY id".encode()
    return [number for (number,) in connection.execute(query)]


CASES = [
    ("id = 2", [2]),
    ("ID <> 2", [1, 3]),
    ("word = 'new' OR word IS NULL", [1, 3]),
    ("word IS NOT NULL AND n < 0", [2]),
    ("\"Odd Name\" = 'it''s'", [3]),
    ("\"Odd Name\" LIKE 'it%'", [3]),
    ("id LIKE '1%'", [1]),
    ("n BETWEEN -3 AND 1.50", [1, 2]),
    ("day >= '2000-01-01'", [1]),
    ("yes = TRUE", [1]),
    ("mood > 'sad'", [1]),
    ("id IN (1, 3, NULL)", [1, 3]),
    ("(id = 1 OR id = 2) AND (n = 1.5 OR n = 7)", [1]),
]


def test_rows_that_a_condition_names(connection: Sql) -> None:
    assert [(text, picked(connection, text)) for text, _ in CASES] == CASES


def test_a_column_that_is_not_published_is_refused(connection: Sql) -> None:
    """A-SQL-06."""
    for text in ("gone = 1", '"ID" = 1', "secret = 'hidden'", "ctid = '(0,1)'"):
        with pytest.raises(WracklineError, match="names"):
            picked(connection, text)


@given(st.sampled_from(WORDS) | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_means_itself_whatever_is_in_it(connection: Sql, word: str) -> None:
    """A-SQL-04."""
    text = conditions.render(Comparison(ColumnName("word"), "=", word))
    connection.execute("UPDATE c SET word = %s WHERE id = 3", [word])
    try:
        assert picked(connection, text) == [3]
        assert picked(connection, conditions.render(Comparison(ColumnName("word"), "<>", word))) == [1, 2]
    finally:
        connection.execute("UPDATE c SET word = NULL WHERE id = 3")
