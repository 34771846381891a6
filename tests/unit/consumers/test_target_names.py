"""Names in a target: legal, stable, and never two in one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.contract.identifiers import Case, Identifiers, target_name, target_names
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TEXT = ColumnType(Kind.STRING, "text")
LOOSE = Identifiers(most_characters=63)


def table(*names: str) -> TableSchema:
    columns = tuple(Column(name, place, TEXT) for place, name in enumerate(names))
    return TableSchema(TableId("db", "public", "t"), columns)


@pytest.mark.parametrize(
    ("identifiers", "name", "expected"),
    [
        (LOOSE, "Größe in m²", "Größe in m²"),
        (replace(LOOSE, case=Case.LOWER), "OrderId", "orderid"),
        (replace(LOOSE, case=Case.UPPER), "OrderId", "ORDERID"),
        (replace(LOOSE, refused="[^A-Za-z0-9_]"), "a.b c", "a_b_c"),
    ],
)
def test_a_name_becomes_legal(identifiers: Identifiers, name: str, expected: str) -> None:
    assert target_name(name, identifiers) == expected


@given(st.text(min_size=1, max_size=90), st.sampled_from([None, 30]))
def test_no_name_is_too_long(name: str, most_bytes: int | None) -> None:
    made = target_name(name, Identifiers(most_characters=40, most_bytes=most_bytes))
    assert len(made) <= 40
    assert most_bytes is None or len(made.encode()) <= most_bytes


def test_a_cut_name_is_upper_case_throughout() -> None:
    """A service that keeps names in upper case is asked for them by text."""
    made = target_name("n" * 70, replace(LOOSE, case=Case.UPPER))
    assert (len(made), made) == (63, made.upper())


def test_long_names_that_begin_alike_stay_apart() -> None:
    first, second = "n" * 70 + "a", "n" * 70 + "b"
    names = target_names(table(first, second), LOOSE, reserved_prefix="_wl_")
    assert len(set(names.values())) == 2
    assert set(map(len, names.values())) == {63}


@pytest.mark.parametrize(
    "identifiers",
    [replace(LOOSE, case=Case.LOWER), replace(LOOSE, case_sensitive=False)],
)
def test_two_columns_in_one_are_refused(identifiers: Identifiers) -> None:
    assert target_names(table("a", "A"), LOOSE, reserved_prefix="_wl_") == {"a": "a", "A": "A"}
    with pytest.raises(OperatorNeeded) as caught:
        target_names(table("a", "A"), identifiers, reserved_prefix="_wl_")
    assert caught.value.code == "target.names_collide"
    assert "column.exclude.list = 'db.public.t.A'" in caught.value.hint


@pytest.mark.parametrize("name", ["_wl_seq", "_WL_other"])
def test_our_own_names_are_not_given_away(name: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        target_names(table(name), LOOSE, reserved_prefix="_wl_")
    assert caught.value.code == "target.name_reserved"
