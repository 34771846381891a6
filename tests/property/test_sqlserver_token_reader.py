"""The token reader: a row's cells are the bytes that were written, wherever packets and pieces of bytes end.

The stand-in writes, in every form that the protocol has; python-tds, which never saw either, reads the same
bytes.  Bytes that end too early, or lie about their lengths, give an error with a code, and never a row.
"""

import datetime as dt
import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild
from tests.property.test_sqlserver_standin import typed
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.packets import cut
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type, type_info
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import Cell, Variant, _core, put
from wrackline.producers.sources.sqlserver.discover.types import of_wire
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of
from wrackline.producers.sources.sqlserver.wire.result_columns import ByteCursor, read_columns
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch, TdsReader, TdsToken
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.types import ColumnType, Kind

ANSWER = 4
MOST = 1 << 21
Row = tuple[bytes | None, ...]


@dataclass(frozen=True)
class Written:
    """A result: its columns, its rows as they are written, and the cells that must be read."""

    columns: tuple[ShownColumn, ...]
    rows: tuple[bytes, ...]
    cells: tuple[Row, ...]

    @property
    def body(self) -> bytes:
        """The whole message."""
        ordered = tokens.order([1])
        end = tokens.done(Done.COUNT, len(self.rows), tokens.SELECT_COMMAND)
        return tokens.column_metadata(self.columns) + ordered + b"".join(self.rows) + end


def read(body: bytes, size: int = 4096, pieces: Sequence[int] = (), at_once: int = 1000) -> list[Row]:
    """Read the rows of a message that comes in packets of this size, and in pieces of these sizes."""
    return [batch.row(row) for batch in batches(body, size, pieces, at_once) for row in range(len(batch))]


def batches(body: bytes, size: int, pieces: Sequence[int] = (), at_once: int = 1000) -> Iterator[TdsBatch]:
    wire = b"".join(cut(ANSWER, body, size))
    return taken(TdsReader(MOST), wire, pieces, at_once)


def taken(reader: TdsReader, wire: bytes, pieces: Sequence[int], at_once: int) -> Iterator[TdsBatch]:
    at, turn = 0, 0
    while not reader.over:
        found = reader.next(at_once)
        if isinstance(found, TdsBatch):
            yield found
        elif found is None and at < len(wire):
            step = pieces[turn % len(pieces)] if pieces else len(wire)
            turn += 1
            at = reader.feed(wire, at, min(at + step, len(wire)))
        elif found is None and not reader.over:
            raise EOFError


def as_far_as_it_goes(
    body: bytes, size: int, pieces: Sequence[int] = (), at_once: int = 1000
) -> tuple[list[Row], str]:
    """Read rows until there are no more, or until there is an error, whose code is returned."""
    found: list[Row] = []
    try:
        for batch in batches(body, size, pieces, at_once):
            found.extend(batch.row(row) for row in range(len(batch)))
    except WracklineError as exc:
        return found, exc.code
    return found, ""


def in_pieces(core: bytes, sizes: Sequence[int], *, known: bool) -> bytes:
    """Write a long value in pieces of these sizes, with or without its whole length."""
    made, at, turn = struct.pack("<Q", len(core) if known else 2**64 - 2), 0, 0
    while at < len(core):
        piece = core[at : at + sizes[turn % len(sizes)]]
        made += struct.pack("<I", len(piece)) + piece
        at, turn = at + len(piece), turn + 1
    return made + bytes(4)


@st.composite
def written(draw: st.DrawFn, most_columns: int = 6, most_rows: int = 4) -> Written:
    """Draw a result."""
    drawn = draw(st.lists(st.tuples(typed(), st.booleans()), min_size=1, max_size=most_columns))
    columns = tuple(
        ShownColumn(f"c{at}", of, nullable=nullable, table=("dbo", "orders"))
        for at, ((of, _), nullable) in enumerate(drawn)
    )
    rows, cells = [], []
    for _ in range(draw(st.integers(0, most_rows))):
        values = [
            None if nullable and draw(st.booleans()) else fitted(of, value) for (of, value), nullable in drawn
        ]
        short = draw(st.booleans())
        sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
        known = draw(st.booleans())
        parts = [
            in_pieces(_core(column.of, value), sizes, known=known)
            if column.of.is_long and value is not None
            else put(column.of, value, nullable=column.nullable)
            for column, value in zip(columns, values, strict=True)
            if not (short and value is None)
        ]
        bits = sum(1 << at for at, value in enumerate(values) if value is None)
        head = b"\xd2" + bits.to_bytes((len(columns) + 7) // 8, "little") if short else b"\xd1"
        rows.append(head + b"".join(parts))
        cells.append(
            tuple(None if v is None else _core(c.of, v) for c, v in zip(columns, values, strict=True))
        )
    return Written(columns, tuple(rows), tuple(cells))


PIECES = st.lists(st.integers(1, 200), max_size=5)


@given(result=written(), size=st.integers(9, 300), pieces=PIECES, at_once=st.integers(1, 5))
def test_cells_are_the_bytes_that_were_written(
    result: Written, size: int, pieces: list[int], at_once: int
) -> None:
    assert read(result.body, size, pieces, at_once) == list(result.cells)


@given(result=written(most_rows=2), size=st.integers(9, 200))
@settings(max_examples=15)
def test_a_message_that_ends_too_early_is_an_error_at_every_byte(result: Written, size: int) -> None:
    """The last packet is cut, and says that it is the last; so do the bytes of the connection."""
    whole = list(result.cells)
    for length in range(len(result.body)):
        found, code = as_far_as_it_goes(result.body[:length], size)
        # between two tokens there is no error: the session sees that there was no DONE
        assert code == "sqlserver.stream_broken" or result.body[length] in b"\x81\xa9\xd1\xd2\xfd"
        assert found == whole[: len(found)]
    wire = b"".join(cut(ANSWER, result.body, size))
    for length in range(len(wire)):
        reader = TdsReader(MOST)
        with pytest.raises(EOFError):
            list(taken(reader, wire[:length], (), 1000))
        assert not reader.over


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a message of which some bytes are others."""
    body = bytearray(draw(written()).body)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body) - 1))
        body[at : at + draw(st.integers(0, 9))] = draw(
            st.one_of(st.binary(max_size=9), st.sampled_from([b"\xff" * 8, b"\xfe" + b"\xff" * 7, bytes(8)]))
        )
    return bytes(body)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(body=damaged(), size=st.integers(9, 500), pieces=PIECES)
@example(body=b"\x81\x01\x00" + bytes(6) + b"\x26\x04\x00\xd1\xff", size=20, pieces=[])
def test_lengths_that_lie_never_reach_behind_the_bytes(body: bytes, size: int, pieces: list[int]) -> None:
    with suppress(WracklineError):
        for batch in batches(body, size, pieces):
            assert len(batch.data) <= max(1 << 18, 4 * len(body)), "room is made only for what has come"
            for at in range(0, 2 * len(batch) * batch.width, 2):
                start, length = batch.places[at], batch.places[at + 1]
                assert length == -1 or (start >= 0 and length >= 0 and start + length <= len(batch.data))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=st.one_of(damaged(), written().map(lambda one: one.body)), size=st.integers(9, 300), pieces=PIECES
)
def test_the_plain_build_reads_the_same(
    plain_build: PlainBuild, body: bytes, size: int, pieces: list[int]
) -> None:
    assert plain_build.call(as_far_as_it_goes, body, size, pieces, 3) == as_far_as_it_goes(
        body, size, pieces, 3
    )


def test_a_batch_never_changes_once_it_is_handed_out() -> None:
    column = (ShownColumn("note", sql_type("nvarchar(max)")),)
    values = [str(number) * (1 + number % 50) for number in range(30_000)]
    body = tokens.column_metadata(column) + b"".join(tokens.row(column, (value,)) for value in values)
    found = list(batches(body + tokens.done(Done.COUNT, len(values)), 4096, [70_000], 700))
    assert len(found) > 10
    assert max(map(len, found)) == 700
    cells = [batch.cell(row, 0) for batch in found for row in range(len(batch))]
    assert cells == [value.encode("utf-16-le") for value in values]


@pytest.mark.parametrize("length", [0, 1, 7999, 8000, 8001, 300_000, 900_000])
@pytest.mark.parametrize("size", [512, 4096, 32767])
def test_a_huge_value_is_read_over_many_packets(length: int, size: int) -> None:
    columns = tuple(ShownColumn(name, sql_type("varbinary(max)")) for name in "ab")
    value = bytes(range(251)) * (length // 251 + 1)
    row = (value[:length], value[: length // 3])
    body = tokens.column_metadata(columns) + tokens.row(columns, row) + tokens.done(Done.COUNT, 1)
    (batch,) = batches(body, size, [5000])
    assert batch.row(0) == row
    assert len(batch.data) <= max(1 << 18, 4 * len(body)), "room is made only for what has come"


def test_a_row_beyond_the_limit_is_refused_before_it_has_come() -> None:
    columns = (ShownColumn("a", sql_type("varbinary(max)")),)
    head = tokens.column_metadata(columns) + b"\xd1"
    for said in (
        struct.pack("<Q", MOST + 1),
        struct.pack("<Q", 2**64 - 2) + b"\xff\xff\xff\x00" + bytes(2 * MOST),
    ):
        with pytest.raises(WracklineError) as caught:
            read(head + said + b"\x01", 4096, [60_000])
        assert caught.value.code == "sqlserver.row_too_long"
        assert "max.row.bytes" in caught.value.hint


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\xd1\x01", "no columns"),
        (b"\x99", "begins with 99"),
        (b"\x81\x01\x00" + bytes(6) + b"\x99\x00", "has the type 99"),
        (b"\x81\x01\x00" + bytes(6) + b"\x26\x03\x00", "has 3 bytes"),
        (b"\x81\x01\x00" + bytes(6) + b"\x6c\x05\x27\x00\x00", "39 digits"),
        (b"\x81\x01\x00" + bytes(6) + b"\x29\x08\x00", "8 places"),
        (b"\x81\x01\x00" + bytes(6) + b"\xa7\xfe\xff" + bytes(6), "65534 bytes"),
        (b"\x81\x01\x00" + bytes(6) + b"\x26\x04\x00\xd1\x02\x00\x00", "has 2 bytes, its type 4"),
        (b"\x81\x01\x00" + bytes(6) + b"\xa5\x02\x00\x00\xd1\x03\x00abc", "has 3 bytes, its type 2"),
        (b"\x81\x01\x00" + bytes(6) + b"\x6c\x05\x09\x00\x00\xd1\x01\x01", "has 1 bytes, its type 5"),
        (
            b"\x81\x01\x00" + bytes(6) + b"\xa5\xff\xff\x00\xd1" + struct.pack("<QI3sI", 4, 3, b"abc", 0),
            "4 bytes has 3",
        ),
    ],
)
def test_what_is_not_tds_is_named(body: bytes, words: str) -> None:
    with pytest.raises(WracklineError, match=words):
        read(body)


def test_a_row_behind_the_end_of_its_result_is_refused() -> None:
    columns = (ShownColumn("a", sql_type("int")),)
    row, more = tokens.row(columns, (7,)), tokens.done(Done.COUNT | Done.MORE, 1)
    assert as_far_as_it_goes(tokens.column_metadata(columns) + row + more + row, 4096) == (
        [(b"\x07\x00\x00\x00",)],
        "sqlserver.stream_broken",
    )


def test_a_packet_of_another_kind_is_refused() -> None:
    reader = TdsReader(MOST)
    for wrong in (b"\x05\x01\x00\x09\x00\x00\x00\x00x", b"\x04\x01\x00\x07\x00\x00\x00\x00"):
        reader.begin()
        with pytest.raises(WracklineError, match="a packet begins with"):
            reader.feed(wrong, 0, len(wrong))


def test_bytes_of_the_next_message_are_left() -> None:
    first, second = (b"".join(cut(ANSWER, tokens.done(Done.COUNT, rows), 512)) for rows in (1, 2))
    reader = TdsReader(MOST)
    assert reader.feed(first + second, 0, len(first + second)) == len(first)
    token = reader.next(1)
    assert isinstance(token, TdsToken)
    assert token.body[4:] == struct.pack("<Q", 1)
    assert reader.over


def test_cells_outside_of_a_batch_are_refused() -> None:
    columns = (ShownColumn("a", sql_type("int")),)
    body = tokens.column_metadata(columns) + tokens.row(columns, (7,)) + tokens.done(Done.COUNT, 1)
    (batch,) = batches(body, 4096)
    assert batch.cell(0, 0) == b"\x07\x00\x00\x00"
    for row, column in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            batch.cell(row, column)


def test_each_cell_of_many_rows_and_columns_is_found_also_where_it_is_null() -> None:
    """More columns than two bytes of bits have, each form of cell among them, as ROW and as NBCROW."""
    values: dict[str, Any] = {
        "int": 7,
        "varchar(20)": "abc",
        "decimal(9,2)": Decimal("12.34"),
        "nvarchar(max)": "long",
        "text": "old",
        "varbinary(max)": b"",
        "image": b"",
    }
    columns = tuple(ShownColumn(f"c{at}", sql_type(name)) for at, name in enumerate([*values] * 3))
    full = [fitted(column.of, value) for column, value in zip(columns, [*values.values()] * 3, strict=True)]
    odd = [value if at % 3 else None for at, value in enumerate(full)]
    rows: list[list[Any]] = [full, [None] * len(columns), odd, full]
    for write in (tokens.row, tokens.short_row):
        body = tokens.column_metadata(columns) + b"".join(write(columns, row) for row in rows)
        (batch,) = batches(body + tokens.done(Done.COUNT, len(rows)), 4096)
        expected = [
            tuple(None if one is None else _core(of.of, one) for of, one in zip(columns, row, strict=True))
            for row in rows
        ]
        assert [batch.row(number) for number in range(len(batch))] == expected
        assert [
            tuple(batch.cell(row, column) for column in range(len(columns))) for row in range(len(batch))
        ] == expected


def test_a_batch_with_fewer_places_than_cells_is_refused() -> None:
    columns = read_columns(ByteCursor(b"\x01\x00" + bytes(6) + b"\x38\x00", 0, 10))
    assert len(TdsBatch(columns, bytearray(4), array("i", [0, 4]), 1, 0)) == 1
    with pytest.raises(ValueError, match="fewer places"):
        TdsBatch(columns, bytearray(4), array("i", [0, 4]), 2, 0)
    with pytest.raises(ValueError, match="fewer places"):
        TdsBatch([*columns, *columns], bytearray(4), array("i", [0, 4, 0]), 1, 0)


@pytest.mark.parametrize("place", [(-1, 1), (0, 5), (4, 1), (5, 0), (1, 2**31 - 1)])
def test_a_place_outside_of_a_batch_gives_no_bytes(place: tuple[int, int]) -> None:
    columns = read_columns(ByteCursor(b"\x01\x00" + bytes(6) + b"\x38\x00", 0, 10))
    batch = TdsBatch(columns, bytearray(b"abcd"), array("i", [*place, 0, 4, 4, 0]), 3, 0)
    assert batch.columns == columns
    assert [batch.row(row) for row in (1, 2)] == [(b"abcd",), (b"",)]
    for read_outside in (batch.row, lambda row: batch.cell(row, 0)):
        with pytest.raises(IndexError, match="outside of its batch"):
            read_outside(0)
    for row in (-1, 3):
        with pytest.raises(IndexError):
            batch.row(row)


def test_results_are_numbered_by_those_that_have_columns() -> None:
    columns = (ShownColumn("a", sql_type("int")),)
    one = tokens.column_metadata(columns) + tokens.row(columns, (7,)) + tokens.done(Done.COUNT | Done.MORE, 1)
    none = b"\x81\xff\xff" + tokens.done(Done.MORE, 0)
    found = batches(none + one + none + one + tokens.done(Done.COUNT, 0), 4096)
    assert [batch.result for batch in found] == [0, 1]


@pytest.mark.parametrize("name", ["varbinary(max)", "image"])
def test_a_value_as_long_as_the_limit_is_read_and_a_longer_one_is_refused(name: str) -> None:
    columns = (ShownColumn("a", sql_type(name)),)
    for length, code in ((1000, ""), (1001, "sqlserver.row_too_long")):
        row = tokens.row(columns, (bytes(length),))
        body = tokens.column_metadata(columns) + row + tokens.done(Done.COUNT, 1)
        wire, found = b"".join(cut(ANSWER, body, 4096)), ""
        try:
            (batch,) = taken(TdsReader(1000), wire, (), 10)
            assert batch.row(0) == (bytes(length),)
        except WracklineError as exc:
            found = exc.code
        assert found == code


class Recorded:
    """The side of a socket that python-tds reads from."""

    def __init__(self, wire: bytes) -> None:
        self._wire, self._at = wire, 0

    def recv_into(self, buffer: memoryview, size: int = 0, _flags: int = 0) -> int:
        got = self._wire[self._at : self._at + size]
        buffer[: len(got)] = got
        self._at += len(got)
        return len(got)


def by_python_tds(body: bytes, size: int) -> list[tuple[Any, ...]]:
    """Read the rows of a message with python-tds."""
    base = pytest.importorskip("pytds.tds_base")
    sockets = pytest.importorskip("pytds.tds_socket")
    rows = pytest.importorskip("pytds.row_strategies")
    wire = b"".join(cut(ANSWER, body, size))
    made = sockets._TdsSocket(Recorded(wire), base._TdsLogin(), row_strategy=rows.tuple_row_strategy)
    one = made.main_session
    one._reader.set_block_size(size)
    one.state = base.TDS_PENDING
    one.begin_response()
    one.find_result_or_done()
    found = []
    while (row := one.fetchone()) is not None:
        found.append(row)
    return found


def same_value(of: Any, cell: bytes | None) -> object:
    """Return what python-tds makes of a cell."""
    if cell is None:
        return None
    name = of_wire(of).name
    kinds = {"time": Kind.TIME_MICROS, "datetimeoffset": Kind.ZONED_TIMESTAMP}
    moments = {"datetime", "smalldatetime", "datetime2"}
    kind = kinds.get(name, Kind.TIMESTAMP_MICROS if name in moments else Kind.STRING)
    value: Any = reader_of(of, ColumnType(kind, name))(cell)
    if name == "time":
        return (dt.datetime(1, 1, 1) + dt.timedelta(microseconds=value)).time()  # noqa: DTZ001 - it has no zone
    if name in moments:
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value)  # noqa: DTZ001 - it has no zone
    return value


def plain(value: object) -> object:
    """Return a value of python-tds as ours are."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return str(value) if type(value).__name__ == "UUID" else value


CODED = {"char", "varchar", "text"}  # python-tds takes the code page from the connection


@given(
    result=written().filter(lambda one: not any(column.of.name in CODED for column in one.columns)),
    size=st.integers(24, 300),  # of smaller packets python-tds joins only two
)
def test_python_tds_reads_the_same_values(result: Written, size: int) -> None:
    try:
        theirs = by_python_tds(result.body, size)
    except (UnicodeDecodeError, OverflowError):
        return  # half of a surrogate pair; a moment of UTC outside of Python's years
    types = [column.type for column in next(iter(columns_of(result.body)))]
    ours = [
        tuple(same_value(of, cell) for of, cell in zip(types, row, strict=True))
        for row in read(result.body, size)
    ]
    assert [tuple(map(plain, row)) for row in theirs] == ours


def columns_of(body: bytes) -> Iterator[Any]:
    reader = TdsReader(MOST)
    wire = b"".join(cut(ANSWER, body, 32767))
    reader.feed(wire, 0, len(wire))
    reader.next(1)
    yield reader.columns


VARIANTS = [
    Variant(sql_type("int"), 5),
    Variant(sql_type("nvarchar(10)"), "é"),
    Variant(sql_type("decimal(9,2)"), Decimal(1)),
    Variant(sql_type("varbinary(4)"), b"\x01"),
]


@pytest.mark.parametrize("held", [None, *VARIANTS])
def test_a_variant_is_one_cell(held: Variant | None) -> None:
    of = sql_type("sql_variant")
    columns = (ShownColumn("a", of), ShownColumn("b", sql_type("int")))
    body = tokens.column_metadata(columns) + tokens.row(columns, (held, 1)) + tokens.done(Done.COUNT, 1)
    assert read(body, 30, [7]) == [(None if held is None else put(of, held)[4:], b"\x01\x00\x00\x00")]


def test_every_type_that_the_standin_knows_is_read() -> None:
    """Those that no strategy draws: CLR types, and what a client without the new features is shown."""
    values: dict[str, Cell] = {
        "hierarchyid": b"\x5a\xc0",
        "geography": b"\x01" * 22,
        "json": "{}",
        "vector": "[1]",
        "timestamp": bytes(8),
    }
    for name, value in values.items():
        for nullable in (True, False):
            columns = (ShownColumn(name, SqlType(name, 8 if name == "timestamp" else 0), nullable=nullable),)
            body = (
                tokens.column_metadata(columns) + tokens.row(columns, (value,)) + tokens.done(Done.COUNT, 1)
            )
            assert read(body, 40) == [(_core(columns[0].of, value),)], name
    assert type_info(sql_type("xml"))[:1] == b"\xf1"
