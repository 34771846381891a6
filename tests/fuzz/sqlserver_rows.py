"""SQL Server's packed rows: any cells of any declared types, against the same written cell by cell.

    columns, options | 4 bytes for each column | mask (2) | length (2) | before | after

A column has its type, its scale and collation, its size, and flags.  `before` and `after` are packed rows.
`before` is also the places of a batch, and of a page of a change table; the whole input is its buffer.  A row
is refused with the code that is meant, or its events begin with the bytes that `cell_values.py` and `form_of`
make of its cells.
"""

from array import array
from collections.abc import MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass

from wrackline.producers.contract.steps import RowChange
from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.rows.row_events import BROKEN
from wrackline.producers.rows.unfit_values import SettledRow
from wrackline.producers.sources.sqlserver.discover.types import WireType, column_type, of_wire
from wrackline.producers.sources.sqlserver.rows.before_images import completed
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of
from wrackline.producers.sources.sqlserver.rows.packed_row import CellBatch, RowPacker, unpack_row
from wrackline.producers.sources.sqlserver.rows.rows import SqlServerRowDecoder
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

WIRE_TOKENS = bytes.fromhex(
    "22 23 24 26 28 29 2a 2b 30 32 34 38 3a 3b 3c 3d 3e 62"
    "63 68 6a 6c 6d 6e 6f 7a 7f a5 a7 ad af e7 ef f0 f1 99"
)
_WIDTHS = {0x24: 16, 0x28: 3, 0x30: 1, 0x32: 1, 0x34: 2, 0x38: 4, 0x3A: 4, 0x3B: 4, 0x3C: 8, 0x3D: 8, 0x3E: 8}
_WIDTHS |= {0x68: 1, 0x7A: 4, 0x7F: 8}
_TIME_WIDTHS, _BESIDE_TIMES = (3, 3, 3, 4, 4, 5, 5, 5), {0x29: 0, 0x2A: 3, 0x2B: 5}
AS_TEXT, INSTANT, DROPPED, KEYED, LONG, NULLABLE = (1 << bit for bit in range(6))
CHANGED_ONLY = 4
_POLICIES = (None, OnUnfit.NULL, OnUnfit.LETTER, None)
_FRAME = Frame(b"\0" * 9, b"00" * 11, ts_ms=5)
_HEADERS = [b"\0" + number.to_bytes(4, "big") for number in (258, 259)]
_SIZES = {0x26: (1, 2, 4, 8), 0x6D: (4, 8), 0x6E: (4, 8), 0x6F: (4, 8)}
_UNREADABLE, _UNFIT = "sqlserver.row_unreadable", "sqlserver.value_unfit"

Cells = Sequence[bytes | None]
Event = tuple[str, bytes | None, bytes]  # its operation, its key, how its value begins


@dataclass(frozen=True)
class Places:
    """A batch as places say it, right or wrong."""

    width: int
    data: bytearray
    places: MutableSequence[int]
    rows: int

    def __len__(self) -> int:
        return self.rows


def packed(cells: Cells) -> bytes:
    """Pack a row cell by cell."""
    return b"".join(b"\xff" * 4 if one is None else len(one).to_bytes(4, "little") + one for one in cells)


def sqlserver_rows(data: bytes) -> None:
    """Pack, then decode, and compare."""
    count, options = 1 + data[0] % 4, data[1]
    declared, rest = data[2 : 2 + 4 * count], data[2 + 4 * count :]
    mask, size, rows = rest[:2], int.from_bytes(rest[2:4], "little"), rest[4:]
    if len(rest) < 4:
        return
    before, after = rows[:size], rows[size:]
    _pack(bytearray(data), before, count)
    table = DeclaredTable(declared, changed_only=bool(options & CHANGED_ONLY), policy=_POLICIES[options % 4])
    for old, new in ((None, after), (before, after), (before, None)):
        table.change(old, new, mask)
    table.read(after)


def _pack(data: bytearray, given: bytes, width: int) -> None:
    places = array("i", array("h", given[: len(given) // 2 * 2]))
    batch = Places(width, data, places, len(places) // (2 * width))
    found: list[bytes] | None = None
    expected: list[bytes] | None = None
    with suppress(IndexError):
        found = RowPacker().pack(batch)
    with suppress(IndexError):
        expected = [
            packed([_cell(batch, row * width + at) for at in range(width)]) for row in range(len(batch))
        ]
    if found != expected:
        raise AssertionError("packed differently")
    page = Places(width + 5, data, places, len(places) // (2 * width + 10))
    with suppress(IndexError, ValueError):
        if [image for _, _, image in RowPacker().change_rows(page, 7)] != RowPacker().pack(page, 5):
            raise AssertionError("packed differently")


def _cell(batch: CellBatch, place: int) -> bytes | None:
    start, size = batch.places[2 * place], batch.places[2 * place + 1]
    if size < -1 or (size > 0 and not 0 <= start <= len(batch.data) - size):
        raise IndexError
    return None if size == -1 else bytes(batch.data[start : start + size]) if size else b""


class DeclaredTable:
    """A table with any columns, both ways."""

    def __init__(self, declared: bytes, *, changed_only: bool, policy: OnUnfit | None) -> None:
        wires, columns, actions, long = [], [], [], []
        key: list[str] = []
        for number in range(1, 1 + len(declared) // 4):
            token, scale, size, flags = declared[4 * number - 4 : 4 * number]
            wire = WireType(
                WIRE_TOKENS[token % len(WIRE_TOKENS)],
                0xFFFF if size == 255 else size,
                38,
                scale % 8,
                bytes([scale, 4, 0, 0, 0]),
            )
            type_ = column_type(
                of_wire(wire),
                column=f"d.s.t.c{number}",
                as_text=bool(flags & AS_TEXT),
                instants=Kind.INSTANT_MICROS if flags & INSTANT else Kind.ZONED_TIMESTAMP,
                keyed=bool(flags & KEYED),
            )
            wires.append(wire)
            columns.append(Column(f"c{number}", number, type_, nullable=bool(flags & NULLABLE)))
            actions.append(Plain.DROP if flags & DROPPED and not flags & KEYED else Plain.KEEP)
            long.append(number if flags & LONG else 0)
            key += [f"c{number}"] if flags & KEYED else []
        self._kept = [at for at, action in enumerate(actions) if action is Plain.KEEP]
        shown = tuple(columns[at] for at in self._kept)
        kind = KeyKind.PRIMARY if key else KeyKind.NONE
        source, table = (
            TableSchema(TableId("d", "s", "t"), part, tuple(key), kind) for part in (tuple(columns), shown)
        )
        policies = [] if policy is None else [OnUnfit.STOP if one.name in key else policy for one in shown]
        shape = Projection(source, table, tuple(actions), tuple(policies))
        self._table, self._policy, self._changed_only = table, policy, changed_only
        self._width = len(columns)
        self._long = [(place, long[at]) for place, at in enumerate(self._kept) if long[at]]
        pairs = [(wires[at], columns[at].type) for at in self._kept]
        self._forms = [(_width(wire), reader_of(wire, type_), form_of(type_)) for wire, type_ in pairs]
        self._decoder = SqlServerRowDecoder(
            3, shape, cell_forms(shape, wires, long), 258, 259, changed_only=changed_only
        )

    def change(self, before: bytes | None, after: bytes | None, mask: bytes) -> None:
        """Decode a change."""
        op = "c" if before is None else "d" if after is None else "u"
        made: list[RowChange] = []
        found: str | list[Event]
        expected = self._expected(before, after, mask)
        try:
            self._decoder.change(op, before, after, mask, _FRAME, 0, made)
        except WracklineError as error:
            found = error.code
        else:
            found = [(one[1], one[2], one[3]) for one in made]
        if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
            pairs = zip(found, expected, strict=True)
            found = [(*one[:2], one[2][: len(other[2])]) for one, other in pairs]
        if found != expected and (self._policy is None or expected != _UNFIT):
            raise AssertionError("decoded differently")

    def read(self, row: bytes) -> None:
        """Read a chunk's row."""
        found: str | list[Event]
        expected = self._expected(None, row, b"")
        try:
            key, value = self._decoder.read(row)
            found = [("c", key, value)]
        except WracklineError as error:
            found = error.code
        except SettledRow:
            found = _UNFIT
        if found != expected:
            raise AssertionError("read differently")

    def _expected(self, before: bytes | None, after: bytes | None, mask: bytes) -> str | list[Event]:
        old, new = self._cells(before), self._cells(after)
        if (old is None and before is not None) or (new is None and after is not None):
            return _UNREADABLE
        if old is not None and new is not None:
            old = completed(old, new, mask, self._long)
        try:
            return self._events(old, new)
        except BROKEN:
            return _UNFIT

    def _cells(self, row: bytes | None) -> Cells | None:
        cells = [] if row is None else unpack_row(row)
        if row is None or len(cells) != self._width or packed(cells) != row:
            return None
        return [cells[at] for at in self._kept]

    def _events(self, old: Cells | None, new: Cells | None) -> list[Event]:
        gone, made = self._image(old), self._image(new)
        if new is None:
            return [("d", self._key(old), _HEADERS[1] + gone + b"\0")]
        key = self._key(new)
        if old is None:
            return [("c", key, _HEADERS[1] + b"\0" + made)]
        old_key = self._key(old)
        if old_key != key:
            return [("d", old_key, _HEADERS[1] + gone + b"\0"), ("c", key, _HEADERS[1] + b"\0" + made)]
        return [] if self._changed_only and gone == made else [("u", key, _HEADERS[1] + gone + made)]

    def _image(self, cells: Cells | None) -> bytes:
        if cells is None:
            return b"\0"
        return b"\2" + b"".join(
            b"\0" if one is None else b"\2" + self._avro(at, one) for at, one in enumerate(cells)
        )

    def _key(self, cells: Cells | None) -> bytes | None:
        if cells is None or not self._table.key:
            return None
        made = _HEADERS[0]
        for at, column in enumerate(self._table.columns):
            cell = cells[at]
            if column.name not in self._table.key:
                continue
            if cell is None and not column.nullable:
                raise ValueError("a part of the key is missing")
            made += b"\2" if column.nullable and cell is not None else b""
            made += b"\0" if cell is None else self._avro(at, cell)
        return made

    def _avro(self, at: int, cell: bytes) -> bytes:
        width, reader, form = self._forms[at]
        if width and len(cell) != width:
            raise ValueError("a cell has another size than its type")
        value = reader(cell)
        return cell if value != value else form(value)  # noqa: PLR0124 - a NaN's bits are lost in a float


def _width(wire: WireType) -> int:
    """Return the size that cells must have."""
    if wire.token in _SIZES:
        return wire.size if wire.size in _SIZES[wire.token] else 0  # no server declares another: any cell
    if wire.token in _BESIDE_TIMES:
        return _TIME_WIDTHS[wire.scale] + _BESIDE_TIMES[wire.token]
    return _WIDTHS.get(wire.token, 0)
