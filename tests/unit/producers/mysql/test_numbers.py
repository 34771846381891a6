"""Integers in as few bytes as they need, as MySQL's documentation lays them out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.sources.mysql.events.packed_numbers import (
    packed_number,
    serialised_number,
    serialised_signed,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("00", 0),
        ("fa", 250),
        ("fcfb00", 251),
        ("fcffff", 65_535),
        ("fd000001", 65_536),
        ("fe0000000100000000", 1 << 24),
        ("feffffffffffffffff", (1 << 64) - 1),
    ],
)
def test_a_length_encoded_integer(text: str, number: int) -> None:
    data = b"\xff" + bytes.fromhex(text)
    assert packed_number(data + b"more", 1, len(data) + 4) == (number, len(data))
    if len(data) > 2:
        with pytest.raises(ValueError, match="not a length-encoded"):
            packed_number(data, 1, len(data) - 1)


@pytest.mark.parametrize("first", [251, 255])
def test_null_and_an_errors_first_byte_are_no_integers(first: int) -> None:
    with pytest.raises(ValueError, match="not a length-encoded"):
        packed_number(bytes([first, 1, 2, 3]), 0, 4)


@pytest.mark.parametrize(
    ("text", "number", "signed"),
    [
        ("00", 0, 0),
        ("02", 1, -1),
        ("fbff07", 65_535, -32_768),  # the documentation's own example
        ("f3ff0f", 131_070, 65_535),  # its signed ones
        ("ebff0f", 131_069, -65_535),
        ("fbff0f", 131_071, -65_536),
        ("ffffffffffffffffff", (1 << 64) - 1, -(1 << 63)),
        ("fffeffffffffffffff", (1 << 64) - 2, (1 << 63) - 1),
    ],
)
def test_a_serialised_integer(text: str, number: int, signed: int) -> None:
    data = bytes.fromhex(text)
    assert serialised_number(data + b"more", 0, len(data) + 4) == (number, len(data))
    assert serialised_signed(data, 0, len(data)) == (signed, len(data))


@given(st.integers(0, 8), st.data())
def test_a_serialised_integer_that_is_cut_is_refused(more: int, draw: st.DataObject) -> None:
    first = (1 << more) - 1
    rest = draw.draw(st.binary(max_size=more - 1)) if more else b""
    if more:
        with pytest.raises(ValueError, match="longer than its event"):
            serialised_number(bytes([first]) + rest, 0, 1 + len(rest))
    else:
        assert serialised_number(bytes([first]), 0, 1) == (0, 1)
