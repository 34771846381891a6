"""PostgreSQL's rarer text forms: what a property can't reach."""

import struct
import tracemalloc

import pytest

from wrackline.producers.sources.postgres.odd_cells import array_elements, nearest_single

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
