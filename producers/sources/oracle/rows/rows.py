"""Statements of SQL_REDO into events: from the text of a row to Avro, no object for each column.

    insert     VALUES                          -> c
    delete     WHERE                           -> d
    update     WHERE, and SET laid over it     -> u, or, where the key changed: d of the old, c of the new
    locator    WHERE, and a column of LOBs     -> u without that column
    a chunk's row                              -> key and event up to `source`

The columns of a statement come in the table's order, so a column's name is compared with the expected one
first.  A value that SQL_REDO does not have is named by the event: it did not change (LOBs that an update does
not touch), or the row is read again by its key.
"""

from array import array
from collections.abc import Sequence

import cython

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.steps import RowChange, Unsent
from wrackline.producers.rows.row_events import BROKEN, reason_of
from wrackline.producers.rows.unfit_values import (
    MISFIT_BYTES,
    AnyFailure,
    UnfitColumns,
    UnfitPlace,
    columns_that_could_stop,
    error_fields,
)
from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import KEY_NEEDED
from wrackline.producers.sources.oracle.redo.kinds import UnknownColumnsError, UnknownRedoError
from wrackline.producers.sources.oracle.rows.cell_forms import cell_forms
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.frame import unchanged_columns
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.events.unavailable import placeholder_bytes
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.rows.row_events import NULL, UNSENT, Cells, RowEvents
    from wrackline.producers.sources.oracle.redo.statement import RedoStatement
    from wrackline.producers.sources.oracle.rows.cells import put_value
    from wrackline.schemas.events.avro_writer import put_raw
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.producers.rows.row_events import NULL, UNSENT, Cells, RowEvents
    from cython.cimports.wrackline.producers.sources.oracle.redo.statement import RedoStatement
    from cython.cimports.wrackline.producers.sources.oracle.rows.cells import put_value
    from cython.cimports.wrackline.schemas.events.avro_writer import put_raw
    from cython.cimports.wrackline.schemas.events.frame import Frame

VALUE_UNFIT = define(
    "oracle.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text = '{listed}' to carry the columns as text that are not text yet, or"
    " column.unfit.letter = '{could}' to set only such rows aside, or correct the row in the source;"
    " then read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)

# Values of such columns are likely not to fit, so an error names all such columns of the table.
MAY_NOT_FIT = frozenset({Kind.DECIMAL, Kind.INT64, Kind.TIMESTAMP_MICROS})

_INSERTED = cython.declare(cython.longlong, 99)  # c
_INSERT = cython.declare(cython.int, 1)
_DELETE = cython.declare(cython.int, 2)
_UPDATE = cython.declare(cython.int, 3)
_NUMBERS = cython.declare(cython.int, 5)  # of a cell
_NOTHING = cython.declare(cython.int, 0)  # kinds of RedoKind
_EMPTY_CLOB = cython.declare(cython.int, 12)  # from here on SQL_REDO does not have the value
_BOUND = cython.declare(cython.int, 15)
_BYTES = cython.declare(cython.int, 32)  # cells.py's kind of bytes

# What an extended text seems to be in a new row, before the rows that have it; a real one reads the same.
_EMPTY_EXTENDED = b"LM_EMPTY_STRING"
_EMPTY_SIZE = cython.declare(cython.Py_ssize_t, 15)


@cython.final
@cython.cclass
class OracleRowDecoder(RowEvents):
    """The rows of one table at one shape, in the log or in a chunk."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        types: Sequence[OracleType],
        key_id: int,
        value_id: int,
        placeholder: bytes = b"",
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape and its columns' types, and its schemas' ids.

        `placeholder` replaces a value that SQL_REDO does not have; none: null.  `changed_only`: an update
        that changes no published value is not an event.
        """
        forms = cell_forms(shape, types)
        unavailable = tuple(placeholder_bytes(column.type, placeholder) for column in shape.table.columns)
        super().__init__(
            ref,
            shape,
            key_id,
            value_id,
            bytes(form.growth for form in forms),
            unavailable,
            changed_only=changed_only,
        )
        self.beside += sum(form.beside for form in forms)
        self.done = bytes(form.done for form in forms)
        self.scales = array("q", [form.scale for form in forms] or [0])
        self.read_kinds = bytes(form.read_kind for form in forms)
        self.lacks = bytes(form.may_lack for form in forms)
        self.never = bytes(form.never for form in forms)
        self.makes = [form.make for form in forms]
        names = [column.name.encode() for column in shape.source.columns]
        self.names = b"".join(names)
        self.name_sizes = array("q", [len(name) for name in names] or [0])
        self.name_starts = array("q", [sum(map(len, names[:place])) for place in range(len(names))] or [0])
        slots, slot = [], 0
        for action in shape.actions:
            slots.append(-1 if action is Plain.DROP else slot)
            slot += action is not Plain.DROP
        self.slots = array("q", slots or [-1])
        self.known = len(names)
        self.seen = bytearray(max(self.known, 1))
        self.new = Cells(self.count)
        self.old = Cells(self.count)
        self.statement = RedoStatement()
        self.again = False  # whether the last change has a value that SQL_REDO does not have
        self.misfit: UnfitPlace | None = None  # of the change that was decoded last

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def change(
        self,
        operation: cython.int,
        redo: bytes,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the events of one statement; return their bytes, and those of a report that it does not fit.

        A text that is not what LogMiner writes raises `UnknownRedoError`, and one that is of another version
        of the table `UnknownColumnsError`.
        """
        changed: cython.Py_ssize_t
        lenient: cython.bint
        old: Cells | None = None
        new: Cells | None = None
        unsent: Unsent | None = None
        self.misfit = None
        found: cython.int = self.statement.parse(redo)
        if found != operation and (found != _UPDATE or operation <= _UPDATE):
            raise UnknownRedoError("the statement does not do what its row says", 0)
        changed = self.statement.changed
        self.again = False
        if found == _INSERT:
            new = self.new
            self.again = self._take(0, changed, new)
            self._complete(new, False)
        else:
            old = self.old
            self._take(changed, self.statement.count, old)
            lenient = changed == 1 and self.statement.cells[2] == _BOUND
            self._complete(old, lenient)
            if found == _UPDATE:
                new = self.new
                self._copy()
                self.again = self._take(0, changed, new)
        if new is not None:
            unsent = self._unsent(new)
        if self.key_size == 0:
            self._refuse_gaps(new)
            self._refuse_gaps(old)
        data: bytes = self.statement.text
        suppresses: cython.bint = self.changed_only
        self.changed_only = suppresses and not self.again
        try:
            if old is None:
                return self._insert(data, unsent, frame, ordinal, events)
            if new is None:
                return self.deleted(data, old, frame, ordinal, events)
            return self.updated(data, old, new, unsent, frame, ordinal, events)
        except BROKEN as exc:
            op = "c" if old is None else "d" if new is None else "u"
            return self._settle(op, data, old, new, unsent, frame, ordinal, events, exc)
        finally:
            self.changed_only = suppresses

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _insert(
        self,
        data: bytes,
        unsent: Unsent | None,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a new row; it may lack values."""
        if unsent is None:
            return self.inserted(data, self.new, frame, ordinal, events)
        key = self.key(data, self.new) or b""  # a table without a key was refused
        unchanged: bytes = unchanged_columns(unsent.columns)
        value = self.value(data, None, self.new, frame, _INSERTED, unchanged, ordinal)
        events.append((self.ref, "c", key, value, unsent))
        return len(key) + len(value)

    @cython.ccall
    def read(self, fields: Fields) -> ChunkRow:
        """Return the key of a row of a chunk, and its event up to `source`; fields of published columns."""
        i: cython.int
        at: cython.Py_ssize_t = 0
        pieces = []
        new = self.new
        if len(fields) != self.count:
            raise UnknownColumnsError("a row of a chunk has another number of columns")
        for i in range(self.count):
            field = fields[i]
            new.starts[i] = at
            new.sizes[i] = 0
            if field is None:
                new.kinds[i] = NULL
                continue
            if isinstance(field, bytes):
                new.kinds[i] = _BYTES
                piece = field
            else:
                if not isinstance(field, (str, int, float)):
                    raise TypeError("a cell is an object of the driver, and no value")
                new.kinds[i] = self.read_kinds[i]
                piece = field.encode() if isinstance(field, str) else repr(field).upper().encode()
            pieces.append(piece)
            new.sizes[i] = len(piece)
            at += len(piece)
        row = b"".join(pieces)
        try:
            return self.chunk_row(row, new)
        except BROKEN as exc:
            try:
                settled = self.settled_row(row, new, {}, exc)
            except BROKEN as stops:
                raise self.unfit(stops) from None
            raise settled from None

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def put_cell(
        self,
        out: cython.p_uchar,
        at: cython.Py_ssize_t,
        limit: cython.Py_ssize_t,
        column: cython.int,
        data: cython.p_const_uchar,
        cells: Cells,
    ) -> cython.Py_ssize_t:
        """Write one value that is not null."""
        start: cython.Py_ssize_t = cells.starts[column]
        size: cython.Py_ssize_t = cells.sizes[column]
        kind: cython.int = cells.kinds[column]
        done: cython.int = self.done[column]
        if done:
            end: cython.Py_ssize_t = put_value(
                out, at, limit, done, self.scales[column], kind, data, start, size
            )
            if end >= 0:
                return end
        made: bytes = self.makes[column](kind, bytes(data[start : start + size]))
        return put_raw(out, at, limit, made, 0, len(made))

    def unfit(self, error: Exception) -> Exception:
        """Return an error that names the columns; never a value, which a codec's error text would show."""
        columns = error.columns if isinstance(error, UnfitColumns) else {self.column: reason_of(error)}
        return VALUE_UNFIT(
            **error_fields(
                self.table, columns, columns_that_could_stop(self.table, self.on_unfit, MAY_NOT_FIT)
            )
        )

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _take(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t, cells: Cells) -> cython.bint:
        """Take cells of the statement; return whether SQL_REDO lacks the value of one of them."""
        at: cython.Py_ssize_t
        place: cython.Py_ssize_t
        start: cython.Py_ssize_t
        column: cython.int = -1
        kind: cython.int
        slot: cython.longlong
        lacks: cython.bint = False
        for place in range(self.known):
            self.seen[place] = 0
        for at in range(first, last):
            place = _NUMBERS * at
            column = self._find(self.statement.cells[place], self.statement.cells[place + 1], column + 1)
            if self.seen[column]:
                raise UnknownColumnsError("a statement has a column twice")
            self.seen[column] = 1
            slot = self.slots[column]
            if slot < 0:
                continue
            kind = self.statement.cells[place + 2]
            cells.starts[slot] = start = self.statement.cells[place + 3]
            cells.sizes[slot] = self.statement.cells[place + 4]
            if kind == _NOTHING:
                cells.kinds[slot] = NULL
            elif (kind >= _EMPTY_CLOB or self.never[slot]) or (
                self.lacks[slot]
                and cells.sizes[slot] == _EMPTY_SIZE
                and self.statement.text[start : start + _EMPTY_SIZE] == _EMPTY_EXTENDED
            ):
                cells.kinds[slot] = UNSENT
                cells.sizes[slot] = 0
                lacks = True
            else:
                cells.kinds[slot] = kind
        return lacks

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _complete(self, cells: Cells, lenient: cython.bint) -> cython.int:
        """Note which columns a row does not have; `lenient`: it is read again anyway."""
        column: cython.int
        slot: cython.longlong
        for column in range(self.known):
            slot = self.slots[column]
            if self.seen[column] or slot < 0:
                continue
            if not (lenient or self.lacks[slot]):
                raise UnknownColumnsError("a statement lacks a column")
            cells.kinds[slot] = UNSENT
            cells.starts[slot] = cells.sizes[slot] = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _find(self, start: cython.Py_ssize_t, size: cython.Py_ssize_t, expected: cython.int) -> cython.int:
        """Return the place of a column's name; those behind the last one are looked at first."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        column: cython.int = expected
        data: cython.p_const_uchar = self.statement.text
        names: cython.p_const_uchar = self.names
        for _ in range(self.known):
            if column >= self.known:
                column = 0
            if self.name_sizes[column] == size:
                at = self.name_starts[column]
                i = 0
                while i < size and names[at + i] == data[start + i]:
                    i += 1
                if i == size:
                    return column
            column += 1
        raise UnknownColumnsError("a statement has an unknown column")

    @cython.cfunc
    def _copy(self) -> None:
        """Begin the new row with the old one."""
        i: cython.int
        for i in range(self.count):
            self.new.kinds[i] = self.old.kinds[i]
            self.new.starts[i] = self.old.starts[i]
            self.new.sizes[i] = self.old.sizes[i]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _lacks(self, cells: Cells) -> cython.bint:
        i: cython.int
        for i in range(self.count):
            if cells.kinds[i] == UNSENT:
                return True
        return False

    def _names(self, cells: Cells) -> tuple[str, ...]:
        return tuple(column.name for i, column in enumerate(self.table.columns) if cells.kinds[i] == UNSENT)

    @cython.cfunc
    def _unsent(self, cells: Cells) -> Unsent | None:
        if not self._lacks(cells):
            return None
        return Unsent(self._names(cells), None, bool(self.again))

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _refuse_gaps(self, cells: Cells | None) -> cython.int:
        """Refuse a row that lacks values, because nothing could find it again."""
        if cells is not None and self._lacks(cells):
            raise KEY_NEEDED(column=self._names(cells)[0], table=self.table.id)
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _settle(
        self,
        op: str,
        data: bytes,
        old: Cells | None,
        new: Cells | None,
        unsent: Unsent | None,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
        failed: AnyFailure,
    ) -> cython.Py_ssize_t:
        """Append the events of a row that does not fit; unless it is published, note its report."""
        first = len(events)
        try:
            misfit = self.settled(op, data, old, new, {}, {}, unsent, frame, ordinal, events, failed)
        except BROKEN as stops:
            raise self.unfit(stops) from None
        beside = 0
        if misfit is not None:
            self.misfit = UnfitPlace(0, first, len(events), misfit)
            beside = MISFIT_BYTES
        return beside + sum(len(change[2] or b"") + len(change[3]) for change in events[first:])
