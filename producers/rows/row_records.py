"""Row changes as Kafka records, a tombstone behind each delete, and how many there were of each kind.

    (ref, op, key, value, …)  ->  (topic, key, value) [(topic, key, None)]
    d and c of a changed key  ->  (topic, key, value, headers): Debezium's, each names the other's key

Both halves of a changed key have the same ordinal, which is the end of their values; no other two changes do.
The create comes directly after the delete.

Also returned are their bytes and their checksum, the sum of the values' CRC32, which needs no order.
Compiled where there is a C compiler, because this is done to every row; plain Python elsewhere.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias
from zlib import crc32

import cython

from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import RowChange
from wrackline.schemas.tables.seq import same_ordinal

Record: TypeAlias = tuple[str, bytes | None, bytes | None]  # topic, key, value
Headed: TypeAlias = tuple[str, bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]  # headers

_NEW_KEY = "__debezium.newkey"  # of the delete and its tombstone
_OLD_KEY = "__debezium.oldkey"  # of the create


def put_records(
    rows: Iterable[RowChange],
    topics: Mapping[int, str],
    records: list[Record | Headed],
    *,
    tombstones: bool,
    skipped: Collection[str] = (),
) -> tuple[int, int, dict[tuple[int, str], int]]:
    """Append the records of the operations that are not skipped.

    Return their bytes, their checksum, and the rows by table's ref and operation.
    """
    size: cython.Py_ssize_t = 0
    checksum: cython.ulonglong = 0
    one: cython.ulonglong
    run: cython.Py_ssize_t = 0  # rows of one table and operation, mostly many: they are counted at once
    counts: dict[tuple[int, str], int] = {}
    gone: RowChange | None = None  # the previous row, if it is a delete
    old: bytes | None
    since: cython.Py_ssize_t = 0  # where its records begin
    table, what, topic = -1, "", ""
    for row in rows:
        ref, op, key, value, _ = row
        old = None
        if gone is not None:
            old = _old_key(gone, row, records, since)
            gone = None
        if op == "d":
            gone, since = row, len(records)
        if skipped and op in skipped:
            continue
        if ref != table or op != what:
            if run:
                counts[table, what] = counts.get((table, what), 0) + run
            table, what, run, topic = ref, op, 0, topics[ref]
        run += 1
        records.append((topic, key, value) if old is None else (topic, key, value, [(_OLD_KEY, old)]))
        size += len(value)
        one = crc32(value)
        checksum += one
        if key is not None:
            size += len(key)
            if tombstones and op == "d":
                records.append((topic, key, None))
                size += len(key)
    if run:
        counts[table, what] = counts.get((table, what), 0) + run
    return size, checksum, counts


def _old_key(gone: RowChange, made: RowChange, records: list[Record | Headed], since: int) -> bytes | None:
    """Return the key that a row had before, if the delete and the next row are one change.

    The new key is then written beside the records of the delete, which are the last ones.
    """
    old = gone[2]
    if made[1] != "c" or gone[0] != made[0] or old is None or not same_ordinal(gone[3], made[3]):
        return None
    for i in range(since, len(records)):
        topic, key, value = records[i][:3]
        records[i] = topic, key, value, [(_NEW_KEY, made[2] or b"")]
    return old


def put_rows(rows: Halves, topic: str, records: list[Record | Headed]) -> tuple[int, int]:
    """Append the records of rows that were read; return their bytes and their checksum."""
    size: cython.Py_ssize_t = 0
    checksum: cython.ulonglong = 0
    one: cython.ulonglong
    tail: bytes = rows.tail
    for key, head in rows.rows:
        value: bytes = head + tail
        records.append((topic, key, value))
        size += len(value)
        one = crc32(value)
        checksum += one
        if key is not None:
            size += len(key)
    return size, checksum
