"""Consecutive row messages of one relation: a stretch of the log that needs no bookkeeping.

    I U U D I ... of the relation it is aimed at, in one transaction   -> events, and their bytes
    anything else                                                      -> 0: the decoder takes it

Most of a log consists of such stretches.  The first row of a stretch finds what a row needs (its decoder,
its frame, the next ordinal), so that each other row costs one call of compiled code.
"""

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

    def take(self, message: bytes, at: cython.Py_ssize_t) -> int:
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
