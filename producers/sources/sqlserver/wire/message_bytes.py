"""The bytes of one message, joined from its packets ([MS-TDS] 2.2.3).

    type | status | length, high byte first | process | number | window | body      packet
    body body body ...                                                              one buffer

Bytes of a connection come in, in whatever pieces.  Room is made only for bytes that are there.
"""

import cython

from wrackline.producers.sources.sqlserver.wire.result_columns import STREAM_BROKEN

if cython.compiled:
    from cython.cimports.libc.string import memcpy, memmove

_ANSWER = cython.declare(cython.int, 4)
_HEADER = cython.declare(cython.int, 8)
_FIRST = cython.declare(cython.int, 1 << 12)  # most messages are small
_ROOM = cython.declare(cython.int, 1 << 18)


@cython.final
@cython.cclass
class MessageBytes:
    """A message that comes: what is read begins at `at`, and what is before `free` is needed by nobody."""

    def __init__(self) -> None:
        self.head = bytearray(8)
        self.head_size = 0
        self.left = 0
        self.last = False
        self.ended = False
        self.data = bytearray(_FIRST)
        self.at = self.free = self.end = 0

    def feed(self, given: bytes | bytearray, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> int:
        """Take the message's bytes; return where those of the next message begin."""
        size: cython.Py_ssize_t
        length: cython.int
        if not 0 <= start <= end <= len(given):
            raise IndexError("the bytes end before")
        while start < end and not self.ended:
            if self.left == 0:
                self.head[self.head_size] = given[start]
                start += 1
                self.head_size += 1
                if self.head_size < _HEADER:
                    continue
                self.head_size = 0
                length = (self.head[2] << 8) | self.head[3]
                if self.head[0] != _ANSWER or length < _HEADER:
                    raise STREAM_BROKEN(reason=f"a packet begins with {self.head.hex()}")
                self.left = length - _HEADER
                self.last = (self.head[1] & 1) != 0
            else:
                size = min(self.left, end - start)
                self._make_room(size)
                copy(self.data, self.end, given, start, size)
                self.end += size
                start += size
                self.left -= size
            self.ended = self.last and self.left == 0
        return start

    @cython.cfunc
    @cython.exceptval(check=True)
    def _make_room(self, size: cython.Py_ssize_t) -> cython.void:
        """Make room for bytes that are there."""
        if size <= len(self.data) - self.end:
            return
        if self.free and self.free == self.at:
            move(self.data, 0, self.at, self.end - self.at)
            self.end -= self.at
            self.at = self.free = 0
        if size > len(self.data) - self.end:
            larger = bytearray(max(2 * len(self.data), self.end + size))
            copy(larger, 0, self.data, 0, self.end)
            self.data = larger

    @cython.cfunc
    def hand_out(self) -> bytearray:
        """Give the buffer away; what is not read yet goes into a new one."""
        rest: cython.Py_ssize_t = self.end - self.at
        given = self.data
        self.data = bytearray(max(_ROOM, 2 * rest))
        copy(self.data, 0, given, self.at, rest)
        self.at = self.free = 0
        self.end = rest
        return given


@cython.cfunc
@cython.exceptval(check=False)
def four(data: cython.p_const_uchar, at: cython.Py_ssize_t) -> cython.longlong:
    """Read a number of four bytes."""
    low: cython.longlong = data[at] | data[at + 1] << 8 | data[at + 2] << 16
    return low | cython.cast(cython.longlong, data[at + 3]) << 24


@cython.cfunc
@cython.exceptval(check=False)
def copy(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.void:
    """Copy bytes to another buffer."""
    if cython.compiled:
        if size > 0:
            memcpy(cython.address(out[at]), cython.address(data[start]), size)
    else:
        out[at : at + size] = data[start : start + size]


@cython.cfunc
@cython.exceptval(check=False)
def move(
    data: cython.p_uchar, out: cython.Py_ssize_t, at: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.void:
    """Move bytes within a buffer; they may overlap."""
    if cython.compiled:
        if size > 0:
            memmove(cython.address(data[out]), cython.address(data[at]), size)
    else:
        data[out : out + size] = data[at : at + size]
