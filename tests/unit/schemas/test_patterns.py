"""Table patterns: names, anchored patterns, and none that can hang a worker."""

import re

import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.language.patterns import compile_pattern, exact_pattern, resolve
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("shop", "public", "orders")
ITEMS = TableId("shop", "public", "items")
LOUD = TableId("shop", "public", "Orders")
DOTTED = TableId("shop", "my.schema", "a b")
DOLLAR = TableId("shop", "public", "tmp$old")
TABLES = [ORDERS, ITEMS, LOUD, DOTTED, DOLLAR]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("public.orders", [ORDERS]),
        ("shop.public.orders", [ORDERS]),
        ("public.Orders", [LOUD]),
        ("PUBLIC.ORDERS", [LOUD, ORDERS]),
        (r"public\.orders", [LOUD, ORDERS]),
        (r"public\..*", [LOUD, ITEMS, ORDERS, DOLLAR]),
        (r"public\.(orders|items)", [LOUD, ITEMS, ORDERS]),
        (r"public\.(?:o|i)\w{4,5}", [LOUD, ITEMS, ORDERS]),
        (r"public\.[^o].*", [ITEMS, DOLLAR]),
        (r"public\.[a-i\d]tems?", [ITEMS]),
        (r".*\.items", [ITEMS]),
        (r"public\.it.{2}s", [ITEMS]),
        (r".*?items", [ITEMS]),
        ("orders", []),
        ("public", []),
        (r"public\.order", []),
        (r"ublic\.orders", []),
        ('"my.schema"."a b"', [DOTTED]),
        ('"shop"."my.schema"."a b"', [DOTTED]),
        ("my.schema.a b", [DOTTED]),
        ('"public"."Orders"', [LOUD]),
        ('"public"."ORDERS"', []),
        ("public.tmp$old", [DOLLAR]),
    ],
)
def test_a_pattern_means_whole_names(text: str, tables: list[TableId]) -> None:
    assert list(resolve(compile_pattern(text), TABLES)) == tables


REFUSED = [
    "",
    "(",
    ")",
    "()",
    "a|",
    "|a",
    "(a|)b",
    "(a",
    "a)",
    "[",
    "[]",
    "[^]",
    "[a",
    "[z-a]",
    "[a[b]]",
    "[a&&b]",
    "a\\",
    r"\b",
    r"\1",
    r"\p{L}",
    r"\Qa\E",
    "*a",
    "+",
    "?",
    "a**",
    "a++",
    "a{3,1}",
    "a{65}",
    "a{1,999}",
    "{1}",
    "a}",
    "(a+)+b",
    "(a*)*b",
    "((a|b)*c)*",
    "(a|a?)+",
    "(?=a)",
    "(?!a)",
    "(?<=a)b",
    "(?i)a",
    "(?P<n>a)",
    "^public.orders$",
    "a" * 513,
    "(" * 40 + "a" + ")" * 40,
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(Definite) as caught:
        compile_pattern(text)
    assert caught.value.code == "pattern.refused"


@pytest.mark.parametrize("text", ["(a|a)" * 100 + "b", "a?" * 120 + "a{64}", "(.|a|.)*" * 60 + "b"])
def test_what_would_hang_a_backtracking_matcher_is_answered(text: str) -> None:
    assert not compile_pattern(text).matches_name("a" * 190 + "!")


def test_equal_texts_are_equal_patterns() -> None:
    assert compile_pattern("a.*") == compile_pattern("a.*")
    assert compile_pattern("a.*") != compile_pattern("A.*")


@pytest.mark.parametrize("name", ["a.b", "a$b", 'say "x"', "a\\b", "x^y", "[1]", "a,b", "Größe &", "{2}*"])
def test_a_written_name_means_itself_and_not_the_name_that_a_dot_would_mean_too(name: str) -> None:
    written = exact_pattern("public", name)
    tables = [TableId("shop", "public", name), TableId("shop", "public", name.replace(".", "_") + "x")]
    assert list(resolve(compile_pattern(written), tables)) == tables[:1]
    assert re.fullmatch(written, f"public.{name}")
    assert not re.fullmatch(exact_pattern("public", "a.b"), "public.a_b")
    assert not set(written) & set(",\"\\'")
