"""Cells of bytes that no value has, beside those that have the outermost ones."""

import struct

import pytest

from tests.unit.producers.sqlserver.test_cell_values import JAPANESE, UTF8, day, number
from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.sqlserver.discover.types import WireType, column_type, of_wire
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of, text_of


@pytest.mark.parametrize(
    ("wire", "cell", "reason"),
    [
        (WireType(0xE7, 20), b"\x3d\xd8", "half of a surrogate pair"),
        (WireType(0xE7, 20), b"a", "half of a surrogate pair"),
        (WireType(0xA7, 20, collation=JAPANESE), b"\x81", "no character"),
        (WireType(0xA7, 20, collation=UTF8), b"\xff", "no character"),
        (WireType(0x62, 8009), b"\x38", "not a sql_variant"),
        (WireType(0x62, 8009), b"\xe7\x07\x00", "not a sql_variant"),
        (WireType(0x62, 8009), b"\x62\x00\x38\x00" + bytes(4), "not a sql_variant"),
        *(
            (WireType(0x62, 8009), bytes([token, 1, 39]) + bytes(10), "a scale that no type has")
            for token in (0x29, 0x2A, 0x2B)
        ),
        *(
            (WireType(0x62, 8009), bytes([token, 2, 38, 39]) + bytes(17), "a scale that no type has")
            for token in (0x6A, 0x6C)
        ),
        (WireType(0x29, scale=0), number(86_400, 3), "not a time"),
        (WireType(0x2A, scale=0), number(86_400, 3) + day(2026, 1, 2), "not a moment"),
        (WireType(0x2A, scale=0), bytes(3) + number(3_652_059, 3), "not a moment"),
        (WireType(0x6F, 8), struct.pack("<iI", -693_596, 0), "not a moment"),
        (WireType(0x2B, scale=0), bytes(3) + day(2026, 1, 2) + number(841, 2), "not a moment"),
        (WireType(0x2B, scale=0), bytes(3) + day(2026, 1, 2) + number(-841, 2), "not a moment"),
    ],
)
def test_a_value_that_no_type_has_is_never_written_as_a_similar_one(
    wire: WireType, cell: bytes, reason: str
) -> None:
    kind = column_type(of_wire(wire), column="c")
    with pytest.raises(Unfit, match=reason):
        reader_of(wire, kind)(cell)


@pytest.mark.parametrize(
    ("wire", "cell", "text"),
    [
        (WireType(0x29, scale=0), number(86_399, 3), "23:59:59"),
        (WireType(0x2A, scale=0), number(86_399, 3) + number(3_652_058, 3), "9999-12-31 23:59:59"),
        (WireType(0x6F, 8), struct.pack("<iI", -693_595, 1), "0001-01-01 00:00:00.003"),
        (WireType(0x2B, scale=7), number(863_999_999_999, 5) + day(2026, 1, 2) + number(-840, 2),
         "2026-01-02 09:59:59.9999999 -14:00"),
    ],
)  # fmt: skip
def test_the_outermost_moments_are_written_whole(wire: WireType, cell: bytes, text: str) -> None:
    assert text_of(wire, cell) == text
