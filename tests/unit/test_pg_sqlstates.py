"""Whose each of the server's errors is, and that a row's value is in none of them."""

import pytest

from wrackline.producers.sources.postgres.connect.server_errors import explain
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId

CANARY = "kanarienvogel"
ODD = TableId("shop", 'odd "schema', "weird Name")

WE = {
    None: "pg.server_lost",
    "08006": "pg.server_lost",
    "25P03": "pg.server_lost",
    "40001": "pg.server_lost",
    "40P01": "pg.server_lost",
    "53100": "pg.server_lost",
    "53300": "pg.server_lost",
    "55P03": "pg.server_lost",
    "57P01": "pg.server_lost",
    "57P02": "pg.server_lost",
    "57P03": "pg.server_lost",
    "58030": "pg.server_lost",
    "XX000": "pg.server_lost",
    "P0001": "pg.server_lost",
}
AN_OPERATOR = {
    "22021": "pg.value_refused",
    "22P02": "pg.value_refused",
    "22P05": "pg.value_refused",
    "22003": "pg.value_refused",
    "42501": "pg.right_missing",
    "42P01": "pg.object_missing",
    "3F000": "pg.object_missing",
    "3D000": "pg.object_missing",
    "57P04": "pg.object_missing",
    "57014": "pg.statement_ended",
    "42703": "pg.statement_refused",
    "42883": "pg.statement_refused",
    "0A000": "pg.statement_refused",
    "XX001": "pg.statement_refused",
    "XX002": "pg.statement_refused",
}


def error(state: str | None, words: str = "the words") -> WracklineError:
    return explain(state, words, "read it", "reader", ODD)


@pytest.mark.parametrize(("state", "code"), WE.items())
def test_what_passes_is_tried_again(state: str | None, code: str) -> None:
    made = error(state)
    assert (type(made), made.code) == (Transient, code)


@pytest.mark.parametrize(("state", "code"), AN_OPERATOR.items())
def test_an_error_that_would_happen_again_needs_an_operator(state: str, code: str) -> None:
    made = error(state)
    assert (type(made), made.code) == (OperatorNeeded, code)


@pytest.mark.parametrize("state", ["22021", "22P02", "23505", "42601", "42883", "P0001", "XX000", "XX001"])
def test_words_that_can_quote_a_value_are_not_shown(state: str) -> None:
    made = error(state, f"invalid input syntax for type integer: {CANARY}")
    assert CANARY not in str(made)
    assert state in made.sentence


def test_words_that_name_objects_are_shown_and_the_grant_fits_odd_names() -> None:
    made = error("42501", "permission denied for table weird Name")
    assert "permission denied for table weird Name" in made.sentence
    assert 'GRANT USAGE ON SCHEMA "odd ""schema" TO "reader"' in made.hint
    assert 'GRANT SELECT ON "odd ""schema"."weird Name" TO "reader"' in made.hint
