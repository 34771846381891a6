"""Row messages of one relation, one after the other: a stretch of the log that needs no books.

    I U U D I ... of the relation it is aimed at, in one transaction   -> events, and their bytes
    anything else                                                      -> 0: the decoder looks at it

Most of a log is such stretches.  What a row needs (its decoder, its frame, the next ordinal) was found
with the first row of the stretch, so that the others cost one call of compiled code.
"""

import cython

from wrackline.producers.changes import RowChange

if not cython.compiled:
    from wrackline.producers.sources.postgres.rows import RowDecoder
    from wrackline.schemas.frame import Frame
else:
    from cython.cimports.wrackline.producers.sources.postgres.rows import RowDecoder
    from cython.cimports.wrackline.schemas.frame import Frame

_INSERT = cython.declare(cython.longlong, 73)  # I
_UPDATE = cython.declare(cython.longlong, 85)  # U
_DELETE = cython.declare(cython.longlong, 68)  # D
_OID_END = cython.declare(cython.longlong, 5)


@cython.final
@cython.cclass
class Stretch:
    """Takes the rows of the relation that it is aimed at; `ordinal` is that of the transaction's next row."""

    def __init__(self) -> None:
        self.rows: list[RowChange] = []
        self.ordinal = 0
        self.relation = 0
        self.aimed = False

    def aim(self, relation: int, decoder: RowDecoder, frame: Frame) -> None:
        """Take this relation's rows from here on."""
        self.relation, self.decoder, self.frame = relation, decoder, frame
        self.aimed = True

    def end(self) -> list[RowChange]:
        """Take no more, and hand out what was taken."""
        self.aimed = False
        rows = self.rows
        self.rows = []
        return rows

    def take(self, message: bytes, at: cython.Py_ssize_t) -> int:
        """Return the bytes of the events that the message at this place has become, or 0: not ours.

        A row that can't be told raises; its ordinal is used up all the same.
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
        return self.decoder.put(message, at, self.frame, self.ordinal - 1, 0, self.rows)
