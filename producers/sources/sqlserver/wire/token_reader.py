"""An answer's bytes as they come: rows stay where they are, all other tokens are handed on ([MS-TDS] 2.2.7).

    packet packet ...  -- feed -->  one buffer  -- next -->  TdsBatch | TdsToken | None: more bytes are needed

In: bytes of a connection, in whatever pieces.  Out: the rows of a result as one buffer with the places of its
cells, so that a row costs no Python object.  A batch owns its buffer, which never changes again.

Nothing is read behind the bytes that came: a length is compared with them before it is believed, and room is
made only for bytes that are there.  A row that has not arrived as a whole is read again from its beginning.
"""

from array import array
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

import cython

from wrackline.producers.sources.sqlserver.wire.messages import COLUMNS, DONES, token_body
from wrackline.producers.sources.sqlserver.wire.result_columns import (
    STREAM_BROKEN,
    ByteCursor,
    CutError,
    TdsColumn,
    read_columns,
)
from wrackline.schemas.errors import OperatorNeeded, define

if not cython.compiled:
    from wrackline.producers.sources.sqlserver.wire.message_bytes import MessageBytes, four, move
else:
    from cython.cimports.wrackline.producers.sources.sqlserver.wire.message_bytes import (
        MessageBytes,
        four,
        move,
    )

ROW_TOO_LONG = define(
    "sqlserver.row_too_long",
    OperatorNeeded,
    "a row has more than {most} bytes",
    hint="raise the limit: max.row.bytes",
)

MOST_ROW: int = 1 << 30  # a place in a buffer has 31 bits

_ROW = cython.declare(cython.int, 0xD1)
_SHORT_ROW = cython.declare(cython.int, 0xD2)
_ENOUGH = cython.declare(cython.int, 3 << 16)  # a batch goes out when its buffer has so many bytes
_FEW_CELLS = cython.declare(cython.int, 1 << 10)  # there is room for the places of so many at first
_CUT = cython.declare(cython.int, -1)
_NOTHING = cython.declare(cython.int, 0)  # the forms of cells; the rest is in `result_columns`
_FIXED = cython.declare(cython.int, 1)
_SHORT = cython.declare(cython.int, 2)
_EXACT = cython.declare(cython.int, 3)
_LONG = cython.declare(cython.int, 4)
_PIECES = cython.declare(cython.int, 5)
_POINTED = cython.declare(cython.int, 6)
_PLP_NULL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_PLP_UNKNOWN = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFE)


class TdsToken(NamedTuple):
    """A token that is not a row: its number, and its bytes without a length."""

    number: int
    body: bytes


@cython.final
@cython.cclass
class TdsBatch:
    """Rows of one result.

    `places` has two numbers for each cell, row by row: where it begins in `data`, and its size, -1 for NULL.
    """

    def __init__(
        self,
        columns: Sequence[TdsColumn],
        data: bytearray,
        places: MutableSequence[int],
        rows: int,
        result: int,
    ) -> None:
        self.columns = columns
        self.width = len(columns)
        self.data = data
        self.places = self.spots = places
        self.rows = rows
        self.result = result
        if len(places) < 2 * rows * self.width:
            raise ValueError("there are fewer places than cells")

    def __len__(self) -> int:
        return self.rows

    def cell(self, row: cython.Py_ssize_t, column: cython.Py_ssize_t) -> bytes | None:
        """Return a cell as bytes."""
        if not (0 <= row < self.rows and 0 <= column < self.width):
            raise IndexError(f"there is no cell {row}, {column}")
        return self._bytes(2 * (row * self.width + column))

    def row(self, row: cython.Py_ssize_t) -> tuple[bytes | None, ...]:
        """Return a row's cells as bytes."""
        column: cython.Py_ssize_t
        found = []
        if not 0 <= row < self.rows:
            raise IndexError(f"there is no row {row}")
        for column in range(self.width):
            found.append(self._bytes(2 * (row * self.width + column)))  # noqa: PERF401 - a comprehension is slower in C
        return tuple(found)

    @cython.cfunc
    def _bytes(self, at: cython.Py_ssize_t) -> bytes | None:
        start: cython.Py_ssize_t = self.spots[at]
        size: cython.Py_ssize_t = self.spots[at + 1]
        if size < 0:
            return None
        if start < 0 or start + size > len(self.data):
            raise IndexError("a cell is outside of its batch")
        if not cython.compiled:
            return bytes(self.data[start : start + size])
        data: cython.p_const_uchar = self.data
        return data[start : start + size]


@cython.final
@cython.cclass
class TdsReader:
    """The reader of one message; `begin` makes it that of the next."""

    def __init__(self, most_row: int) -> None:
        self.most = min(most_row, MOST_ROW)
        self.begin()

    def begin(self) -> None:
        """Expect a new message."""
        self.message = MessageBytes()
        self.rows = 0
        self.enough = 0
        self.result = -1
        self._take_columns(())

    @property
    def columns(self) -> Sequence[TdsColumn]:
        """Return the columns of the result whose rows come."""
        return self.shown

    @property
    def over(self) -> bool:
        """Whether the message has ended, and all of it was handed out."""
        return self.message.ended and self.message.at == self.message.end and self.rows == 0

    def feed(self, given: bytes | bytearray, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> int:
        """Take the message's bytes; return where those of the next message begin."""
        return self.message.feed(given, start, end)

    def next(self, at_once: cython.Py_ssize_t) -> TdsBatch | TdsToken | None:
        """Return rows, or another token; None if bytes are missing, or if all was handed out."""
        token: cython.int
        after: cython.Py_ssize_t
        message: MessageBytes = self.message
        while message.at < message.end:
            token = message.data[message.at]
            if token != _ROW and token != _SHORT_ROW:
                return self._batch() if self.rows else self._other(token)
            if self.rows and self.rows >= at_once:
                return self._batch()
            after = self._row(token)
            if after == _CUT:
                break
            message.at = after
            self.rows += 1
        if self.rows and (message.ended or message.end > _ENOUGH):
            return self._batch()
        self._missing()
        return None

    @cython.cfunc
    def _missing(self) -> None:
        """Raise an error if what is missing can never come."""
        if self.message.ended and self.message.at < self.message.end:
            raise STREAM_BROKEN(reason="it ends inside a token")
        if self.message.end - self.message.at > self.most:
            raise ROW_TOO_LONG(most=self.most)

    @cython.cfunc
    def _batch(self) -> TdsBatch:
        """Hand out the rows with their buffer."""
        rows, places = self.rows, self.given
        self.rows = 0
        self._take_places(self.capacity)
        return TdsBatch(self.shown, self.message.hand_out(), places, rows, self.result)

    @cython.cfunc
    def _other(self, token: cython.int) -> TdsToken | None:
        """Return a token that is not a row, if all of it is there.

        Columns that are cut are read again when half as many bytes more are there, or all of the message.
        """
        if self.message.end < self.enough and not self.message.ended:
            return None
        cursor = ByteCursor(self.message.data, self.message.at + 1, self.message.end)
        body = b""
        try:
            if token == COLUMNS:
                self._take_columns(tuple(read_columns(cursor)))
                self.result += len(self.shown) > 0
            else:
                body = token_body(token, cursor)
                self.count *= token not in DONES  # no row comes before the next columns
        except CutError:
            self._missing()
            if token == COLUMNS:
                self.enough = self.message.end + (self.message.end - self.message.at) // 2
            return None
        self.enough = 0
        self.message.at = self.message.free = cursor.at
        return TdsToken(token, body)

    def _take_columns(self, columns: Sequence[TdsColumn]) -> None:
        self.shown = columns
        self.count = len(columns)
        self.forms = array("i", [column.form for column in columns] or [0])
        self.widths = array("i", [column.width for column in columns] or [0])
        self._take_places(1 + _FEW_CELLS // (self.count + 1))

    @cython.cfunc
    @cython.exceptval(check=True)
    def _take_places(self, rows: cython.Py_ssize_t) -> cython.void:
        """Make room for the places of so many rows."""
        self.capacity = rows
        self.given = array("i", [0]) * (2 * rows * max(self.count, 1))
        self.places = self.given

    @cython.cfunc
    @cython.exceptval(check=True)
    def _double_places(self) -> cython.void:
        known = self.given
        self._take_places(2 * self.capacity)
        self.given[: len(known)] = known

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _row(self, token: cython.int) -> cython.Py_ssize_t:  # noqa: PLR0912, PLR0915 - one for each form
        """Find the cells of a row; return where it ends, or that it has not arrived as a whole."""
        i: cython.int
        form: cython.int
        size: cython.Py_ssize_t
        joins: cython.bint = False
        end: cython.Py_ssize_t = self.message.end
        at: cython.Py_ssize_t = self.message.at + 1
        bits: cython.Py_ssize_t = at
        place: cython.Py_ssize_t = 2 * self.rows * self.count
        data: cython.p_const_uchar = self.message.data
        if self.count == 0:
            raise STREAM_BROKEN(reason="a row has no columns")
        if token == _SHORT_ROW:
            at += (self.count + 7) >> 3
            if at > end:
                return _CUT
        if self.rows == self.capacity:
            self._double_places()
        for i in range(self.count):
            form = self.forms[i]
            size = self.widths[i]
            if token == _SHORT_ROW and data[bits + (i >> 3)] >> (i & 7) & 1:
                size = -1
            elif form == _SHORT or form == _EXACT:
                if at >= end:
                    return _CUT
                size = data[at]
                at += 1
                if size == 0:
                    size = -1
                elif size != self.widths[i] and (form == _SHORT or size > self.widths[i] or size < 2):
                    raise STREAM_BROKEN(reason=f"a cell has {size} bytes, its type {self.widths[i]}")
            elif form == _LONG:
                if end - at < 2:
                    return _CUT
                size = data[at] | data[at + 1] << 8
                at += 2
                if size == 0xFFFF:
                    size = -1
                elif size > self.widths[i]:
                    raise STREAM_BROKEN(reason=f"a cell has {size} bytes, its type {self.widths[i]}")
            elif form != _FIXED:
                at = self._pieces(at, place) if form == _PIECES else self._counted(at, place, form)
                if at == _CUT:
                    return _CUT
                joins = joins or self.places[place] < 0
                place += 2
                continue
            if size > end - at:
                return _CUT
            self.places[place] = 0 if size < 0 else at
            self.places[place + 1] = size
            place += 2
            if size > 0:
                at += size
        if joins:
            self._join(2 * self.rows * self.count)
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _counted(
        self, at: cython.Py_ssize_t, place: cython.Py_ssize_t, form: cython.int
    ) -> cython.Py_ssize_t:
        """Find a cell with 4 bytes of length; a pointer may come before, and then no pointer is NULL."""
        data: cython.p_const_uchar = self.message.data
        end: cython.Py_ssize_t = self.message.end
        size: cython.longlong = 0
        self.places[place] = 0
        self.places[place + 1] = -1
        if form == _NOTHING:
            return at
        if form == _POINTED:
            if at >= end:
                return _CUT
            at += 1
            if data[at - 1] == 0:
                return at
            at += data[at - 1] + 8
        if end - at < 4:
            return _CUT
        size = four(data, at)
        at += 4
        if size > self.most:
            raise ROW_TOO_LONG(most=self.most)
        if size == 0 and form != _POINTED:
            return at
        if size > end - at:
            return _CUT
        self.places[place] = at
        self.places[place + 1] = size
        return at + size

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _pieces(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a cell that comes in pieces; of several, its place is negative until they are joined."""
        data: cython.p_const_uchar = self.message.data
        end: cython.Py_ssize_t = self.message.end
        first: cython.Py_ssize_t = at + 12
        pieces: cython.Py_ssize_t = 0
        size: cython.longlong
        whole: cython.longlong = 0
        total: cython.ulonglong
        if end - at < 8:
            return _CUT
        total = four(data, at)
        total |= cython.cast(cython.ulonglong, four(data, at + 4)) << 32
        at += 8
        if total == _PLP_NULL:
            self.places[place] = 0
            self.places[place + 1] = -1
            return at
        if total != _PLP_UNKNOWN:
            if total > cython.cast(cython.ulonglong, self.most):
                raise ROW_TOO_LONG(most=self.most)
            if cython.cast(cython.Py_ssize_t, total) > end - at:
                return _CUT  # before its pieces are looked at again
        while True:
            if end - at < 4:
                return _CUT
            size = four(data, at)
            at += 4
            if size == 0:
                break
            if size > end - at:
                return _CUT
            at += size
            whole += size
            pieces += 1
        if total != _PLP_UNKNOWN and cython.cast(cython.ulonglong, whole) != total:
            raise STREAM_BROKEN(reason=f"a cell of {total} bytes has {whole}")
        self.places[place] = -first if pieces > 1 else first if pieces else at
        self.places[place + 1] = whole
        return at

    @cython.cfunc
    @cython.exceptval(check=False)
    def _join(self, place: cython.Py_ssize_t) -> cython.void:
        """Move the pieces of a row's cells together; all of them are there."""
        last: cython.Py_ssize_t = place + 2 * self.count
        at: cython.Py_ssize_t
        out: cython.Py_ssize_t
        size: cython.Py_ssize_t
        while place < last:
            if self.places[place] < 0:
                at = -self.places[place]
                self.places[place] = at
                size = four(self.message.data, at - 4)
                at += size
                out = at
                size = four(self.message.data, at)
                while size:
                    move(self.message.data, out, at + 4, size)
                    out += size
                    at += 4 + size
                    size = four(self.message.data, at)
            place += 2
