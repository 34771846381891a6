"""A statement of SQL_REDO as the places of its cells; no cell becomes a Python object.

    insert into "S"."T"("A","B") values ('1',NULL);
    update "S"."T" a set a."B" = HEXTORAW('0e') where a."A" = '1' and a."B" IS NULL and a.ROWID = 'AAA...';
    delete from "UNKNOWN"."OBJ# 74858" where "COL 1" = HEXTORAW('c102');

What begins a large value names its row and its column.  It is an update to a value that is not there:

    DECLARE ... BEGIN select "C" into loc_c from "S"."T" where "A" = '1' for update;
    XML DOC BEGIN:  select "C" from "S"."T" where "A" = '1'
    DECLARE ... BEGIN ... Stmt := 'update "S"."T" a set a."C" = :C where a."A" = ''1'';';

In: a whole statement's bytes, in UTF-8.  Out: the operation, the names, and the cells (`cells` says what one
is, `values` reads its text).  Those of VALUES and SET come first, then those of WHERE.  The next statement
uses the same memory.

This is no parser of SQL.  It knows what LogMiner writes in a session with our formats, and whatever else
stands there raises `UnknownRedoError`: nothing is left out, and nothing is guessed.  LogMiner does not always
write an apostrophe of a value twice; then the text seems to end there, and what is behind it is refused,
unless it is itself what LogMiner writes there: no text tells `x', "B" = 'y` in SET from two columns.
"""

import cython

from wrackline.producers.sources.oracle.redo.kinds import RedoCell, RedoKind, UnknownRedoError

if not cython.compiled:
    from wrackline.producers.sources.oracle.redo.cells import RedoCells, blanks, past
else:
    from cython.cimports.wrackline.producers.sources.oracle.redo.cells import RedoCells, blanks, past

# The numbers of `kinds`, for C.
_INSERT = cython.declare(cython.int, 1)
_DELETE = cython.declare(cython.int, 2)
_UPDATE = cython.declare(cython.int, 3)
_NOTHING = cython.declare(cython.int, 0)
_BOUND = cython.declare(cython.int, 15)

_NUMBERS = cython.declare(cython.int, 5)  # of a cell
_STATEMENT = b" Stmt := '"
_MOST = cython.declare(cython.Py_ssize_t, (1 << 31) - 1)  # a place has 31 bits


@cython.final
@cython.cclass
class RedoStatement(RedoCells):
    """The last statement that was parsed; its operation is 0 if it was refused.

    The first `changed` of `count` cells are those of VALUES or SET.  `row_id_size` is -1 without a ROWID.
    """

    def __init__(self) -> None:
        super().__init__()
        self._begin(b"")

    def _begin(self, text: bytes) -> None:
        self._take(text)
        self.operation = self.changed = self.alias = 0
        self.owner_start = self.owner_size = self.table_start = self.table_size = 0
        self.row_id_start = 0
        self.row_id_size = -1

    def parse(self, text: bytes) -> int:
        """Find the cells of a statement; return its operation."""
        first: cython.int
        operation: cython.int = 0
        self._begin(text)
        if self.end > _MOST:
            self._refuse("the statement is too long", 0)
        first = self.data[0]
        try:
            if first == 0x69:  # i
                self._ended(self._insert())
                operation = _INSERT
            elif first == 0x75:  # u
                self._ended(self._update())
                operation = _UPDATE
            elif first == 0x64:  # d
                self._ended(self._delete())
                operation = _DELETE
            elif first == 0x58:  # X
                self._ended(self._select(self._word(0, b"XML DOC BEGIN:\0")))
                operation = _UPDATE
            elif first == 0x44:  # D
                operation = self._block(text)
            else:
                self._refuse("no insert, update or delete", 0)
        except UnknownRedoError:
            self._begin(text)
            raise
        self.operation = operation
        return operation

    @property
    def owner(self) -> bytes:
        """Return the owner's name."""
        return self.text[self.owner_start : self.owner_start + self.owner_size]

    @property
    def table(self) -> bytes:
        """Return the table's name."""
        return self.text[self.table_start : self.table_start + self.table_size]

    @property
    def row_id(self) -> bytes | None:
        """Return what ROWID was compared with."""
        if self.row_id_size < 0:
            return None
        return self.text[self.row_id_start : self.row_id_start + self.row_id_size]

    @property
    def changes(self) -> list[RedoCell]:
        """Return the cells of VALUES or SET."""
        return self._listed(0, self.changed)

    @property
    def conditions(self) -> list[RedoCell]:
        """Return the cells of WHERE."""
        return self._listed(self.changed, self.count)

    @cython.cfunc
    def _listed(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> list[RedoCell]:
        place: cython.Py_ssize_t
        found = []
        for place in range(_NUMBERS * first, _NUMBERS * last, _NUMBERS):
            name: cython.Py_ssize_t = self.cells[place]
            start: cython.Py_ssize_t = self.cells[place + 3]
            found.append(
                RedoCell(
                    self.text[name : name + self.cells[place + 1]],
                    RedoKind(self.cells[place + 2]),
                    self.text[start : start + self.cells[place + 4]],
                )
            )
        return found

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _insert(self) -> cython.Py_ssize_t:
        """Read the names, then as many values."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = self._table(self._word(0, b"insert into\0"))
        at = self._word(blanks(self.data, at), b"(\0")
        while True:
            at = blanks(self.data, self._column(blanks(self.data, at)))
            if self.data[at] != 0x2C:
                break
            at += 1
        at = self._word(blanks(self.data, self._word(at, b")\0")), b"values\0")
        at = self._word(blanks(self.data, at), b"(\0")
        for i in range(self.count):
            if i:
                at = self._word(at, b",\0")
            at = blanks(self.data, self._value(blanks(self.data, at), _NUMBERS * i))
        self.changed = self.count
        return self._word(at, b")\0")

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _update(self) -> cython.Py_ssize_t:
        place: cython.Py_ssize_t
        at: cython.Py_ssize_t = self._alias(self._table(self._word(0, b"update\0")))
        at = self._word(self._apart(at), b"set \0")
        while True:
            place = _NUMBERS * self.count
            at = blanks(self.data, self._column(self._prefix(blanks(self.data, at))))
            at = blanks(self.data, self._word(at, b"=\0"))
            at = self._value(at, place)
            if self.data[blanks(self.data, at)] != 0x2C:
                break
            at = blanks(self.data, at) + 1
        self.changed = self.count
        return self._where(at)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _delete(self) -> cython.Py_ssize_t:
        return self._where(self._alias(self._table(self._word(0, b"delete from\0"))))

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _block(self, text: bytes) -> cython.Py_ssize_t:
        """Read a block of PL/SQL, which selects a locator or has an update as a text."""
        end: cython.Py_ssize_t
        begin: cython.Py_ssize_t = text.find(b"BEGIN", self._word(0, b"DECLARE\0"))
        if begin < 0:
            self._refuse("a block does not begin", 0)
        begin = blanks(self.data, begin + 5)
        if past(self.data, begin, b"select \0") < 0:
            return self.parse(self._inner(text, begin))
        end = self._word(blanks(self.data, self._select(begin)), b"for update\0")
        end = blanks(self.data, end)
        if self.data[end] == 0x3B:
            end = blanks(self.data, end + 1)
        begin = past(self.data, end, b"END;\0")
        self._ended(end if begin < 0 else begin)
        return _UPDATE

    def _inner(self, text: bytes, begin: int) -> bytes:
        """Return the update that a block has as a text."""
        start = text.find(_STATEMENT, begin)
        block = text.rstrip()
        if start < 0 or not block.endswith(b"';") or not text.startswith(b"update ", start + len(_STATEMENT)):
            self._refuse("no block that is known", begin)
        return block[start + len(_STATEMENT) : len(block) - 2].replace(b"''", b"'")

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _select(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read which column of which row is selected."""
        letter: cython.uchar = 0
        at = self._word(blanks(self.data, at), b"select \0")
        if self.data[at] != 0x22:
            letter = self.data[at]
            at = self._word(at + 1, b".\0")
        at = self._column(at)
        at = blanks(self.data, self._settle(at, 0, _BOUND, at, 0))
        if past(self.data, at, b"into \0") >= 0:
            at = blanks(self.data, self._variable(at + 5))
        at = self._alias(self._table(self._word(at, b"from\0")))
        if letter and letter != self.alias:
            self._refuse("another alias before a column", at)
        self.changed = self.count
        return self._where(at)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _where(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the conditions, if there are any."""
        next_: cython.Py_ssize_t = past(self.data, self._apart(at), b"where \0")
        while next_ >= 0:
            at = self._condition(self._prefix(blanks(self.data, next_)))
            next_ = past(self.data, self._apart(at), b"and \0")
        return at

    @cython.cfunc
    @cython.exceptval(check=False)
    def _apart(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return where the next word begins: behind blanks. Without a blank none does, so it is the end."""
        at = blanks(self.data, at)
        return at if blanks(self.data, at - 1) == at else self.end

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _condition(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        place: cython.Py_ssize_t = _NUMBERS * self.count
        if self.data[at] == 0x52:  # R
            return self._row_id(at)
        at = blanks(self.data, self._column(at))
        if self.data[at] == 0x3D:
            return self._value(blanks(self.data, at + 1), place)
        at = self._word(at, b"IS NULL\0")
        return self._settle(at, place, _NOTHING, at, 0)

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _row_id(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        if self.row_id_size >= 0:
            self._refuse("a second ROWID", at)
        at = blanks(self.data, self._word(at, b"ROWID\0"))
        at = self._string(blanks(self.data, self._word(at, b"=\0")))
        if self.size == 0 or self.escapes:
            self._refuse("no row has such a ROWID", self.start)
        self.row_id_start = self.start
        self.row_id_size = self.size
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _ended(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Refuse what stands behind the statement."""
        at = blanks(self.data, at)
        if self.data[at] == 0x3B:
            at = blanks(self.data, at + 1)
        if at != self.end:
            self._refuse("more than a statement", at)
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _table(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the names of the owner and the table, behind a blank."""
        at = self._name(blanks(self.data, self._word(at, b" \0")))
        self.owner_start = self.start
        self.owner_size = self.size
        at = self._name(self._word(at, b".\0"))
        self.table_start = self.start
        self.table_size = self.size
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _alias(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read a letter that stands for the table, if there is one; return where the next word begins."""
        letter: cython.int
        behind: cython.int
        at = blanks(self.data, at)
        letter = self.data[at] | 0x20
        if 0x61 <= letter <= 0x7A:
            behind = self.data[at + 1]
            if behind == 0x20 or behind == 0x3B or behind == 0:
                self.alias = self.data[at]
                at = blanks(self.data, at + 1)
        return at

    @cython.cfunc
    @cython.exceptval(-9, check=False)
    def _prefix(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the letter before a column, where the table has one."""
        if self.alias:
            if self.data[at] != self.alias:
                self._refuse("no alias before a column", at)
            at = self._word(at + 1, b".\0")
        return at
