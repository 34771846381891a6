"""What a query event does: a corpus of both servers' syntax, each with what must be read from it."""

import dataclasses
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.mysql_statements import CASES, Case, said
from wrackline.producers.sources.mysql.statements import (
    Altered,
    Control,
    Created,
    DatabaseDropped,
    Doubtful,
    Dropped,
    Logged,
    Moved,
    Word,
    deeds,
)
from wrackline.producers.sources.mysql.words import Kind, Piece, Spelling, Unreadable, pieces
from wrackline.schemas.table import TableId

T, N = TableId("d", "d", "t"), TableId("d", "d", "n")
GAPS = (" ", "\n", "\t ", "/* DROP TABLE x */", " -- ' `\n", "#`\n", "/**/", "/* ' */ ", " /*99999 x*/")


def read(text: str, **more: object) -> object:
    return deeds(text.encode(), "d", dataclasses.replace(Spelling(), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=[case.statement for case in CASES])
def test_a_statement_does_what_the_corpus_says(case: Case) -> None:
    for server in case.servers or ("mysql", "mariadb"):
        assert said(deeds(case.statement.encode(), "d", case.spelling(server))) == case.deeds


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(CASES) >= 250
    assert len({(case.statement, case.modes, case.who) for case in CASES}) == len(CASES), (
        "no line stands twice"
    )


@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_comments_and_space_anywhere_change_nothing(case: Case, chance: random.Random) -> None:
    spelling = case.spelling("mariadb")
    try:
        cut = list(pieces(case.statement, spelling))
    except Unreadable:
        return
    text = ""
    for before, piece in pairwise([Piece(Kind.MARK, ""), *cut]):
        if piece.after_gap or Kind.MARK in {before.kind, piece.kind}:
            text += chance.choice(GAPS)
        text += written(piece, spelling)
    text += chance.choice(GAPS)
    assert said(deeds(text.encode(), "d", spelling)) == case.deeds


def written(piece: Piece, spelling: Spelling) -> str:
    if piece.kind is Kind.NAME:
        return "`" + piece.text.replace("`", "``") + "`"
    if piece.kind is Kind.TEXT:
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
        Spelling,
        encoding=st.sampled_from(["utf-8", "latin-1", "gbk", "shift_jis", "big5"]),
        ansi_quotes=st.booleans(),
        no_backslash_escapes=st.booleans(),
        mariadb=st.booleans(),
        lower_names=st.booleans(),
    ),
)
def test_no_text_is_more_than_doubtful(
    case: Case, noise: bytes, begin: int, end: int, spelling: Spelling
) -> None:
    text = case.statement.encode()
    for spoilt in (noise, text[:begin] + noise + text[end:], text[begin:], text[:end]):
        assert isinstance(deeds(spoilt, "d", spelling), tuple)


def test_what_mariadb_alone_runs_is_a_comment_to_mysql() -> None:
    text = "ALTER TABLE t ADD COLUMN x int /*M!100100 NOT NULL */"
    assert read(text) == (Altered(T, keeps=True),)
    assert read(text, mariadb=True) == (Altered(T, keeps=False),)


def test_a_charset_whose_second_bytes_are_quotes_is_cut_at_its_own_characters() -> None:
    name = "縗"  # its second byte in gbk is a backslash
    raw = f"ALTER TABLE t COMMENT '{name}', ADD COLUMN x int NOT NULL".encode("gbk")
    assert b"\\'" in raw
    assert deeds(raw, "d", Spelling(encoding="gbk")) == (Altered(T, keeps=False),)


def test_bytes_that_are_no_text_stay_apart_from_the_words() -> None:
    assert deeds(b"DROP TABLE t /* \xff */", "d", Spelling()) == (Dropped(T),)


def test_names_are_lower_where_the_server_makes_them_so() -> None:
    text = "RENAME TABLE D.T TO N"
    assert read(text, lower_names=True) == (Moved(T, N),)
    assert read("DROP DATABASE D", lower_names=True) == (DatabaseDropped("d"),)
    assert read(text) == (Moved(TableId("D", "D", "T"), TableId("d", "d", "N")),)


def test_a_name_without_a_database_is_in_the_default_one_or_nowhere() -> None:
    assert deeds(b"CREATE TABLE n (a int)", "d", Spelling()) == (Created(N),)
    assert deeds(b"CREATE TABLE n (a int)", "", Spelling()) == (Doubtful(),)
    assert deeds(b"CREATE TABLE d.n (a int)", "", Spelling()) == (Created(N),)


def test_a_statement_in_the_servers_own_database_is_its_own_without_being_named_so() -> None:
    assert deeds(b"INSERT INTO user VALUES (1)", "mysql", Spelling()) == ()
    assert deeds(b"SELECT g()", "mysql", Spelling()) == (Logged("SELECT"),), "who knows what it wrote"


def test_the_rows_of_a_logged_insert_are_not_cut() -> None:
    rows = b",".join([b"('" + b"x" * 1000 + b"')"] * 1000)
    cut = pieces("INSERT INTO t VALUES " + rows.decode() + " 'unended", Spelling())
    assert [next(cut).text for _ in range(4)] == ["INSERT", "INTO", "t", "VALUES"]
    assert deeds(b"INSERT INTO t VALUES " + rows + b" 'unended", "d", Spelling()) == (Logged("INSERT"),)


def test_each_word_of_a_transaction_is_said_without_reading() -> None:
    assert deeds(b"BEGIN", "", Spelling()) == (Control(Word.BEGIN),)
