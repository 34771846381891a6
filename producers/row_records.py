"""Row changes as Kafka records, a tombstone behind each delete, and how many there were of each kind.

    (ref, op, key, value, …)  ->  (topic, key, value) [(topic, key, None)]

Beside them go their bytes and their checksum, the sum of the values' CRC32, which does not ask for an order.
Compiled where a C compiler is, for this is done to every row; plain Python elsewhere.
"""

from collections.abc import Iterable, Mapping
from zlib import crc32

import cython

from wrackline.producers.changes import RowChange
from wrackline.producers.chunks import Halves


def put_records(
    rows: Iterable[RowChange],
    topics: Mapping[int, str],
    records: list[tuple[str, bytes | None, bytes | None]],
    *,
    tombstones: bool,
) -> tuple[int, int, dict[tuple[int, str], int]]:
    """Append the records; return their bytes, their checksum, and the rows by table's ref and operation."""
    size: cython.Py_ssize_t = 0
    checksum: cython.ulonglong = 0
    one: cython.ulonglong
    run: cython.Py_ssize_t = 0  # rows of one table and operation, mostly many: they are counted at once
    counts: dict[tuple[int, str], int] = {}
    table, what, topic = -1, "", ""
    for ref, op, key, value, _ in rows:
        if ref != table or op != what:
            if run:
                counts[table, what] = counts.get((table, what), 0) + run
            table, what, run, topic = ref, op, 0, topics[ref]
        run += 1
        records.append((topic, key, value))
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


def put_rows(
    rows: Halves, topic: str, records: list[tuple[str, bytes | None, bytes | None]]
) -> tuple[int, int]:
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
