"""Include and exclude lists, and which rule a column falls under."""

import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.language.masks import HashMask, StarsMask, TruncateMask
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("shop", "public", "orders")
AUDIT = TableId("shop", "private", "audit")
MIXED = TableId("shop", "Public", "Orders")
TABLES = (ORDERS, AUDIT, MIXED)
SALT = "pepper.and.salt"


@pytest.mark.parametrize(
    ("values", "captured"),
    [
        ({}, TABLES),
        ({"schema.include.list": None, "table.exclude.list": None}, TABLES),
        ({"schema.include.list": ("private",)}, (AUDIT,)),
        ({"schema.exclude.list": ("priv.*",)}, (ORDERS, MIXED)),
        ({"schema.include.list": ("priv",)}, ()),  # anchored
        ({"table.include.list": (r"public\.orders",)}, (ORDERS, MIXED)),  # letters in either case
        ({"table.include.list": ("shop.private.audit", "nothing")}, (AUDIT,)),
        ({"table.include.list": ("orders",)}, ()),  # a table has its schema's name before it
        ({"table.exclude.list": (".*",)}, ()),
        ({"table.include.list": (".*",), "schema.exclude.list": ("public",)}, (AUDIT,)),
        ({"table.include.list": (r"^(?!private\.).*orders$",)}, (ORDERS, MIXED)),  # the library's notation
    ],
)
def test_a_table_is_copied_when_every_list_lets_it(
    values: dict[str, tuple[str, ...] | None], captured: tuple[TableId, ...]
) -> None:
    found = TableFilter.of(values)
    assert tuple(table for table in TABLES if found.captures(table)) == captured


def test_a_pattern_that_means_nothing_is_named() -> None:
    found = TableFilter.of(
        {"schema.include.list": ("public", "pubic"), "table.exclude.list": ("public.order", "public.orders")}
    )
    said = [finding.description for finding in found.findings(TABLES)]
    assert len(said) == 2
    assert "schema.include.list has the pattern pubic" in said[0]
    assert "table.exclude.list has the pattern public.order," in said[1]


def test_columns_are_left_out_by_either_list() -> None:
    rules = ColumnRules.of({"column.exclude.list": (r"public\.orders\.(ssn|pin)",)})
    assert rules.drops(ORDERS, "ssn")
    assert rules.drops(ORDERS, "SSN")
    assert not rules.drops(ORDERS, "ssn2")
    assert not rules.drops(AUDIT, "ssn")
    only = ColumnRules.of({"column.include.list": ("shop.public.orders.id", "public.orders.name")})
    assert [name for name in ("id", "name", "ssn") if not only.drops(ORDERS, name)] == ["id", "name"]


def test_what_hides_most_wins() -> None:
    values = {
        "column.truncate.to.9.chars": ("public.orders.a",),
        "column.truncate.to.3.chars": ("public.orders.a",),
        f"column.mask.hash.v2.SHA-256.with.salt.{SALT}": ("public.orders.b",),
        "column.truncate.to.2.chars": ("public.orders.b",),
        f"column.mask.hash.MD5.with.salt.{SALT}": ("public.orders.c",),
        "column.mask.with.4.chars": ("public.orders.c",),
    }
    rules = ColumnRules.of(values)
    assert rules.mask(ORDERS, "a") == TruncateMask(3)
    assert rules.mask(ORDERS, "b") == HashMask("sha256", SALT.encode(), 2)
    assert rules.mask(ORDERS, "c") == StarsMask(4)
    assert rules.mask(ORDERS, "d") is None
    assert ColumnRules.of(dict(reversed(values.items()))).mask(ORDERS, "c") == StarsMask(4)
    assert SALT not in repr(rules)


def test_what_is_hidden_need_not_be_understood() -> None:
    rules = ColumnRules.of(
        {
            "column.as.text": ("public.orders.a",),
            "column.exclude.list": ("public.orders.b",),
            "column.mask.with.4.chars": ("public.orders.c",),
            "column.truncate.to.4.chars": ("public.orders.d",),
        }
    )
    assert [name for name in "abcde" if rules.as_text(ORDERS, name)] == ["a", "b", "c"]


def test_keys_come_in_the_order_that_they_are_written_in() -> None:
    """T-W04."""
    rules = ColumnRules.of({"message.key.columns": r"public.orders:b, a;(.*)\.orders:c,a;"})
    assert rules.key(ORDERS) == ("b", "a", "c")
    assert rules.key(AUDIT) == ()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (f"column.mask.hash.v2.SHA-257.with.salt.{SALT}", "mask.algorithm_unknown"),
        (f"column.mask.hash.rot13.with.salt.{SALT}", "mask.algorithm_unknown"),
        ("column.truncate.to.0.chars", "mask.length_refused"),
        ("column.mask.with.10001.chars", "mask.length_refused"),
    ],
)
def test_a_mask_that_there_is_not_is_refused(name: str, code: str) -> None:
    with pytest.raises(Definite) as caught:
        ColumnRules.of({name: ("public.orders.a",)})
    assert caught.value.code == code
    assert SALT not in str(caught.value)
