"""A key's value as a cell, as the text that is saved and as the literal that is compared."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.mysql.chunks.key_values import MySqlKeyColumn, cells
from wrackline.producers.sources.mysql.connect.statement_rows import ResultColumn
from wrackline.producers.sources.mysql.discover.types import parse

UNSIGNED = 32


def column(written: str) -> MySqlKeyColumn:
    return MySqlKeyColumn("k", parse(written), nullable=False)


def result(wire: int, flags: int = 0) -> ResultColumn:
    return ResultColumn("k", wire, 45, 0, flags, 0)


@pytest.mark.parametrize(
    ("written", "wire", "flags", "cell", "text", "literal"),
    [
        ("tinyint", 1, 0, b"\xff", "-1", "-1"),
        ("tinyint unsigned", 1, UNSIGNED, b"\xff", "255", "255"),
        ("mediumint", 9, 0, b"\x00\x00\x80\xff", "-8388608", "-8388608"),
        ("bigint unsigned", 8, UNSIGNED, b"\xff" * 8, f"{2**64 - 1}", f"{2**64 - 1}"),
        ("year", 13, UNSIGNED, b"\x6b\x08", "2155", "2155"),
        ("bit(9)", 16, UNSIGNED, b"\x01\x02", "258", "258"),
        ("decimal(65,30)", 246, 0, b"-0.10", "-0.10", "-0.10"),
        ("float", 4, 0, struct.pack("<f", 0.1), "0.10000000149011612", "0.10000000149011612e0"),
        ("double", 5, 0, struct.pack("<d", 1e300), "1e+300", "1e+300"),
        ("date", 10, 0, b"", "0000-00-00", "'0000-00-00'"),
        ("date", 10, 0, b"\xea\x07\x00\x1f", "2026-00-31", "'2026-00-31'"),
        ("datetime(6)", 12, 0, b"\xea\x07\x01\x02", "2026-01-02 00:00:00", "'2026-01-02 00:00:00'"),
        (
            "timestamp(6)",
            7,
            0,
            b"\xea\x07\x01\x02\x03\x04\x05\x06\x00\x00\x00",
            "2026-01-02 03:04:05.000006",
            "'2026-01-02 03:04:05.000006'",
        ),
        ("time", 11, 0, b"", "00:00:00", "'00:00:00'"),
        ("time(6)", 11, 0, b"\x01\x22\x00\x00\x00\x16\x3b\x3b\x01\x00\x00\x00", "-838:59:59.000001", None),
        ("varchar(9)", 253, 0, "it's é".encode(), "it's é", "_utf8mb4 X'6974277320c3a9'"),
        ("varbinary(9)", 253, 0, b"\x00'", "0x0027", "X'0027'"),
        ("enum('b','a')", 254, 0, b"a", "a", "2"),
        ("enum('b','a')", 254, 0, b"", "", "0"),
        ("set('b','a','c')", 254, 0, b"b,c", "b,c", "5"),
        ("set('b','a')", 254, 0, b"", "", "0"),
        ("inet6", 254, 0, b"::1", "::1", "'::1'"),
    ],
)
def test_a_cell_its_text_and_its_literal(
    written: str, wire: int, flags: int, cell: bytes, text: str, literal: str | None
) -> None:
    key = column(written)
    assert key.text(cell, result(wire, flags)) == text
    assert key.text(None, result(wire, flags)) is None
    assert key.literal(text) == (literal or f"'{text}'")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("int", "1 OR 1"),
        ("int", "1e3"),
        ("int", "\uff11"),
        ("decimal(9,2)", "nan"),
        ("float", "nan"),
        ("double", "inf"),
        ("float", "1e99"),
        ("date", "2026-01-01' OR '1"),
        ("date", "2026-01-01\n"),
        ("time", "now"),
        ("uuid", "'"),
        ("enum('a','b')", "c"),
        ("set('a','b')", "a,c"),
    ],
)
def test_a_text_that_is_no_value_is_refused(written: str, text: str) -> None:
    with pytest.raises(KeyValueError):
        column(written).literal(text)


@given(st.text(), st.sampled_from(["varchar(9)", "char(9)", "varbinary(9)", "longtext", "json", "xmltype"]))
def test_no_text_leaves_its_literal(text: str, written: str) -> None:
    """A-SQL-02."""
    literal = column(written).literal(text)
    assert literal.partition("X'")[0] in {"", "_utf8mb4 "}
    inside = literal.partition("X'")[2]
    assert inside.endswith("'")
    assert all(digit in "0123456789abcdefABCDEF" for digit in inside[:-1])


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_single_float_means_itself(number: float) -> None:
    key = column("float")
    text = key.text(struct.pack("<f", number), result(4))
    assert text is not None
    assert float(text) == number
    assert float(key.literal(text)) == number


@given(st.lists(st.none() | st.binary(max_size=300), min_size=1, max_size=40), st.integers(0, 2**31 - 1))
def test_a_row_comes_apart_as_it_was_put_together(values: list[bytes | None], number: int) -> None:
    columns = (*(result(253) for _ in values), result(3))
    assert cells(packet([*values, number.to_bytes(4, "little")], fixed=len(values)), columns) == [
        *values,
        number.to_bytes(4, "little"),
    ]


def packet(values: list[bytes | None], fixed: int) -> bytes:
    """A row's packet; the cell at `fixed` has no length of its own."""
    nulls = bytearray((len(values) + 9) // 8)
    body = b""
    for place, value in enumerate(values):
        if value is None:
            nulls[(place + 2) // 8] |= 1 << (place + 2) % 8
        elif place == fixed:
            body += value
        else:
            size = bytes([len(value)]) if len(value) < 251 else b"\xfc" + len(value).to_bytes(2, "little")
            body += size + value
    return b"\0" + bytes(nulls) + body
