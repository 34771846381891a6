"""Packets of rows become slices, wherever the buffer ends and whatever a row's length."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow
from wrackline.producers.sources.mysql.chunks.slicing import MySqlSlicing
from wrackline.schemas.tables.table import TableId

TABLE = TableId("shop", "shop", "t")
END = b"\xfe\x00\x00\x02\x00"
ERROR = b"\xff\x25\x05#70100gone"
LONGEST = 0xFFFFFF


@dataclass
class AsItIs:
    def read(self, row: bytes) -> ChunkRow:
        return row[:3], row


def packets(rows: list[bytes], last: bytes = END) -> bytes:
    made = b""
    for number, row in enumerate([*(b"\0" + row for row in rows), last]):
        pieces = [row[at : at + LONGEST] for at in range(0, len(row) + 1, LONGEST)]
        made += b"".join(len(piece).to_bytes(3, "little") + bytes([number & 255]) + piece for piece in pieces)
    return made


def bound_of(row: bytes) -> Bound:
    return (str(len(row)),)


def request(most_rows: int = 1000, slice_rows: int = 1000, most_bytes: int = 1 << 30) -> ChunkRequest:
    return ChunkRequest(TABLE, ("a",), most_rows=most_rows, slice_rows=slice_rows, most_bytes=most_bytes)


def taken(slicing: MySqlSlicing, data: bytes, sizes: list[int]) -> int:
    """Give the data in pieces of these sizes, then the rest; return how far it was taken."""
    buffer, at = bytearray(data), 0
    for end in [*sizes, len(data)]:
        at = slicing.fill(buffer, at, max(at, min(end, len(data))))
    return at


ROWS = st.lists(st.binary(max_size=40), max_size=30)


@given(ROWS, st.lists(st.integers(0, 2000), max_size=20).map(sorted), st.integers(1, 7))
def test_rows_are_taken_wherever_the_buffer_ends(
    rows: list[bytes], sizes: list[int], slice_rows: int
) -> None:
    slicing = MySqlSlicing(AsItIs(), bound_of, request(slice_rows=slice_rows))
    data = packets(rows)
    assert taken(slicing, data, sizes) == len(data)
    assert slicing.last == END
    slices = slicing.end()
    assert [head for part in slices for _, head in part.rows] == [b"\0" + row for row in rows]
    assert all(len(part.rows) <= slice_rows for part in slices)
    assert [part.upto for part in slices] == [bound_of(part.rows[-1][1]) for part in slices]
    assert sum(part.size for part in slices) == sum(len(row) + 1 + len((b"\0" + row)[:3]) for row in rows)


@given(ROWS, st.integers(0, 30))
def test_a_row_too_many_is_left_and_the_end_is_not_one(rows: list[bytes], most_rows: int) -> None:
    slicing = MySqlSlicing(AsItIs(), bound_of, request(most_rows=most_rows))
    data = packets(rows)
    at = taken(slicing, data, [])
    assert slicing.count == min(most_rows, len(rows))
    assert slicing.full == (len(rows) > most_rows)
    following = MySqlSlicing(AsItIs(), bound_of, request())
    assert following.fill(bytearray(data), at, len(data)) == len(data)
    assert slicing.count + following.count == len(rows)


def test_the_row_that_fills_a_chunk_is_its_last() -> None:
    slicing = MySqlSlicing(AsItIs(), bound_of, request(most_bytes=30))
    taken(slicing, packets([b"x" * 9] * 9), [])
    assert (slicing.full, slicing.count, slicing.last) == (True, 3, None)


def test_rows_of_several_packets_are_joined_also_of_exactly_one() -> None:
    rows = [b"a" * (LONGEST - 1), b"b", b"c" * (2 * LONGEST + 5), b"d" * (LONGEST - 2), b"\xfe" * LONGEST]
    slicing = MySqlSlicing(AsItIs(), bound_of, request())
    data = packets(rows)
    assert taken(slicing, data, [LONGEST + 4, LONGEST + 8, 2 * LONGEST]) == len(data)
    assert [head[1:] for part in slicing.end() for _, head in part.rows] == rows


def test_the_error_that_ends_rows_is_kept() -> None:
    slicing = MySqlSlicing(AsItIs(), bound_of, request())
    taken(slicing, packets([b"x"], ERROR), [])
    assert (slicing.last, slicing.count) == (ERROR, 1)
