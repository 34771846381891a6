"""A statement's text goes with what it did, unless there may be a password in it."""

import pytest

from wrackline.producers.contract.steps import Appeared, Vanished
from wrackline.producers.sources.mysql.ddl.ddl_effects import TableEmptied
from wrackline.producers.sources.mysql.events.events import QueryEvent
from wrackline.producers.sources.mysql.follow.query_events import add_statement_text
from wrackline.schemas.tables.table import TableId

TABLE = TableId("d", "d", "t")
LATIN1 = 8  # latin1_swedish_ci


def query(text: bytes, charset: int | None = None) -> QueryEvent:
    return QueryEvent(1, 0, "d", text, charset, 0)


def test_each_step_of_a_statement_has_its_text() -> None:
    steps = list(
        add_statement_text(
            [Vanished(TABLE), Appeared(TABLE, complete=True), TableEmptied(TABLE)], query(b"CREATE \xc3\xa4")
        )
    )
    assert steps == [
        Vanished(TABLE, "CREATE ä"),
        Appeared(TABLE, complete=True, ddl="CREATE ä"),
        TableEmptied(TABLE),
    ]


def test_a_text_of_another_charset_is_read_in_it() -> None:
    assert list(add_statement_text([Vanished(TABLE)], query(b"DROP TABLE \xe4", LATIN1))) == [
        Vanished(TABLE, "DROP TABLE ä")
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"CREATE TABLE t (id int) ENGINE=FEDERATED CONNECTION='mysql://u:geheim@h/d/t'",
        b"CREATE TABLE t (id int) engine = connect OPTION_LIST='user=u,password=geheim'",
        b"CREATE TABLE t (id int) ENGINE=SPIDER COMMENT='password \"geheim\"'",
        b'ALTER TABLE t COMMENT=\'srv "s", password "geheim"\'',
        b"ALTER TABLE t COMMENT=\"table 't', Password\t'geheim'\"",
        b'ALTER TABLE t COMMENT="password \\"geheim\\""',
        b"ALTER TABLE t COMMENT='password\\t\"geheim\"'",
        b"ALTER TABLE t OPTION_LIST='user=u,password=geheim'",
    ],
)
def test_a_statement_that_may_contain_a_password_has_no_text(text: bytes) -> None:
    assert list(add_statement_text([Vanished(TABLE)], query(text))) == [Vanished(TABLE)]


@pytest.mark.parametrize(
    "text",
    ["CREATE TABLE t (id int, password varchar(60))", "ALTER TABLE t ADD `password` text, ADD pwd text"],
)
def test_a_column_of_that_name_is_no_secret(text: str) -> None:
    assert list(add_statement_text([Vanished(TABLE)], query(text.encode()))) == [Vanished(TABLE, text)]
