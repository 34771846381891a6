"""The filter grammar: what it reads, and the corpus of what it must not."""

from decimal import Decimal

import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.language.conditions import (
    And,
    Between,
    ColumnName,
    Comparison,
    Condition,
    In,
    Like,
    Null,
    Or,
    Select,
    columns,
    parse,
    parse_select,
)

COLOR, SIZE = ColumnName("color"), ColumnName("size")
BLUE = Comparison(COLOR, "=", "blue")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("color='blue'", BLUE),
        ("  color  =\n'blue'\t", BLUE),
        ("size <> 3", Comparison(SIZE, "<>", Decimal(3))),
        ("size<=-1.50", Comparison(SIZE, "<=", Decimal("-1.50"))),
        ("size>=1e3", Comparison(SIZE, ">=", Decimal("1e3"))),
        ("size < 9223372036854775808", Comparison(SIZE, "<", Decimal(2**63))),
        ("size > 0", Comparison(SIZE, ">", Decimal(0))),
        ("color = ''", Comparison(COLOR, "=", "")),
        ("color = 'it''s -- not; /* a comment */'", Comparison(COLOR, "=", "it's -- not; /* a comment */")),
        (r"color = 'a\'", Comparison(COLOR, "=", "a\\")),
        ("color = '😀'", Comparison(COLOR, "=", "😀")),
        ("ok = true", Comparison(ColumnName("ok"), "=", literal=True)),
        ("ok = FALSE", Comparison(ColumnName("ok"), "=", literal=False)),
        ("size in (1, 2,3)", In(SIZE, (Decimal(1), Decimal(2), Decimal(3)))),
        ("color IN ('a', NULL)", In(COLOR, ("a", None))),
        ("color IS NULL", Null(COLOR, negated=False)),
        ("color is not null", Null(COLOR, negated=True)),
        ("color LIKE 'b%'", Like(COLOR, "b%")),
        ("size BETWEEN 1 AND 3 AND color='blue'", And((Between(SIZE, Decimal(1), Decimal(3)), BLUE))),
        ('"Größe ""x"" (cm)" = 1', Comparison(ColumnName('Größe "x" (cm)', quoted=True), "=", Decimal(1))),
        ("`order` = 1", Comparison(ColumnName("order", quoted=True), "=", Decimal(1))),
        ('"and" = 1', Comparison(ColumnName("and", quoted=True), "=", Decimal(1))),
        ("((color='blue'))", BLUE),
        ("color='blue' OR size>0 AND ok=true",
         Or((BLUE, And((Comparison(SIZE, ">", Decimal(0)), Comparison(ColumnName("ok"), "=", True)))))),
        ("(color='blue' OR size>0) AND color='blue'",
         And((Or((BLUE, Comparison(SIZE, ">", Decimal(0)))), BLUE))),
    ],
)  # fmt: skip
def test_the_grammar_is_read(text: str, condition: Condition) -> None:
    assert parse(text) == condition


# What an attacker might write into a signal to make it do more, or what looks right and is not.
REFUSED = [
    "",
    "   ",
    "color",
    "color =",
    "= 'blue'",
    "'blue' = color",
    "1 = 1",
    "TRUE",
    "color = 'blue' OR 1=1",
    "color = 'blue'; DROP TABLE orders",
    "color = 'blue';",
    "color = 'blue' -- and so on",
    "color = 'blue' # and so on",
    "color = /* */ 'blue'",
    "color = 'blue' /*!50000 OR 1=1 */",
    "color = 'blue",
    "color = 'blue''",
    "color = blue'",
    'color = "blue"',
    r"color = 'a\' OR 1=1 --'",
    "color = 'a' 'b'",
    "color = 'a' || 'b'",
    "color = E'a'",
    "color = U&'a'",
    "color = $$a$$",
    "color = N'a'",
    "color = x'41'",
    "color = 0x41",
    "color = other_column",
    "color = (SELECT password FROM users)",
    "color IN (SELECT 1)",
    "EXISTS (SELECT 1)",
    "color = 'a' UNION SELECT 1",
    "pg_sleep(10)",
    "color = pg_sleep(10)",
    "lower(color) = 'a'",
    "size + 1 = 2",
    "size = 1 + 1",
    "size = - 1",
    "size = +1",
    "size = 1.",
    "size = .5",
    "size = 1_000",
    "size = 1e9999",
    "size = 1a",
    "size = 1OR size = 2",
    "size = \u0661",  # an Arabic digit
    "size::text = '1'",
    "size = '1'::int",
    "CAST(size AS text) = '1'",
    "orders.size = 1",
    "NOT size = 1",
    "size NOT IN (1)",
    "size IN ()",
    "size IN (1,)",
    "size IN 1",
    "size = NULL",
    "size <> NULL",
    "size IS TRUE",
    "size IS NOT 1",
    "size LIKE 1",
    "size LIKE NULL",
    "color LIKE 'a' ESCAPE 'b'",
    "color SIMILAR TO 'a'",
    "color ~ 'a'",
    "size != 1",
    "size == 1",
    "size BETWEEN 1",
    "size BETWEEN 1 OR 2",
    "size BETWEEN NULL AND 2",
    "(size = 1",
    "size = 1)",
    "()",
    "size = 1 AND",
    "AND size = 1",
    "size = 1 size = 2",
    "size = 1 XOR size = 2",
    "select = 1",
    "c\u043elor = 'blue'",  # a Cyrillic letter
    "color\u200b = 'blue'",
    "color\u00a0= 'blue'",
    "color \uff1d 'blue'",  # a full-width =
    "color = \u2018blue\u2019",
    "color = 'a\0b'",
    '"" = 1',
    '"color = 1',
    '"co\nlor" = 1',
    "@@version = 1",
    "$1 = 1",
    ":name = 1",
    "? = 1",
    "(" * 40 + "size = 1" + ")" * 40,
    "(" * 4000,
    "size = 1 OR " * 400 + "size = 1",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(Definite) as caught:
        parse(text)
    assert caught.value.code == "condition.refused"


def test_a_refusal_shows_nothing_of_the_text() -> None:
    with pytest.raises(Definite) as caught:
        parse("card = '4929-canary' OR 4929")
    assert "4929" not in str(caught.value)
    assert "character 25" in caught.value.sentence


def test_the_columns_are_known_without_the_database() -> None:
    condition = parse("""color='a' AND (size>1 OR "Size" IS NULL)""")
    assert columns(condition) == {COLOR, SIZE, ColumnName("Size", quoted=True)}


@pytest.mark.parametrize(
    ("text", "select"),
    [
        ("SELECT * FROM orders", Select(("orders",), None)),
        ("select * from public.orders where color='blue'", Select(("public", "orders"), BLUE)),
        ('SELECT * FROM "my db"."a.b" WHERE color=\'blue\'', Select(("my db", "a.b"), BLUE)),
    ],
)
def test_a_whole_select_of_one_table_is_read(text: str, select: Select) -> None:
    assert parse_select(text) == select


@pytest.mark.parametrize(
    "text",
    [
        "color='blue'",
        "SELECT id FROM orders",
        "SELECT *, 1 FROM orders",
        "SELECT * FROM orders, users",
        "SELECT * FROM orders o",
        "SELECT * FROM orders WHERE",
        "SELECT * FROM orders WHERE color='blue' LIMIT 5",
        "SELECT * FROM orders WHERE color='blue' FOR UPDATE",
        "SELECT * FROM (SELECT 1)",
        "SELECT * FROM orders; DELETE FROM orders",
        "DELETE FROM orders",
        "SELECT * FROM orders.",
        "SELECT * FROM f()",
    ],
)
def test_any_other_statement_is_refused(text: str) -> None:
    with pytest.raises(Definite):
        parse_select(text)
