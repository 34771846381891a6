"""Consecutive row messages of one relation: a stretch of the log that needs no bookkeeping.

    I U U D I ... of the relation it is aimed at, in one transaction   -> events, and their bytes
    anything else                                                      -> 0: the decoder takes it

Most of a log consists of such stretches.  The first row of a stretch finds what a row needs (its decoder,
its frame, the next ordinal), so that the other rows cost one loop of compiled code.
"""

from collections.abc import Callable
from typing import TypeAlias

import cython

from wrackline.producers.contract.steps import RowChange

if not cython.compiled:
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
    from cython.cimports.wrackline.schemas.events.frame import Frame

_INSERT = cython.declare(cython.longlong, 73)  # I
_UPDATE = cython.declare(cython.longlong, 85)  # U
_DELETE = cython.declare(cython.longlong, 68)  # D
_OID_END = cython.declare(cython.longlong, 5)
_HEADER = cython.declare(cython.longlong, 25)  # of XLogData: its letter, then where the record begins
_DATA = cython.declare(cython.longlong, 119)  # w

Get: TypeAlias = Callable[[int], tuple[int, memoryview]]  # libpq's get_copy_data


@cython.ccall
@cython.exceptval(check=False)
def place_of(message: bytes, at: cython.Py_ssize_t) -> cython.longlong:
    """Return this message's place in the log, from the header before it; 0 without a header."""
    data: cython.p_const_uchar = message
    place: cython.longlong = 0
    i: cython.int
    if at >= _HEADER and len(message) >= at:
        place = data[1] & 127  # no log is longer than 63 bits
        for i in range(2, 9):
            place = place << 8 | data[i]
    return place


@cython.final
@cython.cclass
class PgRowRun:
    """Takes the rows of the relation that it is aimed at; the transaction's next row has `ordinal`."""

    def __init__(self) -> None:
        self.rows: list[RowChange] = []
        self.ordinal = 0
        self.relation = 0
        self.aimed = False
        self.read = self.made = 0  # bytes of messages that `pass_rows` took, and of their events

    def aim(self, relation: int, decoder: PgRowDecoder, frame: Frame) -> None:
        """Take this relation's rows from here on."""
        self.relation, self.decoder, self.frame = relation, decoder, frame
        self.aimed = True

    def end(self) -> list[RowChange]:
        """Take no more rows, and hand out the rows that were taken."""
        self.aimed = False
        rows = self.rows
        self.rows = []
        return rows

    def pass_rows(self, get: Get, most: cython.Py_ssize_t, room: cython.Py_ssize_t) -> tuple[int, bytes]:
        """Take rows until another message comes, or so many bytes were read, or their events fill the room.

        Return that message with its size, or no message with what `get` said: 0, none is there; less, the
        end.  `read` and `made` say how much was taken, also if a row raises.
        """
        size: cython.Py_ssize_t = 1
        taken: cython.Py_ssize_t
        message: bytes = b""
        self.read = self.made = 0
        while self.read < most and self.made < room:
            size, view = get(1)
            if size <= 0:
                return size, b""
            message = bytes(view)
            del view  # a large row is not held twice while it is decoded
            self.read += size
            taken = self.take(message, _HEADER) if message[0] == _DATA else 0
            if taken == 0:
                return size, message
            self.made += taken
        return 1, b""

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def take(self, message: bytes, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the size of the events of the message at this place, or 0: not ours.

        A row that can't be published raises; its ordinal is still used up.
        """
        data: cython.p_const_uchar = message
        relation: cython.ulonglong  # 32 bits without a sign
        if not self.aimed or len(message) < at + _OID_END:
            return 0
        if data[at] != _INSERT and data[at] != _UPDATE and data[at] != _DELETE:
            return 0
        relation = data[at + 1]
        relation = relation << 24 | data[at + 2] << 16 | data[at + 3] << 8 | data[at + 4]
        if relation != self.relation:
            return 0
        self.ordinal += 1
        self.frame.place = place_of(message, at)
        return self.decoder.put(message, at, self.frame, self.ordinal - 1, self.rows)
