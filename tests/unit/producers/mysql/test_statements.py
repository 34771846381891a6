"""What a query event does: a corpus of both servers' syntax, each with what must be read from it."""

import dataclasses
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.mysql_statements import CASES, Case, said
from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    ControlKind,
    DatabaseDropped,
    StatementLogged,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TransactionControl,
    UnknownEffect,
    effects,
)
from wrackline.producers.sources.mysql.ddl.sql_tokens import (
    SqlSpelling,
    SqlToken,
    TokenKind,
    UnreadableSql,
    tokens,
)
from wrackline.schemas.tables.table import TableId

T, N = TableId("d", "d", "t"), TableId("d", "d", "n")
GAPS = (" ", "\n", "\t ", "/* DROP TABLE x */", " -- ' `\n", "#`\n", "/**/", "/* ' */ ", " /*99999 x*/")


def read(text: str, **more: object) -> object:
    return effects(text.encode(), "d", dataclasses.replace(SqlSpelling(), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=[case.statement for case in CASES])
def test_a_statement_does_what_the_corpus_says(case: Case) -> None:
    for server in case.servers or ("mysql", "mariadb"):
        assert said(effects(case.statement.encode(), "d", case.spelling(server))) == case.deeds


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(CASES) >= 250
    assert len({(case.statement, case.modes, case.who) for case in CASES}) == len(CASES), (
        "no line stands twice"
    )


@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_comments_and_space_anywhere_change_nothing(case: Case, chance: random.Random) -> None:
    spelling = case.spelling("mariadb")
    try:
        cut = list(tokens(case.statement, spelling))
    except UnreadableSql:
        return
    text = ""
    for before, piece in pairwise([SqlToken(TokenKind.MARK, ""), *cut]):
        if piece.after_gap or TokenKind.MARK in {before.kind, piece.kind}:
            text += chance.choice(GAPS)
        text += written(piece, spelling)
    text += chance.choice(GAPS)
    assert said(effects(text.encode(), "d", spelling)) == case.deeds


def written(piece: SqlToken, spelling: SqlSpelling) -> str:
    if piece.kind is TokenKind.NAME:
        return "`" + piece.text.replace("`", "``") + "`"
    if piece.kind is TokenKind.TEXT:
        quote = (
            '"'
            if not spelling.ansi_quotes and "'" in piece.text.replace("''", "").replace("\\'", "")
            else "'"
        )
        return quote + piece.text + quote
    return piece.text


@given(
    st.sampled_from(CASES),
    st.binary(max_size=12),
    st.integers(0, 80),
    st.integers(0, 80),
    st.builds(
        SqlSpelling,
        encoding=st.sampled_from(["utf-8", "latin-1", "gbk", "shift_jis", "big5"]),
        ansi_quotes=st.booleans(),
        no_backslash_escapes=st.booleans(),
        mariadb=st.booleans(),
        lower_names=st.booleans(),
    ),
)
def test_no_text_is_more_than_doubtful(
    case: Case, noise: bytes, begin: int, end: int, spelling: SqlSpelling
) -> None:
    text = case.statement.encode()
    for spoilt in (noise, text[:begin] + noise + text[end:], text[begin:], text[:end]):
        assert isinstance(effects(spoilt, "d", spelling), tuple)


def test_what_mariadb_alone_runs_is_a_comment_to_mysql() -> None:
    text = "ALTER TABLE t ADD COLUMN x int /*M!100100 NOT NULL */"
    assert read(text) == (TableAltered(T, keeps=True),)
    assert read(text, mariadb=True) == (TableAltered(T, keeps=False),)


def test_a_charset_whose_second_bytes_are_quotes_is_cut_at_its_own_characters() -> None:
    name = "縗"  # its second byte in gbk is a backslash
    raw = f"ALTER TABLE t COMMENT '{name}', ADD COLUMN x int NOT NULL".encode("gbk")
    assert b"\\'" in raw
    assert effects(raw, "d", SqlSpelling(encoding="gbk")) == (TableAltered(T, keeps=False),)


def test_bytes_that_are_no_text_stay_apart_from_the_words() -> None:
    assert effects(b"DROP TABLE t /* \xff */", "d", SqlSpelling()) == (TableDropped(T),)


def test_names_are_lower_where_the_server_makes_them_so() -> None:
    text = "RENAME TABLE D.T TO N"
    assert read(text, lower_names=True) == (TableRenamed(T, N),)
    assert read("DROP DATABASE D", lower_names=True) == (DatabaseDropped("d"),)
    assert read(text) == (TableRenamed(TableId("D", "D", "T"), TableId("d", "d", "N")),)


def test_a_name_without_a_database_is_in_the_default_one_or_nowhere() -> None:
    assert effects(b"CREATE TABLE n (a int)", "d", SqlSpelling()) == (TableCreated(N),)
    assert effects(b"CREATE TABLE n (a int)", "", SqlSpelling()) == (UnknownEffect(),)
    assert effects(b"CREATE TABLE d.n (a int)", "", SqlSpelling()) == (TableCreated(N),)


def test_a_statement_in_the_servers_own_database_is_its_own_without_being_named_so() -> None:
    assert effects(b"INSERT INTO user VALUES (1)", "mysql", SqlSpelling()) == ()
    assert effects(b"SELECT g()", "mysql", SqlSpelling()) == (StatementLogged("SELECT"),), (
        "who knows what it wrote"
    )


def test_the_rows_of_a_logged_insert_are_not_cut() -> None:
    rows = b",".join([b"('" + b"x" * 1000 + b"')"] * 1000)
    cut = tokens("INSERT INTO t VALUES " + rows.decode() + " 'unended", SqlSpelling())
    assert [next(cut).text for _ in range(4)] == ["INSERT", "INTO", "t", "VALUES"]
    assert effects(b"INSERT INTO t VALUES " + rows + b" 'unended", "d", SqlSpelling()) == (
        StatementLogged("INSERT"),
    )


def test_each_word_of_a_transaction_is_said_without_reading() -> None:
    assert effects(b"BEGIN", "", SqlSpelling()) == (TransactionControl(ControlKind.BEGIN),)
