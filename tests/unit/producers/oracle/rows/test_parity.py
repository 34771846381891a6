"""Log and chunk write the same value as the same bytes, which are those that its Python value has."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.fixtures.plain_build import PlainBuild
from tests.unit.producers.oracle.rows.decoding import ID, of_one_cell, table_of
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import KNOWN, family
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.types import Kind

SECOND = 1_000_000
Y2026 = int(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()) * SECOND
FIRST = -62_135_596_800 * SECOND  # 0001-01-01
LAST = 253_402_300_799 * SECOND  # 9999-12-31 23:59:59
BEFORE_CHRIST = (date(89, 1, 1).toordinal() - 719_163 - 12 * 146_097) * 86_400 * SECOND  # 4712 BC
FORMAT = "SYYYY-MM-DD HH24:MI:SS"


def number(precision: int | None = None, scale: int | None = None) -> OracleType:
    return OracleType("NUMBER", precision=precision, scale=scale)


def dated(text: str) -> tuple[str, str]:
    return f"TO_DATE('{text}', '{FORMAT}')", text


def stamp(text: str) -> tuple[str, str]:
    return f"TO_TIMESTAMP('{text}')", text


def zoned(text: str) -> tuple[str, str]:
    return f"TO_TIMESTAMP_TZ('{text}')", text


DATE = OracleType("DATE")
ZONED = OracleType("TIMESTAMP(6) WITH TIME ZONE")
LOCAL = OracleType("TIMESTAMP(6) WITH LOCAL TIME ZONE")
DAYS = OracleType("INTERVAL DAY(2) TO SECOND(6)")
MONTHS = OracleType("INTERVAL YEAR(2) TO MONTH")

# A type, the text in SQL_REDO, the field of a chunk, and the value that both must become.
CASES: Sequence[tuple[OracleType, str, object, object]] = [
    *((number(4, 0), f"'{n}'", n, int(n)) for n in ("0", "-1", "9999", "-9999")),
    *((number(9, 0), f"'{n}'", n, int(n)) for n in ("999999999", "-999999999")),
    *((number(18, 0), n, n, int(n)) for n in ("999999999999999999", "-999999999999999999")),
    (number(16, -2), "'999999999999999900'", "999999999999999900", 999_999_999_999_999_900),
    (number(36, -2), "'1.5E+037'", "15000000000000000000000000000000000000", Decimal("1.5e37")),
    *(
        (number(10, 2), f"'{n}'", n, Decimal(n))
        for n in ("0", ".5", "-.05", "99999999.99", "-99999999.99", "7")
    ),
    *((number(2, 5), f"'{n}'", n, Decimal(n)) for n in (".00099", "-.00099", "0")),
    *((number(38, 0), f"'{n}'", n, Decimal(n)) for n in ("9" * 38, "-" + "9" * 38, "9" * 18, "1" + "0" * 18)),
    *((number(38, 10), f"'{n}'", n, Decimal(n)) for n in ("1234567890123456789.0123456789", "-.0000000001")),
    (number(None, 0), "'-12345678901234567890'", "-12345678901234567890", Decimal(-12345678901234567890)),
    *((number(), f"'{n}'", n, n) for n in ("0", "7", "-7", "10", "12.5", "-12.05", "9" * 40)),
    (number(), "'.5'", ".5", "0.5"),
    (number(), "'-0.00'", "0", "0"),
    (number(), "'-.5'", "-.5", "-0.5"),
    (number(), "'1.0E-3'", ".001", "0.001"),
    (number(), "'1E+125'", "1" + "0" * 125, "1" + "0" * 125),
    (number(), "'12.50'", "12.5", "12.5"),
    (number(), "'007'", "7", "7"),
    (OracleType("FLOAT", precision=126), "'3.33'", "3.33", "3.33"),
    *(
        (OracleType(name, length=40), f"'{text}'", text, text)
        for name in ("CHAR", "VARCHAR2")
        for text in ("a", "c  ", "é€😀", "\n\t\\", "x" * 5000)
    ),
    (OracleType("VARCHAR2", length=40), "'O''Brien''s '''", "O'Brien's '", "O'Brien's '"),
    (OracleType("VARCHAR2", length=40), "''''", "'", "'"),
    (OracleType("NVARCHAR2", length=40), r"UNISTR('\010D\D83D\DE00 a\\b''')", "č😀 a\\b'", "č😀 a\\b'"),
    (OracleType("NCHAR", length=3), r"'n' || UNISTR('\010D') || ' '", "nč ", "nč "),
    *(
        (OracleType("RAW", length=16), f"HEXTORAW('{raw.hex()}')", raw, raw)
        for raw in (b"\x00", b"\xff\x0e", bytes(range(256)))
    ),
    (OracleType("RAW", length=16), "HEXTORAW('0AfF')", b"\x0a\xff", b"\x0a\xff"),
    (OracleType("CLOB"), "'small'", "small", "small"),
    (OracleType("NCLOB"), r"UNISTR('\010D')", "č", "č"),
    (OracleType("BLOB"), "HEXTORAW('00ff')", b"\x00\xff", b"\x00\xff"),
    (OracleType("ROWID"), "'AAAF0jAAEAAAACXAAA'", "AAAF0jAAEAAAACXAAA", "AAAF0jAAEAAAACXAAA"),
    (OracleType("UROWID"), "'*BAEADBYBwQL+'", "*BAEADBYBwQL+", "*BAEADBYBwQL+"),
    (DATE, *dated(" 2026-01-02 03:04:05"), Y2026),
    (DATE, *dated("2026-01-02 03:04:05"), Y2026),
    (DATE, *dated(" 2024-02-29 00:00:00"), 1_709_164_800 * SECOND),
    (DATE, *dated(" 2000-02-29 00:00:00"), 951_782_400 * SECOND),
    (DATE, *dated(" 0001-01-01 00:00:00"), FIRST),
    (DATE, *dated(" 9999-12-31 23:59:59"), LAST),
    (DATE, *dated("-0001-12-31 23:59:59"), FIRST - SECOND),
    (DATE, *dated("-4712-01-01 00:00:00"), BEFORE_CHRIST),
    (OracleType("TIMESTAMP(6)"), *stamp(" 2026-01-02 03:04:05.000001000"), Y2026 + 1),
    (OracleType("TIMESTAMP(0)"), *stamp(" 2026-01-02 03:04:05"), Y2026),
    (
        OracleType("TIMESTAMP(3)"),
        "TO_TIMESTAMP('2026-01-02 03:04:05.12')",
        " 2026-01-02 03:04:05.120000000",
        Y2026 + 120_000,
    ),
    (OracleType("TIMESTAMP(9)"), *stamp(" 1969-12-31 23:59:59.999999999"), -1),
    (ZONED, *zoned(" 2026-01-02 03:04:05.500000000 +00:00"), "2026-01-02T03:04:05.5Z"),
    (ZONED, *zoned(" 2026-01-01 00:30:00.000001000 +01:00"), "2025-12-31T23:30:00.000001Z"),
    (ZONED, *zoned(" 0001-01-01 00:00:00 +14:00"), "0000-12-31T10:00:00Z"),
    (ZONED, *zoned(" 9999-12-31 23:00:00 -12:00"), "+10000-01-01T11:00:00Z"),
    (ZONED, *zoned("-4712-01-01 00:00:00 +00:00"), "-4711-01-01T00:00:00Z"),
    (LOCAL, *zoned(" 2026-01-02 03:04:05.120000000"), "2026-01-02T03:04:05.12Z"),
    (DAYS, "TO_DSINTERVAL('+02 03:04:05.600000')", "+02 03:04:05.600000000", "P2DT3H4M5.6S"),
    (
        OracleType("INTERVAL DAY(9) TO SECOND(9)"),
        "TO_DSINTERVAL('-999999999 23:59:59.999999999')",
        "-999999999 23:59:59.999999999",
        "P-999999999DT-23H-59M-59.999999999S",
    ),
    (OracleType("INTERVAL DAY(2) TO SECOND(0)"), "TO_DSINTERVAL('+00 00:00:00')", "+00 00:00:00", "PT0S"),
    (DAYS, "TO_DSINTERVAL('-00 00:00:00.500000')", "-00 00:00:00.5", "PT-0.5S"),
    (DAYS, "TO_DSINTERVAL('+01 00:00:00')", "+01 00:00:00", "P1D"),
    (MONTHS, "TO_YMINTERVAL('-03-06')", "-03-06", "P-3Y-6M"),
    (
        OracleType("INTERVAL YEAR(9) TO MONTH"),
        "TO_YMINTERVAL('+999999999-11')",
        "+999999999-11",
        "P999999999Y11M",
    ),
    (MONTHS, "TO_YMINTERVAL('+00-00')", "+00-00", "PT0S"),
]

# Those whose values SQL_REDO never has exactly, or not at all: the field of a chunk, and the value.
ONLY_READ: Sequence[tuple[OracleType, object, object]] = [
    *(
        (OracleType("BINARY_DOUBLE"), n, n)
        for n in (-2.5e-300, 0.1, -0.0, 1.7976931348623157e308, float("inf"))
    ),
    *((OracleType("BINARY_FLOAT"), n, n) for n in (1.100000023841858, -0.0, 3.4028234663852886e38)),
    (OracleType("XMLTYPE", owner="SYS"), "<a>é</a>", "<a>é</a>"),
    (OracleType("JSON"), '{"a":1}', '{"a":1}'),
    (OracleType("VECTOR"), "[1.0E+000,2.0E+000]", "[1.0E+000,2.0E+000]"),
    (OracleType("BOOLEAN"), "TRUE", True),
    (OracleType("BOOLEAN"), "FALSE", False),
    (OracleType("BOOLEAN"), True, True),
]


def of_python(sql_type: OracleType, value: object, instants: Kind) -> bytes:
    """The head of the event of a row that is given as Python values."""
    return RowEncoder(table_of({"ID": ID, "V": sql_type}, instants=instants), 7, 8).head(None, (7, value))


def test_every_type_has_a_case() -> None:
    tried = {family(case[0]) for case in CASES} | {family(case[0]) for case in ONLY_READ}
    assert tried == KNOWN


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name} {str(case[1])[:50]}")
def test_log_and_chunk_give_the_same_bytes(case: Any, plain_build: PlainBuild) -> None:
    sql_type, cell, field, value = case
    key, event, read_key, head = of_one_cell(sql_type, cell, field, Kind.ZONED_TIMESTAMP, as_text=False)
    assert key == read_key
    assert head == of_python(sql_type, value, Kind.ZONED_TIMESTAMP)
    assert event.startswith(head + b"<source>")
    again = plain_build.call(_of_case, sql_type, cell, field)
    assert again == (key, event, read_key, head)


def _of_case(sql_type: OracleType, cell: str, field: object) -> object:
    return of_one_cell(sql_type, cell, field, Kind.ZONED_TIMESTAMP, as_text=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name} {str(case[1])[:50]}")
def test_log_and_chunk_give_the_same_text(case: Any) -> None:
    sql_type, cell, field, value = case
    _, event, _, head = of_one_cell(sql_type, cell, field, Kind.ZONED_TIMESTAMP, as_text=True)
    assert event.startswith(head + b"<source>")
    text = str(value) if isinstance(value, str) else None
    if text is not None and not family(sql_type).startswith("TIMESTAMP"):
        assert text.encode() in head


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_null_is_null_in_log_and_chunk(name: str) -> None:
    sql_type = OracleType(name, length=40)
    _, event, _, head = of_one_cell(sql_type, "NULL", None, Kind.ZONED_TIMESTAMP, as_text=False)
    assert event.startswith(head + b"<source>")
    assert head == of_python(sql_type, None, Kind.ZONED_TIMESTAMP)


@pytest.mark.parametrize(("sql_type", "field", "value"), ONLY_READ)
def test_what_only_a_chunk_has_is_exact_there(
    sql_type: OracleType, field: object, value: object, plain_build: PlainBuild
) -> None:
    *_, head = of_one_cell(sql_type, "NULL", field, Kind.ZONED_TIMESTAMP, as_text=False)
    assert head == of_python(sql_type, value, Kind.ZONED_TIMESTAMP)
    assert plain_build.call(_of_case, sql_type, "NULL", field)[3] == head  # type: ignore[index]


@pytest.mark.parametrize(
    ("cell", "field", "micros"),
    [
        (*zoned(" 2026-01-02 03:04:05.500000000 -02:30"), Y2026 + 9_000_500_000),
        (*zoned(" 0001-01-01 00:00:00 +14:00"), FIRST - 14 * 3600 * SECOND),
        (*zoned(" 9999-12-31 23:59:59 -12:00"), LAST + 12 * 3600 * SECOND),
    ],
)
def test_an_instant_as_a_number(cell: str, field: str, micros: int) -> None:
    sql_type = ZONED
    _, event, _, head = of_one_cell(sql_type, cell, field, Kind.INSTANT_MICROS, as_text=False)
    assert head == of_python(sql_type, micros, Kind.INSTANT_MICROS)
    assert event.startswith(head + b"<source>")


@pytest.mark.parametrize(
    ("sql_type", "cell", "field", "text"),
    [
        (DATE, *dated(" 2026-01-02 03:04:05"), "2026-01-02 03:04:05"),
        (DATE, *dated(" 1500-02-29 00:00:00"), "1500-02-29 00:00:00"),
        (DATE, *dated("-4701-02-29 00:00:00"), "-4701-02-29 00:00:00"),
        (ZONED, *zoned(" 1500-02-29 00:00:00.000000000 +01:00"), "1500-02-29 00:00:00 +01:00"),
        (
            OracleType("TIMESTAMP(9)"),
            *stamp(" 2026-01-02 03:04:05.123456789"),
            "2026-01-02 03:04:05.123456789",
        ),
        (OracleType("TIMESTAMP(9)"), *stamp(" 2026-01-02 03:04:05.100000000"), "2026-01-02 03:04:05.1"),
        (ZONED, *zoned(" 2026-01-02 03:04:05.100000000 +01:00"), "2026-01-02 03:04:05.1 +01:00"),
        (LOCAL, *zoned(" 2026-01-02 03:04:05.000000000"), "2026-01-02 03:04:05 +00:00"),
        (OracleType("RAW", length=4), "HEXTORAW('0aff')", b"\x0a\xff", "0AFF"),
        (OracleType("BINARY_FLOAT"), "NULL", 1.100000023841858, "1.1"),
        (OracleType("BINARY_DOUBLE"), "NULL", 0.1, "0.1"),
        (OracleType("BOOLEAN"), "NULL", "TRUE", "TRUE"),
    ],
)
def test_a_column_that_is_carried_as_text(sql_type: OracleType, cell: str, field: object, text: str) -> None:
    *_, head = of_one_cell(sql_type, cell, field, Kind.ZONED_TIMESTAMP, as_text=True)
    assert head.endswith(b"\x02" + bytes([2 * len(text)]) + text.encode())


@pytest.mark.parametrize("text", [" 1500-02-30 00:00:00", " 1501-02-29 00:00:00", " 1900-02-29 00:00:00"])
def test_a_day_of_no_calendar_is_no_text_either(text: str) -> None:
    with pytest.raises(OperatorNeeded, match="in no calendar"):
        of_one_cell(DATE, *dated(text), Kind.ZONED_TIMESTAMP, as_text=True)
