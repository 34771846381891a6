"""One table says what a server's errors mean, by number or by SQLSTATE, and which words are shown."""

import pytest

from wrackline.schemas.error_table import ErrorTable, first_match
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient

LOST = ErrorCode("x.lost", Transient, "{doing}: {reason}", "", frozenset({"doing", "reason"}))
RIGHT = ErrorCode("x.right", OperatorNeeded, "{doing}: {reason}", "", frozenset({"doing", "reason"}))
AGAIN = ErrorCode("x.again", OperatorNeeded, "{doing} ({state})", "", frozenset({"doing", "state"}))
BY_STATE = ErrorTable({AGAIN: ("42", "0A"), RIGHT: ("42501",)}, otherwise=LOST, shown=("42501", "53"))
BY_NUMBER = ErrorTable({RIGHT: (229, 230), AGAIN: {102}}, otherwise=LOST, shown=(229,), named="error {}")


@pytest.mark.parametrize(
    ("table", "state", "text"),
    [
        (BY_STATE, "42501", "read: the words"),  # before its class, whatever their order
        (BY_STATE, "42601", "read (42601)"),
        (BY_STATE, "53300", "read: the words"),
        (BY_STATE, "40001", "read: SQLSTATE 40001"),
        (BY_STATE, "", "read: the words"),
        (BY_NUMBER, 229, "read: the words"),
        (BY_NUMBER, 230, "read: error 230"),
        (BY_NUMBER, 102, "read (102)"),
        (BY_NUMBER, 1205, "read: error 1205"),
        (BY_NUMBER, 0, "read: the words"),
    ],
)
def test_an_error_says_what_it_is_and_shows_only_harmless_words(
    table: ErrorTable, state: str | int, text: str
) -> None:
    assert table.explain(state, "the words", doing="read", more="unused").sentence == text


def test_an_error_without_words_names_its_state() -> None:
    assert BY_NUMBER.explain(229, "", doing="read").sentence == "read: error 229"
    assert BY_STATE.explain("", None, doing="read").sentence == "read: the connection was lost"


def test_the_first_words_that_a_text_holds_decide() -> None:
    words = {"no such login": 1, "login": 2}
    assert [first_match(words, text) for text in ("no such login", "a login", "else")] == [1, 2, None]
