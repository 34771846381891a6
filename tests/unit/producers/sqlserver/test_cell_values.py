"""Each type's cells as values: its extremes, as the TDS specification has them, by log and by chunk alike."""

import datetime as dt
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.sources.sqlserver.discover.collations import codec_of
from wrackline.producers.sources.sqlserver.discover.types import (
    KNOWN,
    SqlServerType,
    WireType,
    column_type,
    of_catalogue,
    of_wire,
    seventh_place,
)
from wrackline.producers.sources.sqlserver.rows.before_images import completed, is_set
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of, text_of
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.types import Kind

LATIN = bytes.fromhex("0904d00034")  # SQL_Latin1_General_CP1_CI_AS
RUSSIAN = bytes.fromhex("1904d00000")  # Cyrillic_General_CI_AS
JAPANESE = bytes.fromhex("1104d00000")
UTF8 = bytes.fromhex("0904d02400")  # Latin1_General_100_CI_AS_SC_UTF8
UTC = dt.UTC


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little", signed=value < 0)


def exact(value: int, size: int) -> bytes:
    return bytes([value >= 0]) + number(abs(value), size)


def day(year: int, month: int, date: int) -> bytes:
    return number(dt.date(year, month, date).toordinal() - 1, 3)


def micros(*parts: int) -> int:
    year, month, day, hour, minute, second, fraction = (*parts, 0, 0, 0, 0)[:7]
    moment = dt.datetime(year, month, day, hour, minute, second, fraction, UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)


VALUES = [  # catalogue: name, max_length, precision, scale; wire; cell; value; text
    (("bit", 1, 1, 0), WireType(0x68, 1), b"\x01", True, "1"),
    (("bit", 1, 1, 0), WireType(0x32), b"\x00", False, "0"),
    (("tinyint", 1, 3, 0), WireType(0x26, 1), b"\xff", 255, "255"),
    (("tinyint", 1, 3, 0), WireType(0x30), b"\x80", 128, "128"),
    (("smallint", 2, 5, 0), WireType(0x26, 2), number(-(2**15), 2), -(2**15), "-32768"),
    (("int", 4, 10, 0), WireType(0x26, 4), number(-(2**31), 4), -(2**31), "-2147483648"),
    (("int", 4, 10, 0), WireType(0x38), number(2**31 - 1, 4), 2**31 - 1, "2147483647"),
    (("bigint", 8, 19, 0), WireType(0x26, 8), number(-(2**63), 8), -(2**63), str(-(2**63))),
    (("bigint", 8, 19, 0), WireType(0x7F), number(2**63 - 1, 8), 2**63 - 1, str(2**63 - 1)),
    (
        ("real", 4, 24, 0),
        WireType(0x6D, 4),
        struct.pack("<f", 9.22341e18),
        struct.unpack("<f", struct.pack("<f", 9.22341e18))[0],
        "9.22341e+18",
    ),
    (
        ("real", 4, 24, 0),
        WireType(0x6D, 4),
        struct.pack("<f", 0.1),
        struct.unpack("<f", struct.pack("<f", 0.1))[0],
        "0.1",
    ),
    (
        ("real", 4, 24, 0),
        WireType(0x3B),
        struct.pack("<f", 3.4028234663852886e38),
        3.4028234663852886e38,
        "3.4028235e+38",
    ),
    (("float", 8, 53, 0), WireType(0x6D, 8), struct.pack("<d", -1.79e308), -1.79e308, "-1.79e+308"),
    (
        ("decimal", 17, 38, 0),
        WireType(0x6A, 17, 38),
        exact(-(10**38 - 1), 16),
        Decimal(-(10**38 - 1)),
        "-" + "9" * 38,
    ),
    (
        ("numeric", 17, 38, 38),
        WireType(0x6C, 17, 38, 38),
        exact(1, 16),
        Decimal((0, (1,), -38)),
        "0." + "0" * 37 + "1",
    ),
    (("decimal", 5, 9, 2), WireType(0x6A, 5, 9, 2), exact(-110, 4), Decimal("-1.10"), "-1.10"),
    (("decimal", 5, 9, 2), WireType(0x6A, 5, 9, 2), exact(-1, 4), Decimal("-0.01"), "-0.01"),
    (("decimal", 5, 9, 2), WireType(0x6A, 5, 9, 2), b"\x00" + bytes(4), Decimal("0.00"), "0.00"),
    (
        ("money", 8, 19, 4),
        WireType(0x6E, 8),
        b"\x00\x00\x00\x80" + bytes(4),
        Decimal("-922337203685477.5808"),
        "-922337203685477.5808",
    ),
    (
        ("money", 8, 19, 4),
        WireType(0x3C),
        b"\x00\x00\x00\x00" + number(10_001, 4),
        Decimal("1.0001"),
        "1.0001",
    ),
    (
        ("money", 8, 19, 4),
        WireType(0x6E, 8),
        b"\x01\x00\x00\x00" + bytes(4),
        Decimal("429496.7296"),
        "429496.7296",
    ),
    (
        ("smallmoney", 4, 10, 4),
        WireType(0x6E, 4),
        number(-(2**31), 4),
        Decimal("-214748.3648"),
        "-214748.3648",
    ),
    (("char", 4, 0, 0), WireType(0xAF, 4, collation=LATIN), b"\x80\x81\xe9 ", "€\x81é ", "€\x81é "),
    (("varchar", 9, 0, 0), WireType(0xA7, 9, collation=RUSSIAN), "жизнь".encode("cp1251"), "жизнь", "жизнь"),
    (("varchar", -1, 0, 0), WireType(0xA7, 0xFFFF, collation=JAPANESE), "表".encode("cp932"), "表", "表"),
    (("varchar", 8, 0, 0), WireType(0xA7, 8, collation=UTF8), "😀é".encode(), "😀é", "😀é"),
    (("text", 16, 0, 0), WireType(0x23, 2**31 - 1, collation=LATIN), b"", "", ""),
    (("nvarchar", 20, 0, 0), WireType(0xE7, 20), "😀\0é".encode("utf-16-le"), "😀\0é", "😀\0é"),
    (("nvarchar", -1, 0, 0), WireType(0xE7, 0xFFFF), b"", "", ""),
    (("nchar", 4, 0, 0), WireType(0xEF, 4), "a ".encode("utf-16-le"), "a ", "a "),
    (("ntext", 16, 0, 0), WireType(0x63, 2**31 - 2), "é".encode("utf-16-le"), "é", "é"),
    (("xml", -1, 0, 0), WireType(0xF1), "<a/>".encode("utf-16-le"), "<a/>", "<a/>"),
    (("binary", 3, 0, 0), WireType(0xAD, 3), b"\x00\xff\x00", b"\x00\xff\x00", "0x00ff00"),
    (("varbinary", -1, 0, 0), WireType(0xA5, 0xFFFF), b"", b"", "0x"),
    (("image", 16, 0, 0), WireType(0x22, 2**31 - 1), b"\x01", b"\x01", "0x01"),
    (("timestamp", 8, 0, 0), WireType(0xAD, 8), bytes(7) + b"\x01", bytes(7) + b"\x01", "0x0000000000000001"),
    (("hierarchyid", 892, 0, 0), WireType(0xF0), b"\x58", b"\x58", "0x58"),
    (
        ("uniqueidentifier", 16, 0, 0),
        WireType(0x24, 16),
        bytes(range(16)),
        "03020100-0504-0706-0809-0a0b0c0d0e0f",
        "03020100-0504-0706-0809-0a0b0c0d0e0f",
    ),
    (("date", 3, 10, 0), WireType(0x28), bytes(3), dt.date(1, 1, 1), "0001-01-01"),
    (("date", 3, 10, 0), WireType(0x28), day(9999, 12, 31), dt.date(9999, 12, 31), "9999-12-31"),
    (
        ("time", 5, 16, 7),
        WireType(0x29, scale=7),
        number(863_999_999_999, 5),
        86_399_999_999,
        "23:59:59.9999999",
    ),
    (("time", 3, 8, 0), WireType(0x29, scale=0), number(86_399, 3), 86_399_000_000, "23:59:59"),
    (("time", 4, 12, 3), WireType(0x29, scale=3), number(1, 4), 1000, "00:00:00.001"),
    (
        ("datetime2", 8, 27, 7),
        WireType(0x2A, scale=7),
        bytes(5) + bytes(3),
        micros(1, 1, 1),
        "0001-01-01 00:00:00.0000000",
    ),
    (
        ("datetime2", 8, 27, 7),
        WireType(0x2A, scale=7),
        number(863_999_999_999, 5) + day(9999, 12, 31),
        micros(9999, 12, 31, 23, 59, 59, 999_999),
        "9999-12-31 23:59:59.9999999",
    ),
    (
        ("datetime2", 8, 27, 7),
        WireType(0x2A, scale=7),
        number(19, 5) + day(1969, 12, 31),
        micros(1969, 12, 31) + 1,
        "1969-12-31 00:00:00.0000019",
    ),
    (
        ("datetime2", 6, 19, 0),
        WireType(0x2A, scale=0),
        number(1, 3) + day(2026, 2, 28),
        micros(2026, 2, 28, 0, 0, 1),
        "2026-02-28 00:00:01",
    ),
    (
        ("datetime", 8, 23, 3),
        WireType(0x6F, 8),
        struct.pack("<iI", -53_690, 0),
        micros(1753, 1, 1),
        "1753-01-01 00:00:00.000",
    ),
    (
        ("datetime", 8, 23, 3),
        WireType(0x3D),
        struct.pack("<iI", 2_958_463, 25_919_999),
        micros(9999, 12, 31, 23, 59, 59, 997_000),
        "9999-12-31 23:59:59.997",
    ),
    (
        ("datetime", 8, 23, 3),
        WireType(0x6F, 8),
        struct.pack("<iI", 0, 237),
        micros(1900, 1, 1, 0, 0, 0, 790_000),
        "1900-01-01 00:00:00.790",
    ),
    (
        ("datetime", 8, 23, 3),
        WireType(0x6F, 8),
        struct.pack("<iI", 0, 2),
        micros(1900, 1, 1, 0, 0, 0, 7000),
        "1900-01-01 00:00:00.007",
    ),
    (
        ("smalldatetime", 4, 16, 0),
        WireType(0x6F, 4),
        struct.pack("<HH", 65_535, 1439),
        micros(2079, 6, 6, 23, 59),
        "2079-06-06 23:59:00",
    ),
    (("smalldatetime", 4, 16, 0), WireType(0x3A), bytes(4), micros(1900, 1, 1), "1900-01-01 00:00:00"),
    (
        ("datetimeoffset", 10, 34, 7),
        WireType(0x2B, scale=7),
        number(10, 5) + day(2026, 1, 2) + number(-90, 2),
        dt.datetime(2026, 1, 2, 0, 0, 0, 1, tzinfo=UTC),
        "2026-01-01 22:30:00.0000010 -01:30",
    ),
    (
        ("datetimeoffset", 8, 26, 0),
        WireType(0x2B, scale=0),
        bytes(3) + day(2026, 1, 2) + number(14 * 60, 2),
        dt.datetime(2026, 1, 2, tzinfo=UTC),
        "2026-01-02 14:00:00 +14:00",
    ),
    (("sql_variant", 8016, 0, 0), WireType(0x62, 8009), b"\x38\x00" + number(-7, 4), "-7", "-7"),
    (
        ("sql_variant", 8016, 0, 0),
        WireType(0x62, 8009),
        b"\xe7\x07" + LATIN + b"\x04\x00" + "é!".encode("utf-16-le"),
        "é!",
        "é!",
    ),
    (
        ("sql_variant", 8016, 0, 0),
        WireType(0x62, 8009),
        b"\xa7\x07" + RUSSIAN + b"\x04\x00" + b"\xe6",
        "ж",
        "ж",
    ),
    (
        ("sql_variant", 8016, 0, 0),
        WireType(0x62, 8009),
        b"\x6c\x02\x05\x02" + exact(-110, 4),
        "-1.10",
        "-1.10",
    ),
    (
        ("sql_variant", 8016, 0, 0),
        WireType(0x62, 8009),
        b"\x2a\x01\x03" + number(5, 4) + day(2026, 1, 2),
        "2026-01-02 00:00:00.005",
        "2026-01-02 00:00:00.005",
    ),
    (
        ("sql_variant", 8016, 0, 0),
        WireType(0x62, 8009),
        b"\x24\x00" + bytes(16),
        "00000000-0000-0000-0000-000000000000",
        "00000000-0000-0000-0000-000000000000",
    ),
    (("sql_variant", 8016, 0, 0), WireType(0x62, 8009), b"\xa5\x02\x10\x00\xab", "0xab", "0xab"),
    *(
        (("sql_variant", 8016, 0, 0), WireType(0x62, 8009), cell, text, text)
        for cell, text in (
            (b"\xe7\x07" + LATIN + b"\x04\x00", ""),
            (b"\xaf\x07" + RUSSIAN + b"\x04\x00" + b"\xe6 ", "ж "),
            (b"\xef\x07" + LATIN + b"\x04\x00" + "é ".encode("utf-16-le"), "é "),
            (b"\x6a\x02\x26\x26" + exact(-1, 16), f"-0.{'0' * 37}1"),
            (b"\x29\x01\x03" + number(86_399_999, 4), "23:59:59.999"),
            (
                b"\x2b\x01\x02" + number(1, 3) + day(2026, 1, 2) + number(60, 2),
                "2026-01-02 01:00:00.01 +01:00",
            ),
        )
    ),
    (("json", -1, 0, 0), WireType(0xE7, 0xFFFF), "[1]".encode("utf-16-le"), "[1]", "[1]"),
    (
        ("vector", 20, 0, 0),
        WireType(0xA7, 0xFFFF, collation=LATIN),
        b"[1.0e+000]",
        "[1.0e+000]",
        "[1.0e+000]",
    ),
]


@pytest.mark.parametrize(("catalogue", "wire", "cell", "value", "text"), VALUES)
def test_a_cell_is_its_value_and_fits_the_kind_of_its_column(
    catalogue: tuple[str, int, int, int], wire: WireType, cell: bytes, value: object, text: str
) -> None:
    known = of_catalogue(*catalogue)
    kind = column_type(known, column="shop.dbo.t.c")
    read = reader_of(wire, kind)(cell)
    assert (read, type(read)) == (value, type(value))
    assert form_of(kind)(read), "it has a form in Avro"
    carried = column_type(known, column="shop.dbo.t.c", as_text=True)
    assert reader_of(wire, carried)(cell) == text == text_of(wire, cell)


def test_every_type_of_the_catalogue_has_a_value_here() -> None:
    """CLR types are alike on the wire, and rowversion is the new name of timestamp."""
    assert {catalogue[0] for catalogue, *_ in VALUES} | {
        "rowversion",
        "geography",
        "geometry",
        "clr",
    } == KNOWN


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_decimal_of_any_length_keeps_every_digit(units: int, scale: int) -> None:
    wire = WireType(0x6A, 17, 38, scale)
    kind = column_type(of_wire(wire), column="c")
    assert kind.kind is Kind.DECIMAL
    value = reader_of(wire, kind)(exact(units, 16))
    assert value == Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


@given(st.integers(0, 863_999_999_999), st.integers(0, 3_652_058))
def test_moments_keep_their_order_and_lose_the_seventh_place_only(ticks: int, days: int) -> None:
    wire = WireType(0x2A, scale=7)
    read = reader_of(wire, column_type(of_wire(wire), column="c"))
    value = read(number(ticks, 5) + number(days, 3))
    assert isinstance(value, int)
    known = dt.datetime(1, 1, 1, tzinfo=UTC) + dt.timedelta(days=days, microseconds=ticks // 10)
    assert value == (known - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_real_s_text_is_the_shortest_that_is_it(value: float) -> None:
    text = text_of(WireType(0x6D, 4), struct.pack("<f", value))
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)


def test_points_in_time_can_be_microseconds() -> None:
    wire = WireType(0x2B, scale=7)
    kind = column_type(of_wire(wire), column="c", instants=Kind.INSTANT_MICROS)
    assert reader_of(wire, kind)(number(10, 5) + day(2026, 1, 2) + number(-90, 2)) == micros(2026, 1, 2) + 1


@pytest.mark.parametrize(
    ("collation", "codec"),
    [
        (LATIN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "cp932"),
        (UTF8, "utf-8"),
        (bytes.fromhex("0408d00000"), "cp936"),  # Chinese_PRC_CI_AS
        (bytes.fromhex("0404d00000"), "cp950"),
        (bytes.fromhex("0704d10000"), "cp1252"),  # German_PhoneBook: its order is above the locale
        (bytes.fromhex("1a0cd00000"), "cp1251"),  # Serbian_Cyrillic
        (bytes.fromhex("1a08d00000"), "cp1250"),  # Serbian_Latin
        (bytes.fromhex("0904000128"), "cp850"),
        (bytes.fromhex("090400011e"), "cp437"),
        (bytes.fromhex("09040001a0"), "cp1257"),
    ],
)
def test_a_collation_has_a_code_page(collation: bytes, codec: str) -> None:
    assert codec_of(collation) == codec


@pytest.mark.parametrize("collation", [bytes(5), bytes.fromhex("0904d000ff"), bytes.fromhex("3904d00000")])
def test_an_unknown_code_page_is_not_guessed(collation: bytes) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        codec_of(collation)
    assert caught.value.code == "sqlserver.collation_unknown"


def test_types_are_written_as_the_server_writes_them() -> None:
    written = {str(of_catalogue(*catalogue)) for catalogue, *_ in VALUES}
    assert written >= {
        "int",
        "nvarchar(10)",
        "varchar(max)",
        "decimal(9,2)",
        "datetime2(7)",
        "time(0)",
        "datetime",
    }
    assert written >= {"char(4)", "binary(3)", "money", "xml", "sql_variant"}


def test_an_unknown_type_is_carried_only_if_the_settings_say_so() -> None:
    with pytest.raises(OperatorNeeded) as caught:
        column_type(SqlServerType("cursor"), column="shop.dbo.t.c")
    assert caught.value.code == "sqlserver.type_unknown"
    assert column_type(SqlServerType("cursor"), column="c", as_text=True).kind is Kind.TEXT_OF


def test_a_key_is_exact() -> None:
    seven, six = of_catalogue("datetime2", 8, 27, 7), of_catalogue("datetime2", 8, 26, 6)
    assert (seventh_place(seven), seventh_place(six)) == (True, False)
    assert column_type(six, column="c", keyed=True).kind is Kind.TIMESTAMP_MICROS
    assert column_type(seven, column="c", keyed=True, as_text=True).kind is Kind.TEXT_OF
    with pytest.raises(OperatorNeeded) as caught:
        column_type(seven, column="c", keyed=True)
    assert caught.value.code == "sqlserver.key_inexact"


@pytest.mark.parametrize("as_text", [False, True])
def test_a_key_that_no_chunk_is_bounded_by_is_refused_and_text_is_not_offered(*, as_text: bool) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        column_type(SqlServerType("sql_variant"), column="c", keyed=True, as_text=as_text)
    assert caught.value.code == "sqlserver.key_unordered"
    assert "column.as.text" not in caught.value.hint


def test_what_an_update_did_not_touch_is_in_the_image_before_too() -> None:
    """Captured ordinals 1, 2, 9; the second and the ninth are long."""
    longs = [(1, 2), (2, 9)]
    after = (b"1", b"long", b"also")
    assert completed((b"0", None, None), after, b"\x00\x01", longs) == [b"0", b"long", b"also"]
    assert completed((b"0", None, None), after, b"\x01\x01", longs) == [b"0", b"long", None]
    assert completed((b"0", b"old", None), after, b"\x01\x02", longs) == (b"0", b"old", None)
    assert completed((None, b"old", None), (b"1", b"old", None), b"\x00\x01", longs) == (None, b"old", None)


def test_the_bits_of_a_mask_are_counted_from_its_end() -> None:
    """All nine columns of an insert are 0x01FF."""
    assert all(is_set(b"\x01\xff", ordinal) for ordinal in range(1, 10))
    assert [ordinal for ordinal in range(1, 40) if is_set(b"\x01\x02", ordinal)] == [2, 9]


def test_long_types_are_those_that_are_left_out() -> None:
    longs = {catalogue[0] for catalogue, *_ in VALUES if of_catalogue(*catalogue).long}
    assert longs >= {"varchar", "nvarchar", "varbinary", "text", "ntext", "image", "xml"}
    assert not of_catalogue("varchar", 8000, 0, 0).long
    lost = {catalogue[0] for catalogue, *_ in VALUES if of_catalogue(*catalogue).lost_before}
    assert lost == {"text", "ntext", "image"}
