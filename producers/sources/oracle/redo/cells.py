"""The words, names and values of a statement of SQL_REDO, found in its bytes; cells are five numbers each.

    where a column's name begins, its size | kind | where the value's text begins, its size

In: bytes, and where a thing must stand.  Out: where it ends; its place is in the memory of cells.  What is
not known raises `UnknownRedoError`.  A value's text is what stands between its apostrophes, as it is written.
"""

from array import array

import cython

from wrackline.producers.sources.oracle.redo.kinds import UnknownRedoError

if cython.compiled:
    from cython.cimports.libc.string import memchr

# The numbers of `kinds`, for C.
_NOTHING = cython.declare(cython.int, 0)
_TEXT = cython.declare(cython.int, 1)
_QUOTED = cython.declare(cython.int, 2)
_NUMBER = cython.declare(cython.int, 3)
_RAW = cython.declare(cython.int, 4)
_UNISTR = cython.declare(cython.int, 5)
_CHAIN = cython.declare(cython.int, 6)
_DATE = cython.declare(cython.int, 7)
_TIMESTAMP = cython.declare(cython.int, 8)
_ZONED = cython.declare(cython.int, 9)
_DAYS = cython.declare(cython.int, 10)
_MONTHS = cython.declare(cython.int, 11)
_EMPTY_CLOB = cython.declare(cython.int, 12)
_EMPTY_BLOB = cython.declare(cython.int, 13)
_XML = cython.declare(cython.int, 14)
_BOUND = cython.declare(cython.int, 15)
_UNSUPPORTED = cython.declare(cython.int, 16)

_NUMBERS = cython.declare(cython.int, 5)  # of a cell
_APOSTROPHE = cython.declare(cython.int, 0x27)
_QUOTE = cython.declare(cython.int, 0x22)
_FEW_CELLS = cython.declare(cython.Py_ssize_t, 64)  # there is room for so many at first


@cython.cclass
class RedoCells:
    """The cells of a statement, and what finds them; `count` have a name."""

    def __init__(self) -> None:
        self.given = array("i", [0]) * (_NUMBERS * _FEW_CELLS)
        self.cells = self.given
        self.capacity = _FEW_CELLS

    @cython.cfunc
    @cython.exceptval(check=True)
    def _take(self, text: bytes) -> cython.void:
        """Begin with the bytes of a statement."""
        self.text = text
        self.end = len(text)
        self.data = text if cython.compiled else text + b"\0"  # C's bytes end with a zero too
        self.count = 0

    @cython.cfunc
    def _refuse(self, reason: str, at: cython.Py_ssize_t) -> None:
        raise UnknownRedoError(reason, at)

    @cython.cfunc
    @cython.exceptval(check=True)
    def _make_room(self) -> cython.void:
        """Make room for twice as many cells."""
        known = self.given
        self.given = array("i", [0]) * (2 * len(known))
        self.given[: len(known)] = known
        self.cells = self.given
        self.capacity *= 2

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _word(self, at: cython.Py_ssize_t, word: cython.p_const_uchar) -> cython.Py_ssize_t:
        """Return where a word ends that must stand here."""
        end: cython.Py_ssize_t = past(self.data, at, word)
        if end < 0:
            missing: bytes = bytes(word)
            self._refuse(f"there is no {missing.decode().strip(' ' + chr(0))}", at)
        return end

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _name(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a name between quotes; no name of Oracle has a quote."""
        end: cython.Py_ssize_t
        if self.data[at] != _QUOTE:
            self._refuse("no name", at)
        end = _find(self.data, _QUOTE, at + 1, self.end)
        if end <= at + 1:
            self._refuse("a name is empty or has no end", at)
        self.start = at + 1
        self.size = end - at - 1
        return end + 1

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _column(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Begin a cell with its column's name."""
        place: cython.Py_ssize_t = _NUMBERS * self.count
        at = self._name(at)
        if self.count == self.capacity:
            self._make_room()
        self.cells[place] = self.start
        self.cells[place + 1] = self.size
        self.count += 1
        return at

    @cython.cfunc
    @cython.exceptval(check=False)
    def _settle(
        self,
        at: cython.Py_ssize_t,
        place: cython.Py_ssize_t,
        kind: cython.int,
        start: cython.Py_ssize_t,
        size: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write a cell's value; return where the next token begins."""
        self.cells[place + 2] = kind
        self.cells[place + 3] = start
        self.cells[place + 4] = size
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _value(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a value, and write its place into a cell."""
        end: cython.Py_ssize_t
        first: cython.int = self.data[at]
        if first == _APOSTROPHE:
            end = self._string(at)
            self._settle(end, place, _QUOTED if self.escapes else _TEXT, self.start, self.size)
            return self._chain(at, end, place)
        if first == 0x4E:  # N
            end = self._word(at, b"NULL\0")
            return self._settle(end, place, _NOTHING, at, 0)
        if first == 0x2D or first == 0x2B or first == 0x2E or (0x30 <= first <= 0x39):
            return self._number(at, place)
        if first == 0x2F:  # /
            return self._json(self._word(at, b"/* JSON */ \0"), place)
        if first == 0x3A:  # a colon
            end = self._variable(at + 1)
            return self._settle(end, place, _BOUND, at, 0)
        return self._function(at, place)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _function(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a value that is a function's, or what stands for a value."""
        first: cython.int = self.data[at]
        end: cython.Py_ssize_t = -1
        if first == 0x54:  # T
            return self._temporal(at, place)
        if first == 0x48:  # H
            if (end := past(self.data, at, b"HEXTORAW(\0")) >= 0:
                return self._argument(end, place, _RAW)
        elif first == 0x55:  # U
            if (end := past(self.data, at, b"UNISTR(\0")) >= 0:
                return self._chain(at, self._argument(end, place, _UNISTR), place)
            if (end := past(self.data, at, b"Unsupported Type\0")) >= 0:
                return self._settle(end, place, _UNSUPPORTED, at, 0)
        elif first == 0x45:  # E
            if (end := past(self.data, at, b"EMPTY_CLOB()\0")) >= 0:
                return self._settle(end, place, _EMPTY_CLOB, at, 0)
            if (end := past(self.data, at, b"EMPTY_BLOB()\0")) >= 0:
                return self._settle(end, place, _EMPTY_BLOB, at, 0)
        elif first == 0x58:  # X
            if (end := past(self.data, at, b"XMLTYPE(\0")) >= 0:
                return self._xml(end, place)
            if (end := past(self.data, at, b"XMLType(\0")) >= 0:
                return self._xml(end, place)
        self._refuse("no value that is known", at)
        return end

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _json(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a document; its bytes have a form of Oracle's, so they are no value that is known."""
        end: cython.Py_ssize_t
        if (end := past(self.data, at, b"EMPTY_BLOB()\0")) < 0:
            end = self._argument(self._word(at, b"HEXTORAW(\0"), place, _RAW)
        return self._settle(end, place, _UNSUPPORTED, at, 0)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _temporal(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a moment or an interval."""
        end: cython.Py_ssize_t
        if (end := past(self.data, at, b"TO_DATE(\0")) >= 0:
            return self._date(end, place)
        if (end := past(self.data, at, b"TO_TIMESTAMP(\0")) >= 0:
            return self._argument(end, place, _TIMESTAMP)
        if (end := past(self.data, at, b"TO_TIMESTAMP_TZ(\0")) >= 0:
            return self._argument(end, place, _ZONED)
        if (end := past(self.data, at, b"TO_DSINTERVAL(\0")) >= 0:
            return self._argument(end, place, _DAYS)
        if (end := past(self.data, at, b"TO_YMINTERVAL(\0")) >= 0:
            return self._argument(end, place, _MONTHS)
        self._refuse("no value that is known", at)
        return end

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _date(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a date; one in another format than the session's is refused."""
        at = self._string(at)
        self._settle(at, place, _DATE, self.start, self.size)
        at = self._word(blanks(self.data, self._word(at, b",\0")), b"'\0")
        if self.data[at] == 0x53:  # S: the year has a sign
            at += 1
        return self._word(at, b"YYYY-MM-DD HH24:MI:SS')\0")

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _argument(
        self, at: cython.Py_ssize_t, place: cython.Py_ssize_t, kind: cython.int
    ) -> cython.Py_ssize_t:
        """Find the only argument of a function."""
        at = self._string(at)
        self._settle(at, place, kind, self.start, self.size)
        return self._word(at, b")\0")

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _xml(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a document, or the name of what is bound to the statement."""
        if self.data[at] == 0x3A:
            at = self._word(at, b":1)\0")
            return self._settle(at, place, _BOUND, at, 0)
        return self._argument(at, place, _XML)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _variable(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find the name of a variable."""
        start: cython.Py_ssize_t = at
        letter: cython.int = self.data[at]
        while 0x30 <= letter <= 0x39 or 0x41 <= letter <= 0x5A or 0x61 <= letter <= 0x7A or letter == 0x5F:
            at += 1
            letter = self.data[at]
        if at == start:
            self._refuse("a variable has no name", at)
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _string(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a text between apostrophes; two of them are one that belongs to it."""
        end: cython.Py_ssize_t
        if self.data[at] != _APOSTROPHE:
            self._refuse("no text", at)
        self.escapes = False
        self.start = end = at + 1
        while True:
            end = _find(self.data, _APOSTROPHE, end, self.end)
            if end < 0:
                self._refuse("a text has no end", at)
            if self.data[end + 1] != _APOSTROPHE:
                break
            self.escapes = True
            end += 2
        self.size = end - self.start
        return end + 1

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _chain(
        self, first: cython.Py_ssize_t, at: cython.Py_ssize_t, place: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Read what || adds to a text; then the value is all of the expression.

        Only parts of a national text are joined.  Others may be one value whose apostrophes are single.
        """
        national: cython.bint = self.data[first] == 0x55  # U
        next_: cython.Py_ssize_t = past(self.data, blanks(self.data, at), b"||\0")
        while next_ >= 0:
            next_ = blanks(self.data, next_)
            if self.data[next_] == 0x55:  # U
                national = True
                at = self._word(self._string(self._word(next_, b"UNISTR(\0")), b")\0")
            else:
                at = self._string(next_)
            self._settle(at, place, _CHAIN, first, at - first)
            next_ = past(self.data, blanks(self.data, at), b"||\0")
        if not national and self.cells[place + 2] == _CHAIN:
            self._refuse("|| beside a text that is not national", first)
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _number(self, at: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find a number without quotes."""
        start: cython.Py_ssize_t = at
        digits: cython.Py_ssize_t
        if self.data[at] == 0x2D or self.data[at] == 0x2B:
            at += 1
        digits = at
        at = _digits(self.data, at)
        if self.data[at] == 0x2E:
            digits += 1
            at = _digits(self.data, at + 1)
        if at == digits:
            self._refuse("a number has no digits", start)
        if self.data[at] == 0x45:  # E
            at += 1
            if self.data[at] == 0x2D or self.data[at] == 0x2B:
                at += 1
            digits = at
            at = _digits(self.data, at)
            if at == digits:
                self._refuse("an exponent has no digits", start)
        return self._settle(at, place, _NUMBER, start, at - start)


# The four below read no byte behind the zero at the end: it is no blank, no digit, and of no word.


@cython.cfunc
@cython.exceptval(check=False)
def blanks(data: cython.p_const_uchar, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where blanks end, if there are any."""
    while data[at] == 0x20 or (0x09 <= data[at] <= 0x0D):
        at += 1
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _digits(data: cython.p_const_uchar, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where digits end, if there are any."""
    while 0x30 <= data[at] <= 0x39:
        at += 1
    return at


@cython.cfunc
@cython.exceptval(check=False)
def past(data: cython.p_const_uchar, at: cython.Py_ssize_t, word: cython.p_const_uchar) -> cython.Py_ssize_t:
    """Return where a word ends that stands here; -1: it does not."""
    i: cython.Py_ssize_t = 0
    while word[i]:
        if data[at + i] != word[i]:
            return -1
        i += 1
    return at + i


@cython.cfunc
@cython.exceptval(check=False)
def _find(
    data: cython.p_const_uchar, byte: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return where a byte stands next; -1: nowhere."""
    found: cython.p_const_uchar
    if not cython.compiled:
        return data.find(byte, at, end)
    found = cython.cast(cython.p_const_uchar, memchr(cython.address(data[at]), byte, end - at))
    return -1 if found == cython.NULL else found - data
