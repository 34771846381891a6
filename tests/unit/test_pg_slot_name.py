"""The slot of a pipeline that names none."""

import string

from hypothesis import assume, given
from hypothesis import strategies as st

from wrackline.producers.sources.postgres.connect.quoting import own_slot

NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=100)


def test_a_plain_name_is_in_the_slots() -> None:
    assert own_slot("shop") == "wrackline_shop"
    assert own_slot("shop_2") == "wrackline_shop_2"


@given(NAMES)
def test_it_is_a_name_that_the_server_takes(name: str) -> None:
    slot = own_slot(name)
    assert 0 < len(slot) <= 63
    assert set(slot) <= set(string.ascii_lowercase + string.digits + "_")


@given(NAMES, NAMES)
def test_two_pipelines_never_share_one(one: str, other: str) -> None:
    assume(one != other)
    assert own_slot(one) != own_slot(other)


def test_a_name_that_looks_like_one_with_a_checksum_is_distinguished_too() -> None:
    assert own_slot(own_slot("a-b").removeprefix("wrackline_")) != own_slot("a-b")


def test_names_that_differ_only_in_characters_that_a_slot_cannot_hold_are_distinguished() -> None:
    assert len({own_slot(name) for name in ("a-b", "a_b", "a.b", "A-B", "a" * 99, "a" * 98)}) == 6
