"""Rows of change tables into changes: both rows of an update are one change.  Pure.

    insert -> c        delete -> d        before, after -> u

Here is what is done to every row, or to every change, between a page and the decoder.  Compiled where there
is a C compiler; plain Python elsewhere.
"""

import cython

from wrackline.producers.sources.sqlserver.log.change_rows import Change, ChangeRow, RowKey

_DELETE = cython.declare(cython.int, 1)
_INSERT = cython.declare(cython.int, 2)
_BEFORE = cython.declare(cython.int, 3)
_AFTER = cython.declare(cython.int, 4)
_KEY = cython.declare(cython.Py_ssize_t, 29)
_TABLE = cython.declare(cython.Py_ssize_t, 24)  # where a place has its change table
_OPERATION = cython.declare(cython.Py_ssize_t, 28)


class ContradictionError(Exception):
    """These rows are not a log; `key` is the place of one, and the text says why."""

    def __init__(self, key: RowKey, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def rise(rows: list[ChangeRow]) -> bool:
    """Whether each place is above the one before."""
    key: bytes
    last: bytes = b""
    for row in rows:
        key = row[0]
        if not last < key:
            return False
        last = key
    return True


def packed_size(rows: list[ChangeRow]) -> int:
    """Return the bytes of rows: their masks and their columns."""
    size: cython.Py_ssize_t = 0
    mask: bytes
    image: bytes
    for row in rows:
        mask, image = row[1], row[2]
        size += len(mask) + len(image)
    return size


def match_updates(rows: list[ChangeRow], first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> list[Change]:
    """Return the changes of the rows from one place of the list to another."""
    at: cython.Py_ssize_t
    operation: cython.int
    key: bytes
    known: cython.longlong = -1
    number: cython.longlong
    table: int = -1
    before: ChangeRow | None = None
    made: list[Change] = []
    for at in range(first, end):
        row = rows[at]
        key, mask, image = row
        if len(key) != _KEY:
            raise ValueError("a place in a change table has 29 bytes")
        place: cython.p_const_uchar = key
        operation = place[_OPERATION]
        number = cython.cast(cython.longlong, place[_TABLE]) << 24 | place[_TABLE + 1] << 16
        number |= place[_TABLE + 2] << 8 | place[_TABLE + 3]
        if number != known:  # or each change would have an int of its own
            known = table = number
        if operation == _AFTER or before is not None:
            if before is None or operation != _AFTER or not _same_place(before[0], key):
                raise ContradictionError(key, "an update has only one of its two rows")
            made.append((table, "u", key, mask, before[2], image))
            before = None
        elif operation == _INSERT:
            made.append((table, "c", key, mask, None, image))
        elif operation == _DELETE:
            made.append((table, "d", key, mask, image, None))
        elif operation == _BEFORE:
            before = row
        else:
            raise ContradictionError(key, f"there is no operation {operation}")
    if before is not None:
        raise ContradictionError(before[0], "an update has only one of its two rows")
    return made


@cython.cfunc
@cython.exceptval(check=False)
def _same_place(one: bytes, other: bytes) -> cython.bint:
    """Whether two rows differ at most in their operation."""
    at: cython.Py_ssize_t
    left: cython.p_const_uchar = one
    right: cython.p_const_uchar = other
    for at in range(_OPERATION):  # noqa: SIM110 - a generator is slower in C
        if left[at] != right[at]:
            return False
    return True


def image_size(changes: list[Change]) -> int:
    """Return the bytes of the images of changes."""
    size: cython.Py_ssize_t = 0
    image: bytes
    for change in changes:
        if change[4] is not None:
            image = change[4]
            size += len(image)
        if change[5] is not None:
            image = change[5]
            size += len(image)
    return size


def rows_by_table(changes: list[Change]) -> dict[int, int]:
    """Count the rows of changes by change table: an update has two."""
    counts: dict[int, int] = {}
    run: cython.Py_ssize_t = 0
    known: int = -1
    for change in changes:
        if change[0] is not known:
            if run:
                counts[known] = counts.get(known, 0) + run
            known, run = change[0], 0
        run += 2 if change[1] == "u" else 1
    if run:
        counts[known] = counts.get(known, 0) + run
    return counts
