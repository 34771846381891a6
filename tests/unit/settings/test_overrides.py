"""Statements of one's own for a first read: what is let in, and what is refused, by name and place."""

import pytest

from tests.unit.settings.shop import GOOD, checked, codes
from wrackline.schemas.settings.overrides import LIST

NAME = f"{LIST}.public.orders"


def given(statement: str, listed: str = "public.orders") -> list[tuple[str, str]]:
    return codes(checked({**GOOD, LIST: listed, NAME: statement}))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM public.orders",
        "select * from orders where deleted = false",
        'SELECT * FROM shop."public".orders WHERE id BETWEEN 1 AND 9 OR note IS NULL',
        "  SELECT * FROM public.orders WHERE (a = 1 AND b IN ('x', 'y'))  ",
        "SELECT * FROM public.orders where delete_flag = 0 ORDER BY id DESC",
        'SELECT * FROM public.orders order by public.orders.id asc nulls first, "b" DESC, by',
    ],
)
def test_a_statement_that_can_be_taken_apart_is_taken(statement: str) -> None:
    assert given(statement) == []


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("DROP TABLE orders", 1),
        ("SELECT id FROM public.orders", 8),
        ("SELECT * FROM public.orders WHERE id = 1; DROP TABLE orders", 41),
        ("SELECT * FROM public.orders WHERE id = 1 -- or", 42),
        ("SELECT * FROM public.orders WHERE id = 1 OR pg_sleep(9) = 1", 53),
        ("SELECT * FROM public.orders WHERE id IN (SELECT 1)", 42),
        ("SELECT * FROM public.orders WHERE id = 1 ORDER id", 48),
        ("SELECT * FROM public.orders ORDER BY 1", 38),
        ("SELECT * FROM public.orders ORDER BY id, pg_sleep(9)", 50),
        ("SELECT * FROM public.orders ORDER BY id NULLS", 46),
        ("SELECT * FROM public.orders ORDER BY id LIMIT 5", 41),
        ("SELECT * FROM public.orders, secrets", 28),
        ("SELECT * FROM public.orders UNION SELECT * FROM secrets", 29),
        ("SELECT * FROM public.orders WHERE note = $$x$$", 42),
        ("SELECT * FROM public.orders WHERE note = E'\\''; SELECT 1", 46),
    ],
)
def test_a_statement_that_cannot_be_parsed_is_refused_by_its_place(statement: str, at: int) -> None:
    (problem,) = checked({**GOOD, LIST: "public.orders", NAME: statement}).problems
    assert (problem.setting, problem.error.code) == (NAME, "settings.invalid")
    assert f"at character {at}:" in problem.error.sentence
    assert "secrets" not in problem.error.sentence


def test_what_does_not_fit_together_is_refused() -> None:
    assert given("SELECT * FROM gifts") == [(NAME, "override.another_table")]
    assert given("SELECT * FROM other.orders") == [(NAME, "override.another_table")]
    assert given("SELECT * FROM orders", "public.gifts") == [
        (LIST, "override.without_statement"),
        (NAME, "override.unlisted"),
    ]


@pytest.mark.parametrize(
    ("mode", "says"),
    [("recovery", "choose initial"), ("schema_only_recovery", "choose initial"), ("custom", "Python worker")],
)
def test_a_mode_that_is_not_possible_is_refused_with_what_to_do(mode: str, says: str) -> None:
    (problem,) = checked({**GOOD, "snapshot.mode": mode}).problems
    assert not problem.warning
    assert says in problem.error.sentence
