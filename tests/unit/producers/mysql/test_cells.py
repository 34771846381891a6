"""One cell of each type, as the log and a binary row have it: the same Avro, and the server's text."""

import datetime as dt
import io
import struct
from decimal import Decimal
from typing import Any, NamedTuple

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.plain_build import PlainBuild
from tests.fixtures.rows_events import WRITE, image, result_row, rows_event, sized
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.odd_cells import float_text
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder, ResultDecoder
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events import envelope
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

FRAME = Frame(b"\x00" * 12, b"00" * 11)
UTF8, LATIN1, BINARY = 255, 8, 63


class Sample(NamedTuple):
    """A value: its column, its cells, what Avro holds, what the server prints (None: not compared)."""

    column: WireColumn
    type: ColumnType
    logged: bytes
    result: bytes
    value: Any
    text: str | None


def column(number: int, meta: int = 0, collation: int | None = None, **more: Any) -> WireColumn:
    return WireColumn("c", number, meta, True, more.pop("unsigned", False), collation, **more)


def number(kind: Kind, number: int, size: int, value: int, *, unsigned: bool = False) -> Sample:
    raw = value.to_bytes(size, "little", signed=not unsigned)
    wide = value.to_bytes({3: 4}.get(size, size), "little", signed=not unsigned)
    told = Decimal(value) if kind is Kind.UINT64 else value
    return Sample(column(number, unsigned=unsigned), ColumnType(kind, "int"), raw, wide, told, str(value))


def decimal(digits: int, scale: int, packed: str, text: str) -> Sample:
    kind = Kind.DECIMAL if digits <= 38 else Kind.NUMERIC_TEXT
    limits = (digits, scale) if digits <= 38 else (None, None)
    value = Decimal(text) if digits <= 38 else text
    type_ = ColumnType(kind, f"decimal({digits},{scale})", *limits)
    given = column(wire.NEWDECIMAL, digits << 8 | scale)
    return Sample(given, type_, bytes.fromhex(packed), sized(text.encode()), value, text)


def time(digits: int, micros: int, text: str) -> Sample:
    """The log has whole seconds and fraction as one number, negated as one."""
    width = (digits + 1) // 2
    seconds, rest = divmod(abs(micros), 1_000_000)
    clock = seconds // 3600, seconds // 60 % 60, seconds % 60
    number = (clock[0] << 12 | clock[1] << 6 | clock[2]) << 8 * width | rest // 10 ** (6 - 2 * width)
    packed = ((0x800000 << 8 * width) + (number if micros >= 0 else -number)).to_bytes(3 + width, "big")
    days, hours = divmod(clock[0], 24)
    told = struct.pack("<BIBBBI", micros < 0, days, hours, clock[1], clock[2], rest) if micros else b""
    type_ = ColumnType(Kind.DURATION_MICROS, f"time({digits})")
    return Sample(column(wire.TIME2, digits), type_, packed, counted(told), micros, text)


def told_moment(moment: dt.datetime) -> bytes:
    return struct.pack(
        "<HBBBBBI",
        *(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second),
        moment.microsecond,
    )


def fraction(moment: dt.datetime, digits: int) -> bytes:
    width = (digits + 1) // 2
    units: int = moment.microsecond // 10 ** (6 - 2 * width)
    return units.to_bytes(width, "big")


def datetime(digits: int, text: str) -> Sample:
    value = dt.datetime.fromisoformat(text)
    day = (value.year * 13 + value.month) << 5 | value.day
    number = day << 17 | value.hour << 12 | value.minute << 6 | value.second
    packed = (0x8000000000 + number).to_bytes(5, "big") + fraction(value, digits)
    type_ = ColumnType(Kind.TIMESTAMP_MICROS, f"datetime({digits})")
    given = column(wire.DATETIME2, digits)
    return Sample(given, type_, packed, counted(told_moment(value)), value, text)


def timestamp(digits: int, text: str, value: str) -> Sample:
    moment = dt.datetime.fromisoformat(text)
    seconds = int((moment - dt.datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001 - the server's are UTC
    packed = seconds.to_bytes(4, "big") + fraction(moment, digits)
    type_ = ColumnType(Kind.ZONED_TIMESTAMP, f"timestamp({digits})")
    given = column(wire.TIMESTAMP2, digits)
    return Sample(given, type_, packed, counted(told_moment(moment)), value, text)


def counted(raw: bytes) -> bytes:
    return sized(raw) if len(raw) < 251 else b"\xfc" + sized(raw, 2)


def characters(given: WireColumn, kind: Kind, raw: bytes, value: str | bytes, width: int = 1) -> Sample:
    told = value.encode() if isinstance(value, str) else value
    shown = value if isinstance(value, str) else "0x" + value.hex().upper()
    source = "binary(4)" if given.wire == wire.STRING else "varchar(9)"
    return Sample(given, ColumnType(kind, source), sized(raw, width), counted(told), value, shown)


FLOAT = struct.pack("<f", -3.4028234663852886e38)
DOUBLE = struct.pack("<d", 5e-324)
LABELS = ("a", "b,c", "ü")
POINT = bytes.fromhex("000000000101000000000000000000f03f0000000000000040")
SAMPLES = [
    *(number(Kind.INT16, wire.TINY, 1, n) for n in (-128, 0, 127)),
    *(number(Kind.INT16, wire.TINY, 1, n, unsigned=True) for n in (0, 255)),
    *(number(Kind.INT16, wire.SHORT, 2, n) for n in (-32768, 32767)),
    *(number(Kind.INT32, wire.SHORT, 2, n, unsigned=True) for n in (0, 65535)),
    *(number(Kind.INT32, wire.INT24, 3, n) for n in (-(2**23), -1, 2**23 - 1)),
    *(number(Kind.INT32, wire.INT24, 3, n, unsigned=True) for n in (0, 2**24 - 1)),
    *(number(Kind.INT32, wire.LONG, 4, n) for n in (-(2**31), 2**31 - 1)),
    *(number(Kind.INT64, wire.LONG, 4, n, unsigned=True) for n in (0, 2**32 - 1)),
    *(number(Kind.INT64, wire.LONGLONG, 8, n) for n in (-(2**63), -1, 2**63 - 1)),
    *(
        number(Kind.UINT64, wire.LONGLONG, 8, n, unsigned=True)
        for n in (0, 127, 128, 255, 256, 2**63 - 1, 2**63, 2**64 - 1)
    ),
    Sample(
        column(wire.FLOAT, 4),
        ColumnType(Kind.FLOAT32, "float"),
        FLOAT,
        FLOAT,
        -3.4028234663852886e38,
        "-3.40282e38",
    ),
    Sample(column(wire.DOUBLE, 8), ColumnType(Kind.FLOAT64, "double"), DOUBLE, DOUBLE, 5e-324, "5e-324"),
    decimal(10, 2, "8000000102", "1.02"),
    decimal(10, 2, "7ffffffefd", "-1.02"),
    decimal(10, 2, "85f5e0ff63", "99999999.99"),
    decimal(5, 5, "81869f", "0.99999"),
    decimal(1, 0, "76", "-9"),
    decimal(18, 0, "bb9ac9ff3b9ac9ff", "999999999999999999"),
    decimal(18, 9, "44653600c4653600", "-999999999.999999999"),
    decimal(20, 2, "800000000000000102", "1.02"),
    decimal(38, 0, "80" + "00" * 15 + "07", "7"),
    decimal(65, 30, "80" + "00" * 29, "0." + "0" * 30),
    time(0, 0, "00:00:00"),
    time(0, -3_020_399_000_000, "-838:59:59"),
    time(1, -100_000, "-00:00:00.1"),
    time(2, 990_000, "00:00:00.99"),
    time(3, -45_296_789_000, "-12:34:56.789"),
    time(4, -1_000_100, "-00:00:01.0001"),
    time(6, 45_296_789_013, "12:34:56.789013"),
    datetime(0, "2026-01-01 00:00:00"),
    datetime(6, "9999-12-31 23:59:59.999999"),
    datetime(1, "0001-01-01 00:00:00.9"),
    datetime(4, "1969-12-31 23:59:59.0001"),
    timestamp(0, "1970-01-01 00:00:01", "1970-01-01T00:00:01Z"),
    timestamp(2, "2038-01-19 03:14:07.90", "2038-01-19T03:14:07.9Z"),
    timestamp(6, "2024-02-29 12:00:00.000001", "2024-02-29T12:00:00.000001Z"),
    Sample(
        column(wire.DATE),
        ColumnType(Kind.DATE, "date"),
        bytes.fromhex("9f1f4e"),
        sized(bytes.fromhex("0f270c1f")),
        dt.date(9999, 12, 31),
        "9999-12-31",
    ),
    Sample(column(wire.YEAR), ColumnType(Kind.YEAR, "year"), b"\xff", b"\x6b\x08", 2155, "2155"),
    Sample(column(wire.YEAR), ColumnType(Kind.YEAR, "year"), b"\x00", b"\x00\x00", 0, "0000"),
    Sample(column(wire.BIT, 1), ColumnType(Kind.BOOLEAN, "bit(1)"), b"\x01", b"\x01\x01", True, "1"),
    Sample(
        column(wire.BIT, 9),
        ColumnType(Kind.BITS, "bit(9)", length=9),
        b"\x01\x02",
        b"\x02\x01\x02",
        b"\x02\x01",
        "100000010",
    ),
    *(
        Sample(
            column(wire.ENUM, 1, UTF8, labels=LABELS),
            ColumnType(Kind.ENUM, "enum", labels=LABELS),
            bytes([place]),
            sized(label.encode()),
            label,
            label,
        )
        for place, label in enumerate(("", *LABELS))
    ),
    *(
        Sample(
            column(wire.SET, 1, UTF8, labels=LABELS),
            ColumnType(Kind.ENUM_SET, "set", labels=LABELS),
            bytes([bits]),
            sized(label.encode()),
            label,
            label,
        )
        for bits, label in ((0, ""), (2, "b,c"), (5, "a,ü"), (7, "a,b,c,ü"))
    ),
    characters(column(wire.VARCHAR, 80, UTF8), Kind.STRING, "😀 ".encode(), "😀 "),
    characters(column(wire.VARCHAR, 1200, UTF8), Kind.STRING, b"x" * 300, "x" * 300, 2),
    characters(column(wire.VARCHAR, 20, LATIN1), Kind.STRING, b"\xe9\x80", "é€"),
    characters(column(wire.VARCHAR, 20, LATIN1), Kind.STRING, b"plain", "plain"),
    characters(column(wire.BLOB, 2, UTF8), Kind.STRING, b"", "", 2),
    characters(column(wire.STRING, 4, BINARY), Kind.BYTES, b"a", b"a\0\0\0"),
    characters(column(wire.BLOB, 3, BINARY), Kind.BYTES, b"\0\xff", b"\0\xff", 3),
    characters(column(wire.GEOMETRY, 4), Kind.BYTES, POINT, POINT, 4),
    Sample(
        column(wire.VECTOR, 4, dimension=2),
        ColumnType(Kind.ARRAY, "vector(2)", element=ColumnType(Kind.FLOAT32, "float")),
        sized(struct.pack("<2f", 1, -2.5), 4),
        sized(struct.pack("<2f", 1, -2.5)),
        [1.0, -2.5],
        "[1.00000e+00,-2.50000e+00]",
    ),
]


def table(type_: ColumnType) -> TableSchema:
    return TableSchema(TableId("d", "d", "t"), (Column("c", 1, type_),))


def logged(column: WireColumn, type_: ColumnType, cell: bytes | None) -> bytes:
    made: list[RowChange] = []
    body = rows_event(WRITE, 1, image([cell]))
    decoder = MySqlRowDecoder(
        1, project_all(table(type_)), [column], 1, 2, lambda c: charset_of(c, column="c")
    )
    decoder.decode(body, 0, len(body), WRITE, FRAME, 0, 0, made)
    return made[0][3]


def in_result(column: WireColumn, type_: ColumnType, cell: bytes | None) -> bytes:
    decoder = ResultDecoder(1, project_all(table(type_)), [column], 1, 2)
    return decoder.read(result_row([cell]))[1] + FRAME.tail("c")


def value_of(event: bytes, type_: ColumnType) -> Any:
    schema = envelope.value_schema(table(type_), topic="s.d.d.t", connector="mysql", source_fields=())
    record: Any = fastavro.schemaless_reader(io.BytesIO(event[5:]), fastavro.parse_schema(schema), None)
    return record["after"]["c"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_cell_is_its_value_out_of_the_log_and_out_of_a_result(sample: Sample) -> None:
    event = logged(sample.column, sample.type, sample.logged)
    told = value_of(event, sample.type)
    if isinstance(told, dt.datetime):
        told = told.replace(tzinfo=None)
    assert told == sample.value
    assert in_result(sample.column, sample.type, sample.result) == event


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_cell_carried_as_text_is_what_the_server_prints(sample: Sample) -> None:
    text = ColumnType(Kind.TEXT_OF, sample.type.source)
    event = logged(sample.column, text, sample.logged)
    assert value_of(event, text) == sample.text
    assert in_result(sample.column, text, sample.result) == event


@pytest.mark.parametrize("sample", SAMPLES)
def test_null_is_null_both_ways(sample: Sample) -> None:
    event = logged(sample.column, sample.type, None)
    assert value_of(event, sample.type) is None
    assert in_result(sample.column, sample.type, None) == event


def test_the_plain_build_writes_every_cell_alike(plain_build: PlainBuild) -> None:
    for sample in SAMPLES:
        for way, cell in ((logged, sample.logged), (in_result, sample.result)):
            given = sample.column, sample.type, cell
            assert plain_build.call(way, *given) == way(*given)


@pytest.mark.parametrize(
    ("number", "meta", "kind", "cell"),
    [
        (wire.DATE, 0, Kind.DATE, "000000"),
        (wire.DATETIME2, 0, Kind.TIMESTAMP_MICROS, "8000000000"),
        (wire.TIMESTAMP2, 0, Kind.ZONED_TIMESTAMP, "00000000"),
        (wire.TIMESTAMP2, 0, Kind.INSTANT_MICROS, "00000000"),
        (wire.ENUM, 1, Kind.ENUM, "01"),
        (wire.SET, 1, Kind.ENUM_SET, "01"),
    ],
)
def test_what_a_kind_can_t_hold_is_refused(number: int, meta: int, kind: Kind, cell: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        logged(column(number, meta), ColumnType(kind, "x"), bytes.fromhex(cell))
    assert caught.value.code == "mysql.value_unfit"
    assert "column.as.text = 'd.t.c'" in caught.value.hint


@pytest.mark.parametrize(
    ("number", "digits", "cell", "text"),
    [
        (wire.DATE, 0, "000000", "0000-00-00"),
        (wire.DATE, 0, "00d40f", "2026-00-00"),
        (wire.DATETIME2, 3, "80000000000000", "0000-00-00 00:00:00.000"),
        (wire.TIMESTAMP2, 0, "00000000", "0000-00-00 00:00:00"),
        (wire.TIME, 0, "e6ffff", "-00:00:26"),
        (wire.DATETIME, 0, (20260131075501).to_bytes(8, "little").hex(), "2026-01-31 07:55:01"),
        (wire.TIMESTAMP, 0, "01000000", "1970-01-01 00:00:01"),
    ],
)
def test_a_date_that_is_none_and_the_old_types_are_text(
    number: int, digits: int, cell: str, text: str
) -> None:
    type_ = ColumnType(Kind.TEXT_OF, "x")
    assert value_of(logged(column(number, digits), type_, bytes.fromhex(cell)), type_) == text


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (Kind.TIMESTAMP_MICROS, "07 ea07 01 1f 18 00 00"),
        (Kind.TIMESTAMP_MICROS, "07 ea07 01 1f 00 3c 00"),
        (Kind.TIMESTAMP_MICROS, "07 ea07 01 1f 00 00 3c"),
        (Kind.TIMESTAMP_MICROS, "0b ea07 01 1f 00 00 00 40420f00"),
        (Kind.TIMESTAMP_MICROS, "04 ea07 0e 01"),
        (Kind.TIMESTAMP_MICROS, "04 ea07 01 20"),
        (Kind.TIMESTAMP_MICROS, "04 1027 01 01"),
        (Kind.DURATION_MICROS, "08 00 00000000 00 3c 00"),
        (Kind.DURATION_MICROS, "08 00 00000000 00 00 3c"),
        (Kind.DURATION_MICROS, "08 00 22000000 17 00 00"),
        (Kind.DURATION_MICROS, "0c 01 00000000 00 00 00 40420f00"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_moment_that_no_server_has_is_refused_in_results(kind: Kind, cell: str, *, as_text: bool) -> None:
    given = column(wire.DATETIME2 if kind is Kind.TIMESTAMP_MICROS else wire.TIME2)
    with pytest.raises(OperatorNeeded) as caught:
        in_result(given, ColumnType(Kind.TEXT_OF if as_text else kind, "x"), bytes.fromhex(cell))
    assert caught.value.code == "mysql.value_unfit"


@given(st.integers(-3_020_399_999_999, 3_020_399_999_999))
def test_every_time_comes_back(micros: int) -> None:
    seconds, rest = divmod(abs(micros), 1_000_000)
    packed = (seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60) << 24 | rest
    cell = (0x800000000000 + (packed if micros >= 0 else -packed)).to_bytes(6, "big")
    type_ = ColumnType(Kind.DURATION_MICROS, "time(6)")
    assert value_of(logged(column(wire.TIME2, 6), type_, cell), type_) == micros


@given(st.integers(0, 2**32 - 1).filter(bool))
def test_every_timestamp_comes_back(seconds: int) -> None:
    type_ = ColumnType(Kind.ZONED_TIMESTAMP, "timestamp")
    told = value_of(logged(column(wire.TIMESTAMP2), type_, seconds.to_bytes(4, "big")), type_)
    assert told == dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@given(st.dates())
def test_every_date_comes_back(day: dt.date) -> None:
    cell = (day.year << 9 | day.month << 5 | day.day).to_bytes(3, "little")
    type_ = ColumnType(Kind.DATE, "date")
    assert value_of(logged(column(wire.DATE), type_, cell), type_) == day


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_s_text_names_it_exactly(number: float) -> None:
    assert float(float_text(number)) == number


NO_TEXTS = [
    "ff",
    "c0af",
    "eda080",
    "61edbfbf",
    "f4908080",
    "f5808080",
    "e08080",
    "f0808080",
    "c3",
    "e282",
    "80",
]


@pytest.mark.parametrize("kind", [Kind.STRING, Kind.XML, Kind.TEXT_OF])
@pytest.mark.parametrize("cell", NO_TEXTS)
def test_a_text_that_is_not_utf_8_is_refused_by_log_and_result(cell: str, kind: Kind) -> None:
    for way in (logged, in_result):
        raw = sized(bytes.fromhex(cell), 1)
        with pytest.raises(OperatorNeeded, match="text that is not UTF-8"):
            way(column(wire.VARCHAR, 200, UTF8), ColumnType(kind, "text"), raw)


@given(st.binary(max_size=12) | st.text(max_size=6).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_a_text_is_carried_just_where_it_is_utf_8(raw: bytes) -> None:
    given = column(wire.VARCHAR, 200, UTF8), ColumnType(Kind.STRING, "text"), sized(raw, 1)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        with pytest.raises(OperatorNeeded, match="text that is not UTF-8"):
            logged(*given)
    else:
        assert value_of(logged(*given), given[1]) == text
