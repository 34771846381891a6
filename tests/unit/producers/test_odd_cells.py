"""PostgreSQL's rarer text forms: what a property can't reach."""

import struct
import tracemalloc

import pytest

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.postgres.rows.cells import avro_of
from wrackline.producers.sources.postgres.rows.odd_cells import array_elements, nearest_single
from wrackline.schemas.tables.types import ColumnType, Kind

MEGABYTE = 1 << 20


@pytest.mark.parametrize("element", ["tide cdef", 'ab\\"', "\\\\"], ids=["plain", "quotes", "backslashes"])
def test_a_large_element_takes_no_more_memory_than_a_few_copies_of_it(element: str) -> None:
    text = ('{"' + element * (MEGABYTE // len(element)) + '"}').encode()
    tracemalloc.start()
    try:
        array_elements(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5 * len(text)


@pytest.mark.parametrize(
    ("text", "element"),
    [(rb'"a\\\"b"', rb"a\"b"), (rb'"\\\\n"', rb"\\n"), (rb'"\"\\"', b'"\\')],
)
def test_escapes_in_a_row_are_read_from_the_left(text: bytes, element: bytes) -> None:
    assert array_elements(b"{" + text + b"}") == [element]


@pytest.mark.parametrize(
    ("text", "bits"),
    [(b"7.038531e-26", 0x15AE43FD), (b"1e-45", 1), (b"3.4028235e+38", 0x7F7FFFFF), (b"16777217", 0x4B800000)],
)
def test_a_single_is_rounded_once(text: bytes, bits: int) -> None:
    """The last lies half-way between two: the even one."""
    assert int.from_bytes(struct.pack(">f", nearest_single(text)), "big") == bits


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.DATE, b"9" * 8 + b"-01-15"),
        (Kind.DATE, b"9" * 30 + b"-01-15"),
        (Kind.DATE, b"00?4-01-15"),
        (Kind.TIMESTAMP_MICROS, b"9" * 30 + b"-01-15 07:55:01"),
        (Kind.TIMESTAMP_MICROS, b"2026-01-15 07:55:01.1234567"),
        (Kind.TIMESTAMP_MICROS, b"2026-01-15 07:55:01." + b"9" * 30),
        (Kind.TIME_MICROS, b"07:55:01." + b"9" * 30),
    ],
)
def test_a_year_or_a_fraction_with_more_digits_than_there_are_is_refused(kind: Kind, text: bytes) -> None:
    """No server writes them; their number would not fit 64 bits, and come out as another one."""
    with pytest.raises(Unfit, match="it is not"):
        avro_of(ColumnType(kind, "x"), text)


def test_the_last_year_and_the_last_microsecond_are_carried() -> None:
    assert avro_of(ColumnType(Kind.DATE, "date"), b"5874897-12-31") != avro_of(
        ColumnType(Kind.DATE, "date"), b"5874897-12-30"
    )
    first, last = (
        avro_of(ColumnType(Kind.TIME_MICROS, "time"), text) for text in (b"23:59:59", b"23:59:59.999999")
    )
    assert first != last
