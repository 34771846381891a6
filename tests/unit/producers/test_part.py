"""What is counted of records on their way is what they come to, however they came."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.chunks import Halves
from wrackline.producers.part import Part

_KEYS, _VALUES = st.none() | st.binary(max_size=9), st.binary(min_size=1, max_size=40)
_CHANGES = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from("cud"), _KEYS, _VALUES, st.none()), max_size=8
)
_ROWS = st.lists(st.tuples(_KEYS, _VALUES), max_size=5)
_TOPICS = {1: "one", 2: "two"}


@given(_CHANGES, _ROWS, _VALUES, st.booleans())
def test_bytes_and_checksum_are_those_of_the_records(
    changes: list[tuple[int, str, bytes | None, bytes, None]],
    rows: list[tuple[bytes | None, bytes]],
    tail: bytes,
    tombstones: bool,  # noqa: FBT001 - hypothesis gives it by position
) -> None:
    part, later = Part(), Part()
    part.put_changes(changes, _TOPICS, tombstones=tombstones)
    part.put(("three", None, b"of our own"))
    later.put_rows(Halves(rows, tail), "one")
    later.put(("three", b"key", None))
    part.take_over(later)
    deleted = [key for _, op, key, _, _ in changes if op == "d" and key is not None]
    assert len(part.records) == len(changes) + len(rows) + 2 + (len(deleted) if tombstones else 0)
    assert part.size == sum(len(key or b"") + len(value or b"") for _, key, value in part.records)
    assert part.checksum == sum(crc32(value) for _, _, value in part.records if value is not None)


@given(_CHANGES)
def test_changes_are_counted_by_table_and_operation(
    changes: list[tuple[int, str, bytes | None, bytes, None]],
) -> None:
    counts = Part().put_changes(changes, _TOPICS, tombstones=True)
    for (table, op), times in counts.items():
        assert times == sum(one[:2] == (table, op) for one in changes)
    assert sum(counts.values()) == len(changes)
