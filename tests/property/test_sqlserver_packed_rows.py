"""Rows from the wire to Avro, by log and by chunk, in both builds: the same bytes as cell by cell.

The measure is plain Python: each cell is an object, `cell_values.py` reads it, `form_of` writes it.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild
from tests.fuzz.sqlserver_rows import WIRE_TOKENS, Places, packed
from tests.fuzz.targets import hold
from tests.property.test_sqlserver_token_reader import PIECES, Written, batches, columns_of, written
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, ShownColumn
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.rows.row_events import BROKEN
from wrackline.producers.rows.unfit_values import MISFIT_BYTES, Unfit
from wrackline.producers.sources.sqlserver.discover.types import WireType, column_type, of_wire
from wrackline.producers.sources.sqlserver.rows.before_images import completed
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of
from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker, unpack_row
from wrackline.producers.sources.sqlserver.rows.rows import SqlServerRowDecoder
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events.frame import Frame, avro_long, avro_text
from wrackline.schemas.events.projection import Projection, project_all
from wrackline.schemas.language.masks import HashMask
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

Row = tuple[bytes | None, ...]
CELLS = st.none() | st.sampled_from((1, 2, 3, 4, 5, 8, 9, 10)).flatmap(
    lambda size: st.binary(min_size=size, max_size=size)
)
HEADER = b"\x00" + (259).to_bytes(4, "big")
UNFIT = b"sqlserver.value_unfit"


def pack(body: bytes, size: int, pieces: Sequence[int], at_once: int, first: int) -> list[bytes]:
    """Pack the rows of a message that comes in packets of this size, and in pieces of these sizes."""
    packer = RowPacker()
    return [row for batch in batches(body, size, pieces, at_once) for row in packer.pack(batch, first)]


def shape_of(types: Sequence[WireType]) -> Projection:
    columns = tuple(
        Column(f"c{number}", number, column_type(of_wire(one), column=f"d.s.t.c{number}"))
        for number, one in enumerate(types, 1)
    )
    return project_all(TableSchema(TableId("d", "s", "t"), columns, (), KeyKind.NONE))


def image(types: Sequence[WireType], cells: Sequence[bytes | None]) -> bytes:
    """Write a row to Avro cell by cell."""
    made = b"\x02"
    for wire, column, cell in zip(types, shape_of(types).table.columns, cells, strict=True):
        made += (
            b"\x00" if cell is None else b"\x02" + form_of(column.type)(reader_of(wire, column.type)(cell))
        )
    return made


def ordinals(types: Sequence[WireType]) -> list[int]:
    """Return the bit of each long column in update masks, 0 for the others."""
    return [number if of_wire(one).long else 0 for number, one in enumerate(types, 1)]


def one_by_one(types: Sequence[WireType], rows: Sequence[Row], mask: bytes) -> list[bytes]:
    """Write the beginnings of what `decoded` writes, as objects."""
    long = [(place, number) for place, number in enumerate(ordinals(types)) if number]
    found = []
    for last, row in zip([*rows[-1:], *rows], rows, strict=False):
        found += [written_or_unfit(types, None, row)] * 2
        found.append(written_or_unfit(types, completed(last, row, mask, long), row))
    return found


def written_or_unfit(types: Sequence[WireType], before: Sequence[bytes | None] | None, after: Row) -> bytes:
    try:
        return HEADER + (b"\x00" if before is None else image(types, before)) + image(types, after)
    except BROKEN:
        return UNFIT


def decoded(body: bytes, size: int, pieces: Sequence[int], at_once: int, mask: bytes) -> list[bytes]:
    """Write each row as a chunk's, as an insert's, and as an update of the row before it."""
    found: list[bytes] = []
    read = list(batches(body, size, pieces, at_once))
    types = [column.type for column in read[0].columns] if read else []
    shape = shape_of(types)
    decoder = SqlServerRowDecoder(7, shape, cell_forms(shape, types, ordinals(types)), 258, 259)
    rows = [row for batch in read for row in RowPacker().pack(batch)]
    for last, row in zip([*rows[-1:], *rows], rows, strict=False):
        for op, before in (("r", None), ("c", None), ("u", last)):
            try:
                found.append(event(decoder, op, before, row, mask))
            except WracklineError as error:
                found.append(error.code.encode())
    return found


def event(decoder: SqlServerRowDecoder, op: str, before: bytes | None, after: bytes, mask: bytes) -> bytes:
    if op == "r":
        return decoder.read(after)[1]
    made: list[RowChange] = []
    decoder.change(op, before, after, mask, Frame(b"", b"0" * 4, ts_ms=1), 0, made)
    return made[0][3]


@given(result=written(), size=st.integers(9, 300), pieces=PIECES, at_once=st.integers(1, 5), data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_packed_row_has_the_cells_of_its_row(
    plain_build: PlainBuild, result: Written, size: int, pieces: list[int], at_once: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(result.columns)))
    given = result.body, size, pieces, at_once, first
    rows = [row[first:] for row in result.cells]
    assert pack(*given) == [packed(row) for row in rows] == plain_build.call(pack, *given)
    assert [tuple(unpack_row(row)) for row in pack(*given)] == rows


@given(
    result=written(),
    size=st.integers(9, 300),
    pieces=PIECES,
    at_once=st.integers(1, 5),
    mask=st.binary(max_size=2),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_rows_of_every_type_are_written_as_their_values_are(
    plain_build: PlainBuild, result: Written, size: int, pieces: list[int], at_once: int, mask: bytes
) -> None:
    given = result.body, size, pieces, at_once, mask
    found = decoded(*given)
    (columns,) = columns_of(result.body)
    expected = one_by_one([column.type for column in columns], result.cells, mask)
    assert len(found) == len(expected)
    assert all(one.startswith(start) for one, start in zip(found, expected, strict=True))
    assert [one for one in found[::3] if one != UNFIT] == [one for one in expected[::3] if one != UNFIT]
    assert plain_build.call(decoded, *given) == found


@given(
    types=st.lists(
        st.tuples(st.integers(0, len(WIRE_TOKENS) - 2), st.binary(min_size=3, max_size=3)),
        min_size=1,
        max_size=4,
    ),
    options=st.integers(0, 7),
    data=st.data(),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cells_of_any_bytes_are_refused_or_written_as_their_values_are(
    plain_build: PlainBuild, types: list[tuple[int, bytes]], options: int, data: st.DataObject
) -> None:
    declared = b"".join(bytes([number]) + rest[:3] for number, rest in types)
    rows = [packed([data.draw(CELLS) for _ in types]) for _ in range(2)]
    size = len(rows[0]).to_bytes(2, "little")
    table = bytes([len(types) - 1, options]) + declared + data.draw(st.binary(min_size=2, max_size=2))
    given = table + size + b"".join(rows)
    hold("sqlserver-rows", given)
    plain_build.call(hold, "sqlserver-rows", given)


@pytest.mark.parametrize("length", [0, 1, 8001, 300_000, 1_500_000])
@pytest.mark.parametrize("size", [512, 32767])
def test_long_values_that_come_over_many_packets_are_packed(length: int, size: int) -> None:
    columns = tuple(ShownColumn(name, sql_type("varbinary(max)")) for name in "abc")
    value = bytes(range(251)) * (length // 251 + 1)
    row = (value[:length], None, value[: length // 3])
    body = tokens.column_metadata(columns) + tokens.row(columns, row) * 3 + tokens.done(Done.COUNT, 3)
    assert pack(body, size, [5000], 2, 0) == [packed(row)] * 3


@pytest.mark.parametrize("place", [(0, 5), (4, 1), (-1, 2), (2**31 - 1, 4), (1, 2**31 - 1), (0, -2)])
def test_a_cell_outside_of_its_batch_is_not_packed(place: tuple[int, int]) -> None:
    columns = [ShownColumn(name, sql_type("varbinary(8)")) for name in "ab"]
    batch = TdsBatch(columns, bytearray(4), array("i", [0, 4, *place]), 1, 0)  # type: ignore[arg-type] # only counted
    with pytest.raises(IndexError, match="a cell"):
        RowPacker().pack(batch)


@pytest.mark.parametrize("first", [-1, 3])
def test_columns_that_a_batch_lacks_are_not_packed(first: int) -> None:
    columns = [ShownColumn(name, sql_type("varbinary(8)")) for name in "ab"]
    batch = TdsBatch(columns, bytearray(4), array("i", [0, 4, 0, -1]), 1, 0)  # type: ignore[arg-type] # only counted
    with pytest.raises(IndexError, match="fewer cells"):
        RowPacker().pack(batch, first)


@pytest.mark.parametrize(("width", "rows"), [(1, 1), (2, 1), (1, 2), (3, 5)])
def test_a_batch_that_has_fewer_places_than_cells_is_not_packed(width: int, rows: int) -> None:
    """The compiled build would read behind them."""
    places = array("i", [0, 1] * width * rows)
    assert RowPacker().pack(Places(width, bytearray(b"a"), places, rows)) == [packed([b"a"] * width)] * rows
    places.pop()
    with pytest.raises(IndexError, match="fewer cells"):
        RowPacker().pack(Places(width, bytearray(b"a"), places, rows))


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_rows_are_packed_from_a_column_on(first: int) -> None:
    """The cells are at both ends of the buffer, too."""
    cells = [b"a", b"b", None, b"", b"cd", b"e"]
    batch = Places(3, bytearray(b"abcde"), array("i", [0, 1, 1, 1, 0, -1, -3, 0, 2, 2, 4, 1]), 2)
    assert RowPacker().pack(batch, first) == [packed(cells[first:3]), packed(cells[3 + first :])]


def test_a_batch_can_grow_once_it_was_packed() -> None:
    packer, places = RowPacker(), array("i", [0, 1])
    for _ in range(2):
        packer.pack(Places(1, bytearray(b"a"), places, 1))
        places.append(0)


def test_a_cell_of_16_mib_has_its_whole_length() -> None:
    size = (1 << 24) + (1 << 16) + 257
    (row,) = RowPacker().pack(Places(1, bytearray(size), array("i", [0, size]), 1))
    assert row == packed([bytes(size)])


@pytest.mark.parametrize("size", [255, 256, 65_793, (1 << 24) + 65_793])
def test_a_cell_of_any_length_is_found(size: int) -> None:
    types = [WireType(0xA5, 0xFFFF), WireType(0x26, 4)]
    shape = shape_of(types)
    decoder = SqlServerRowDecoder(7, shape, cell_forms(shape, types), 258, 259)
    written = avro_long(size) + bytes(size) + b"\x02\x0e"
    assert decoder.read(packed([bytes(size), b"\x07\0\0\0"]))[1] == HEADER + b"\x00\x02\x02" + written


def test_a_mask_that_is_longer_than_its_value_has_room() -> None:
    """Forty of them, because a small row always has room."""
    types = [WireType(0xE7, 20)] * 40
    every, mask = shape_of(types), HashMask("sha512", b"salt")
    shape = replace(every, actions=(mask,) * 40)
    decoder = SqlServerRowDecoder(7, shape, cell_forms(shape, types), 258, 259)
    hashed = avro_text(mask(b"a").decode())
    written = HEADER + b"\x00\x02" + (b"\x02" + hashed) * 40
    assert decoder.read(packed([b"a\0"] * 40))[1] == written


def test_a_row_that_does_not_fit_is_counted_with_its_report_and_the_next_has_none() -> None:
    types = [WireType(0x26, 4), WireType(0xE7, 20)]
    every = shape_of(types)
    table = replace(every.table, key=("c1",), key_kind=KeyKind.PRIMARY)
    shape = replace(every, source=table, table=table, on_unfit=(OnUnfit.STOP, OnUnfit.NULL))
    decoder = SqlServerRowDecoder(7, shape, cell_forms(shape, types), 258, 259)
    for cell, report in ((b"\x3d\xd8", MISFIT_BYTES), (b"a\0", 0)):
        made: list[RowChange] = []
        row = packed([b"\x07\0\0\0", cell])
        size = decoder.change("c", None, row, b"", Frame(b"", b"0" * 4, ts_ms=1), 0, made)
        ((_, _, key, value, _),) = made
        assert size == report + len(key or b"") + len(value)
        found = decoder.misfit
        assert (found and (found.row, found.first, found.end)) == ((0, 0, 1) if report else None)


@given(result=written(most_columns=3, most_rows=1).filter(lambda one: one.cells != ()))
@settings(max_examples=30)
def test_a_row_that_does_not_match_its_columns_is_refused(result: Written) -> None:
    (columns,) = columns_of(result.body)
    types = [column.type for column in columns]
    shape = shape_of(types)
    decoder = SqlServerRowDecoder(7, shape, cell_forms(shape, types), 258, 259)
    (row,) = pack(result.body, 4096, (), 1, 0)
    for wrong in (*(row[:length] for length in range(len(row))), row + b"\x00", row + b"\xff" * 4):
        with pytest.raises(WracklineError) as caught:
            decoder.read(wrong)
        assert caught.value.code == "sqlserver.row_unreadable"


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little", signed=value < 0)


def read_packed(wire: WireType, kind: ColumnType, cell: bytes) -> bytes:
    """Return what the compiled decoder writes of a cell."""
    shape = project_all(TableSchema(TableId("d", "s", "t"), (Column("c", 1, kind),), (), KeyKind.NONE))
    decoder = SqlServerRowDecoder(1, shape, cell_forms(shape, [wire]), 1, 2)
    return decoder.read(packed([cell]))[1].removeprefix(b"\0\0\0\0\2\0\2\2")


LAST_TICK, LAST_DAY = 863_999_999_999, 3_652_058


@pytest.mark.parametrize(
    ("wire", "last", "beyond"),
    [
        (WireType(0x29, scale=7), number(LAST_TICK, 5), number(LAST_TICK + 1, 5)),
        (WireType(0x2A, scale=0), number(86_399, 3) + bytes(3), number(86_400, 3) + bytes(3)),
        (WireType(0x2A, scale=7), bytes(5) + number(LAST_DAY, 3), bytes(5) + number(LAST_DAY + 1, 3)),
        (WireType(0x2B, scale=7), bytes(8) + number(840, 2), bytes(8) + number(841, 2)),
        (WireType(0x2B, scale=7), bytes(7) + b"\1" + number(-840, 2), bytes(7) + b"\1" + number(-841, 2)),
        (WireType(0x28), number(LAST_DAY, 3), number(LAST_DAY + 1, 3)),
        (WireType(0x6F, 4), number(1439, 4)[2:] + number(1439, 2), bytes(2) + number(1440, 2)),
        (WireType(0x6F, 8), bytes(4) + number(25_919_999, 4), bytes(4) + number(25_920_000, 4)),
        (WireType(0x6F, 8), number(2_958_463, 4) + bytes(4), number(2_958_464, 4) + bytes(4)),
        (WireType(0x6F, 8), number(-693_595, 4) + bytes(4), number(-693_596, 4) + bytes(4)),
    ],
)
def test_a_moment_that_no_server_stores_is_refused(wire: WireType, last: bytes, beyond: bytes) -> None:
    """Both in plain Python, as a value and as a text, and compiled: a chunk's row."""
    for as_text in (False, True):
        kind = column_type(of_wire(wire), column="c", as_text=as_text)
        assert read_packed(wire, kind, last) == form_of(kind)(reader_of(wire, kind)(last))
        with pytest.raises((Unfit, ValueError)):
            reader_of(wire, kind)(beyond)
        with pytest.raises(OperatorNeeded) as caught:
            read_packed(wire, kind, beyond)
        assert caught.value.code == "sqlserver.value_unfit"


def wide(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def exactly(value: int, size: int) -> bytes:
    """Write an unscaled decimal: its sign, and so many bytes."""
    return bytes([value >= 0]) + number(abs(value), size)


MONEY, SMALLMONEY, EXACT = WireType(0x6E, 8), WireType(0x6E, 4), WireType(0x6C, 17, 38, 2)
WIDE, NARROW = WireType(0xE7, 200), WireType(0xA7, 200, collation=b"\x09\x04\xd0\x00\x34")


@pytest.mark.parametrize(
    ("wire", "cell"),
    [
        *[(SMALLMONEY, number(value, 4)) for value in (0, 1, -1, 2**31 - 1, -(2**31))],
        *[
            (MONEY, number(value >> 32, 4) + number(value & 0xFFFFFFFF, 4))
            for value in (0, 1, -1, 2**31, 2**32 - 1, 2**32, -(2**32), 2**63 - 1, -(2**63))
        ],
        *[
            (EXACT, exactly(sign * value, size))
            for sign in (1, -1)
            for value, size in (
                (0, 4),
                (127, 4),
                (128, 4),
                (2**63 - 1, 8),
                (2**63, 8),
                (2**63, 12),
                (2**64 - 1, 8),
                (2**64, 12),
                (2**127, 16),
                (10**38 - 1, 16),
            )
        ],
        *[
            (WIDE, wide(text))
            for text in ("", "\x7f\x80", "\u07ff\u0800", "\ud7ff\ue000", "\U00010000\U0010ffff")
        ],
        *[(NARROW, cell) for cell in (b"", b"a\x7f", b"a\x80", b"\xe4")],
    ],
)
def test_a_value_at_a_limit_is_written_as_its_value_is(wire: WireType, cell: bytes) -> None:
    kind = column_type(of_wire(wire), column="c")
    assert read_packed(wire, kind, cell) == form_of(kind)(reader_of(wire, kind)(cell))


@pytest.mark.parametrize(
    "units",
    [(0xD800,), (0xDBFF,), (0xDC00,), (0xDFFF,), (0xD800, 97), (0xDC00, 0xD800), (97, 0xD800, 0xE000)],
)
def test_half_of_a_pair_does_not_fit_whatever_follows_its_cell(units: tuple[int, ...]) -> None:
    """The length of the next cell may look like the other half."""
    long = WireType(0xE7, 0xFFFF)
    kind = column_type(of_wire(long), column="c")
    columns = (Column("c", 1, kind), Column("d", 2, kind))
    shape = project_all(TableSchema(TableId("d", "s", "t"), columns, (), KeyKind.NONE))
    decoder = SqlServerRowDecoder(1, shape, cell_forms(shape, [long, long]), 1, 2)
    half = b"".join(number(unit, 2) for unit in units)
    for after in (b"", bytes(0xDC00), bytes(0xDD00)):
        with pytest.raises(OperatorNeeded) as caught:
            decoder.read(packed([half, after]))
        assert caught.value.code == "sqlserver.value_unfit"


@given(st.integers(0, LAST_TICK), st.integers(0, LAST_DAY), st.integers(-840, 840))
@example(ticks=0, days=LAST_DAY, offset=0)
@example(ticks=0, days=730_178, offset=0)  # 2000-02-29
@example(ticks=0, days=693_653, offset=0)  # 1900-02-28
@example(ticks=0, days=693_654, offset=0)
@example(ticks=10**7 // 4, days=365, offset=60)
def test_a_moment_with_a_zone_is_packed_as_its_value_is_written(ticks: int, days: int, offset: int) -> None:
    wire = WireType(0x2B, scale=7)
    cell = number(ticks, 5) + number(days, 3) + number(offset, 2)
    for instants in (Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS):
        kind = column_type(of_wire(wire), column="c", instants=instants)
        assert read_packed(wire, kind, cell) == form_of(kind)(reader_of(wire, kind)(cell))
