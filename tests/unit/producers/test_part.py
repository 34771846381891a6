"""What is counted of records on their way is what they come to, however they came."""

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.cutting.record_buffer import RecordBuffer

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
    part, later = RecordBuffer(), RecordBuffer()
    part.put_changes(changes, _TOPICS, tombstones=tombstones)
    part.put(("three", None, b"of our own"))
    later.put_rows(Halves(rows, tail), "one")
    later.put(("three", b"key", None))
    part.take_over(later)
    deleted = [key for _, op, key, _, _ in changes if op == "d" and key is not None]
    assert len(part.records) == len(changes) + len(rows) + 2 + (len(deleted) if tombstones else 0)
    assert part.size == sum(len(key or b"") + len(value or b"") for _, key, value, *_ in part.records)
    assert part.checksum == sum(crc32(value) for _, _, value, *_ in part.records if value is not None)


@given(_CHANGES)
def test_changes_are_counted_by_table_and_operation(
    changes: list[tuple[int, str, bytes | None, bytes, None]],
) -> None:
    counts = RecordBuffer().put_changes(changes, _TOPICS, tombstones=True)
    for (table, op), times in counts.items():
        assert times == sum(one[:2] == (table, op) for one in changes)
    assert sum(counts.values()) == len(changes)


def change(op: str, key: bytes, ordinal: int) -> tuple[int, str, bytes, bytes, None]:
    return (1, op, key, b"an event %08x" % ordinal, None)


def test_both_halves_of_a_changed_key_name_the_other_key() -> None:
    changes = [
        change("d", b"a", 1),
        change("c", b"a", 2),  # a row that was deleted and created again is no changed key
        change("d", b"a", 3),
        change("c", b"b", 3),
        change("c", b"c", 4),
    ]
    new, old = [("__debezium.newkey", b"b")], [("__debezium.oldkey", b"a")]
    part = RecordBuffer()
    part.put_changes(changes, _TOPICS, tombstones=True)
    assert [record[3:] for record in part.records] == [(), (), (), (new,), (new,), (old,), ()]
    alone = RecordBuffer()
    counts = alone.put_changes(changes, _TOPICS, tombstones=True, skipped={"d"})
    assert [record[1:2] + record[3:] for record in alone.records] == [(b"a",), (b"b", old), (b"c",)]
    assert counts == {(1, "c"): 3}


def test_only_the_row_directly_behind_a_delete_can_be_the_other_half_of_a_changed_key() -> None:
    part = RecordBuffer()
    changes = [change("d", b"a", 3), change("u", b"b", 4), change("c", b"c", 3)]
    part.put_changes(changes, _TOPICS, tombstones=False)
    assert [record[3:] for record in part.records] == [(), (), ()], "later rows are not compared"
