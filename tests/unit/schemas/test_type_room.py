"""Which types keep the values of which, of those that one carrier serves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.tables.type_compatibility import keeps_sign, keeps_values

KEEP = [
    ("datetime", "datetime(6)"),
    ("datetime(3)", "datetime(6)"),
    ("time(2)", "time(2)"),
    ("timestamp(3) without time zone", "timestamp without time zone"),
    ("varchar(10)", "varchar(20)"),
    ("char(10)", "varchar(10)"),
    ("character varying(10)", "text"),
    ("character varying(10)", "character varying"),
    ("text", "character varying"),
    ("varbinary(4)", "varbinary(8)"),
    ("tinyint", "smallint"),
    ("tinyint unsigned", "smallint"),
    ("smallint unsigned", "mediumint"),
    ("mediumint", "int"),
    ("int unsigned", "bigint"),
    ("bit(4)", "bit(4)"),
]
CHANGE = [
    ("datetime(6)", "datetime"),
    ("datetime(6)", "datetime(3)"),
    ("timestamp(1)", "timestamp"),
    ("timestamp without time zone", "timestamp(3) without time zone"),
    ("timestamp(6) without time zone", "timestamp(3) without time zone"),
    ("varchar(10)", "varchar(3)"),
    ("varchar(10)", "char(10)"),
    ("character varying", "character varying(10)"),
    ("character(3)", "character(5)"),
    ("character(3)", "text"),
    ("text", "character varying(10)"),
    ("binary(3)", "binary(5)"),
    ("varbinary(3)", "binary(5)"),
    ("bit(4)", "bit(8)"),
    ("smallint", "tinyint"),
    ("int", "mediumint"),
    ("mediumint", "mediumint unsigned"),
    ("inet4", "inet6"),
    ("public.one", "public.other"),
    ("decimal(10,2)", "decimal(10,2) unsigned"),
]


@pytest.mark.parametrize(("old", "new"), KEEP)
def test_a_type_with_room_keeps_the_values(old: str, new: str) -> None:
    assert keeps_values(old, new)
    assert keeps_values(old, old)


@pytest.mark.parametrize(("old", "new"), CHANGE)
def test_a_type_without_room_or_of_which_nothing_is_known_may_change_them(old: str, new: str) -> None:
    assert not keeps_values(old, new)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("int", "bigint", True),
        ("int", "int unsigned", False),
        ("int unsigned", "decimal(10,0) unsigned", True),
        ("int unsigned", "decimal(10,0)", True),
        ("decimal(4,2)", "decimal(6,2) unsigned", False),
    ],
)
def test_a_type_without_a_sign_may_change_what_is_below_zero(old: str, new: str, *, kept: bool) -> None:
    assert keeps_sign(old, new) is kept


@given(st.text(), st.text())
def test_any_words_have_an_answer(old: str, new: str) -> None:
    assert keeps_values(old, new) in {True, False}
    assert keeps_values(old, old)
