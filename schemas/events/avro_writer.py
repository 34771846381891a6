"""Avro's primitives, written straight into a growing buffer.

Compiled if there is a C compiler, plain Python elsewhere: the same file, the same bytes.
The functions write at a place that the caller has reserved and return the place after, so that a row
costs one reservation and no Python object per column.  How much is reserved is computed from the columns'
types.  What is longer than a number is compared with the reservation's end (`limit`), and a number fits
into the `SLACK` behind it: a reservation that was computed too small ends in `NoRoom`, never in other memory.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy

COMPILED: bool = cython.compiled

SLACK = cython.declare(cython.longlong, 64)  # bytes behind every reservation
_SMALL = cython.declare(cython.longlong, 4096)
_KEEP = cython.declare(cython.longlong, 1 << 20)  # a buffer grown beyond this is given back at once


class NoRoom(ValueError):  # noqa: N818 - it names what is missing
    """More is to be written than was reserved."""


@cython.cfunc
@cython.exceptval(check=False)
def put_long(out: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Avro int and long: zigzag, seven bits a byte, at most ten bytes."""
    left: cython.ulonglong = (value << 1) ^ (value >> 63)
    while left > 127:
        out[at] = (left & 127) | 128
        left >>= 7
        at += 1
    out[at] = left
    return at + 1


@cython.cfunc
@cython.exceptval(-1, check=False)
def put_raw(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Bytes as they are."""
    i: cython.Py_ssize_t
    if size > limit - at:
        raise NoRoom
    if cython.compiled:
        if size < 16:  # most cells: a call costs more than the loop
            for i in range(size):
                out[at + i] = data[start + i]
        else:
            memcpy(cython.address(out[at]), cython.address(data[start]), size)
    else:
        out[at : at + size] = data[start : start + size]
    return at + size


@cython.cfunc
@cython.exceptval(-1, check=False)
def put_bytes(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Avro bytes and string: the length, then the bytes."""
    return put_raw(out, put_long(out, at, size), limit, data, start, size)


@cython.cfunc
@cython.exceptval(check=False)
def put_units(out: cython.p_uchar, at: cython.Py_ssize_t, units: cython.longlong) -> cython.Py_ssize_t:
    """Avro decimal: the unscaled number, big-endian two's complement, as few bytes as it needs."""
    size: cython.Py_ssize_t = 1
    rest: cython.longlong = (units ^ (units >> 63)) >> 7  # 0 once the sign fits
    while rest != 0:
        rest >>= 8
        size += 1
    out[at] = size << 1
    place: cython.Py_ssize_t = at + size
    while place > at:  # the lowest byte first, which is written last in the text
        out[place] = units & 255
        units >>= 8
        place -= 1
    return at + size + 1


@cython.final
@cython.cclass
class AvroWriter:
    """The buffer; `raw` is its memory, good until the next reservation; `size` is its limit."""

    def __init__(self) -> None:
        self.size = _SMALL
        self.buffer = bytearray(self.size + SLACK)
        self.raw = self.buffer

    @cython.cfunc
    def reserve(self, size: cython.Py_ssize_t) -> None:
        """Make room for `size` bytes from the start; what was written before is gone."""
        if size > self.size:
            self.size = size
            self.buffer = bytearray(size + SLACK)
            self.raw = self.buffer

    @cython.cfunc
    def take(self, size: cython.Py_ssize_t) -> bytes:
        """Return the first `size` bytes, as an object of their own."""
        taken: bytes = self.raw[:size] if cython.compiled else bytes(self.raw[:size])
        if self.size > _KEEP:
            self.size = _SMALL
            self.buffer = bytearray(self.size + SLACK)
            self.raw = self.buffer
        return taken
