"""The conformance table: every type of PostgreSQL, values at its edges, and what stands in Avro for each.

A value is the server's literal and what fastavro must give for it: days and microseconds as numbers,
exact numbers as decimals, everything that travels as text as that text.  What is expected is stated
here or counted by Python's own calendar, never by the decoder that is tested.  The log and a chunk must
both give it, in the same bytes.  Printed to docs/conformance.md.
"""

import datetime as dt
import re
import struct
from dataclasses import dataclass
from decimal import Decimal

from tests.fixtures.every_kind import EMOJI, Value
from wrackline.schemas.tables.infinity import FIRST, FIRST_DAY, FIRST_MICROS, LAST, LAST_DAY, LAST_MICROS
from wrackline.schemas.tables.types import Kind

Pair = tuple[str, Value]


@dataclass(frozen=True, slots=True)
class Case:
    """One type: its kind, its values, the values that it refuses, and what has to be made for it."""

    type: str
    kind: Kind
    values: tuple[Pair, ...]
    unfit: tuple[str, ...] = ()  # refused from both ways; each is its own text under column.as.text
    key: bool = True  # has an order, so it can be a primary key
    since: int = 0  # the first major that has it
    note: str = ""  # for the page


def same(*texts: str) -> tuple[Pair, ...]:
    """Values whose literal is what stands in Avro."""
    return tuple((text, text) for text in texts)


def whole(*numbers: int) -> tuple[Pair, ...]:
    """Whole numbers."""
    return tuple((str(number), number) for number in numbers)


def exact(*texts: str) -> tuple[Pair, ...]:
    """Decimals."""
    return tuple((text, Decimal(text)) for text in texts)


def days(text: str) -> int:
    """Count the days from 1970 of `2026-01-31` or `0044-03-15 BC`, by whole cycles of 400 years."""
    found = re.fullmatch(r"(\d+)-(\d\d)-(\d\d)( BC)?", text)
    assert found is not None
    year = 1 - int(found[1]) if found[4] else int(found[1])
    day = dt.date(year % 400 + 400, int(found[2]), int(found[3]))
    return day.toordinal() - dt.date(1970, 1, 1).toordinal() + (year // 400 - 1) * 146097


def micros(text: str) -> int:
    """Count the microseconds from 1970 of `2026-01-31 07:55:01.5`, BC behind or not."""
    found = re.fullmatch(r"(\S+) (\d\d):(\d\d):(\d\d)(\.\d+)?( BC)?", text)
    assert found is not None
    seconds = (int(found[2]) * 60 + int(found[3])) * 60 + int(found[4])
    return days(found[1] + (found[6] or "")) * 86_400_000_000 + int(
        (seconds + Decimal(found[5] or 0)) * 1_000_000
    )


def dates(*texts: str) -> tuple[Pair, ...]:
    """Dates."""
    return tuple((text, days(text)) for text in texts)


def moments(*texts: str) -> tuple[Pair, ...]:
    """Timestamps without zone."""
    return tuple((text, micros(text)) for text in texts)


def single(bits: int) -> float:
    """The 32-bit number of these bits."""
    number: float = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    return number


NAN, INFINITY = float("nan"), float("inf")
PLAIN = EMOJI.replace("\0", "")  # PostgreSQL has no text with a zero byte
ODD_TEXTS = same("", " ", PLAIN, "a\tb\nc\rd\be\ff\vg\\h\"i'j,{k}", "\\N", "\\.", "NULL", "\\x41", "é" * 3)
LONG = "tide" * 25_000  # lies in the TOAST table

NUMBERS = (
    Case("smallint", Kind.INT16, whole(-(2**15), -1, 0, 2**15 - 1)),
    Case("integer", Kind.INT32, whole(-(2**31), -65, -64, 63, 64, 2**31 - 1)),
    Case("bigint", Kind.INT64, whole(-(2**63), -(10**18), 10**17, 2**63 - 1)),
    Case("oid", Kind.INT64, whole(0, 2**32 - 1)),
    Case("xid", Kind.INT64, whole(3, 2**32 - 1), key=False),
    Case("cid", Kind.INT64, whole(0, 2**32 - 1), key=False),
    Case("xid8", Kind.UINT64, exact("0", str(2**63), str(2**64 - 1))),
    Case(
        "real",
        Kind.FLOAT32,
        (
            ("0.1", single(0x3DCCCCCD)),
            ("-0", -0.0),
            ("1e-45", single(1)),
            ("7.038531e-26", single(0x15AE43FD)),  # read as a double first, it would be the next one
            ("3.4028235e+38", single(0x7F7FFFFF)),
            ("NaN", NAN),
            ("Infinity", INFINITY),
            ("-Infinity", -INFINITY),
        ),
    ),
    Case(
        "double precision",
        Kind.FLOAT64,
        (
            ("0.1", 0.1),
            ("-0", -0.0),
            ("5e-324", 5e-324),
            ("2.2250738585072011e-308", 2.2250738585072011e-308),
            ("123456789.12345679", 123456789.12345679),
            ("1.7976931348623157e+308", 1.7976931348623157e308),
            ("NaN", NAN),
            ("Infinity", INFINITY),
            ("-Infinity", -INFINITY),
        ),
    ),
    Case(
        "numeric(10,2)",
        Kind.DECIMAL,
        exact("0.00", "0.01", "-0.01", "1.27", "1.28", "-1.28", "-1.29", "99999999.99", "-99999999.99"),
        unfit=("NaN",),
    ),
    Case("numeric(18,4)", Kind.DECIMAL, exact("99999999999999.9999", "-99999999999999.9999")),
    Case("numeric(19,0)", Kind.DECIMAL, exact("9223372036854775807", "-9223372036854775809", "1" + "0" * 18)),
    Case("numeric(38,0)", Kind.DECIMAL, exact("9" * 38, "-" + "9" * 38, "0"), unfit=("NaN",)),
    Case("numeric(38,38)", Kind.DECIMAL, exact("0." + "9" * 38, "-0." + "9" * 38, "0." + "0" * 38)),
    Case("numeric(5,-2)", Kind.DECIMAL, exact("0", "12300", "-9999900")),
    Case("numeric(3,5)", Kind.DECIMAL, exact("0.00123", "-0.00999")),
    Case("numeric(39,0)", Kind.NUMERIC_TEXT, same("9" * 39, "NaN")),
    Case(
        "numeric",
        Kind.NUMERIC_TEXT,
        (
            *same("0", "1.50", "-1.5", "NaN", "Infinity", "-Infinity", "9" * 131_072),
            *same("0." + "0" * 16_382 + "1"),
            ("1e3", "1000"),
        ),
    ),
    Case(
        "money",
        Kind.DECIMAL,
        exact("0.00", "1234.50", "-0.01", "92233720368547758.07", "-92233720368547758.08"),
    ),
    Case("boolean", Kind.BOOLEAN, (("true", True), ("false", False))),
    Case("bit(1)", Kind.BOOLEAN, (("1", True), ("0", False))),
    Case(
        "bit(12)",
        Kind.BITS,
        (("000000000001", b"\x01\x00"), ("100000000000", b"\x00\x08"), ("1" * 12, b"\xff\x0f")),
    ),
    Case("bit(64)", Kind.BITS, (("1" * 64, b"\xff" * 8), ("1" + "0" * 63, b"\0" * 7 + b"\x80"))),
    Case('"bit"', Kind.TEXT_OF, same("1", "0001")),
    Case("bit varying(12)", Kind.TEXT_OF, same("", "0", "0001")),
    Case("bit varying", Kind.TEXT_OF, same("", "1" * 100)),
)

TEXTS = (
    Case("text", Kind.STRING, (*ODD_TEXTS, *same(LONG))),
    Case("character varying(40)", Kind.STRING, ODD_TEXTS),
    Case("character varying", Kind.STRING, ODD_TEXTS),
    Case(
        "character(5)",
        Kind.STRING,
        (("", " " * 5), ("ab", "ab   "), ("abcde", "abcde"), ("\U0001f30a", "\U0001f30a    ")),
        note="padded, as the server writes it",
    ),
    Case("bpchar", Kind.STRING, same("ab  ", "c", "abcdef")),
    Case('"char"', Kind.STRING, (*same("", "a", "\\", "\t"), ("é", "\\303")), note="one byte"),
    Case("name", Kind.STRING, same("", "x" * 63, 'we"ird é')),
    Case("citext", Kind.STRING, (*ODD_TEXTS, *same("MiXed"))),
    Case(
        "bytea",
        Kind.BYTES,
        (
            ("\\x", b""),
            ("\\x00ff0a5c27", b"\x00\xff\n\\'"),
            ("\\x" + bytes(range(256)).hex(), bytes(range(256))),
            ("\\x" + "ab" * 100_000, b"\xab" * 100_000),
        ),
    ),
    Case(
        "json",
        Kind.JSON,
        same(
            '{"b": 1,  "a": [null, 1.0e2], "b": "\\u0041"}', " null ", '"\U0001f30a \\" \\n"', LONG.join('""')
        ),
        key=False,
        note="as written: order, spaces, doubles",
    ),
    Case(
        "jsonb",
        Kind.JSON,
        (
            ('{"b": 1, "a": [null, 1.0e2], "b": 2}', '{"a": [null, 100], "b": 2}'),
            ("1.10", "1.10"),
            ("null", "null"),
            ('"\\u0041\\n\U0001f30a"', '"A\\n\U0001f30a"'),
        ),
        note="as the server keeps it",
    ),
    Case(
        "xml",
        Kind.XML,
        (
            *same("<a b=\"1\">\U0001f30a &amp; 'q'</a>", "text", ""),
            ('<?xml version="1.0" encoding="UTF-8"?><a/>', "<a/>"),
        ),
        key=False,
    ),
    Case(
        "uuid",
        Kind.UUID,
        (
            ("00000000-0000-0000-0000-000000000000",) * 2,
            ("C56A4180-65AA-42EC-A945-5FD21DEC0538", "c56a4180-65aa-42ec-a945-5fd21dec0538"),
        ),
    ),
    Case("mood", Kind.ENUM, same("low", "it's, high", "\U0001f30a")),
)

TIMES = (
    Case(
        "date",
        Kind.DATE,
        (
            *dates(
                *("1970-01-01", "1969-12-31", "2000-02-29", "0001-01-01", "0001-12-31 BC", "4714-11-24 BC"),
                *("9999-12-31", "10000-01-01", "5874897-12-31"),
            ),
            (LAST, LAST_DAY),
            (FIRST, FIRST_DAY),
        ),
    ),
    Case(
        "time",
        Kind.TIME_MICROS,
        (
            ("00:00:00", 0),
            ("00:00:00.000001", 1),
            ("07:55:01.5", 28_501_500_000),
            ("23:59:59.999999", 86_399_999_999),
            ("24:00:00", 86_400_000_000),
        ),
    ),
    Case("time(3)", Kind.TIME_MICROS, (("07:55:01.1236", 28_501_124_000),)),
    Case(
        "time with time zone",
        Kind.ZONED_TIME,
        (
            ("07:55:01.5+02", "07:55:01.5+02:00"),
            ("00:00:00+00", "00:00:00Z"),
            ("24:00:00+00", "24:00:00Z"),
            ("12:00:00-05:30", "12:00:00-05:30"),
            ("00:00:00+15:59:59", "00:00:00+15:59:59"),
            ("24:00:00-15:59:59", "24:00:00-15:59:59"),
        ),
    ),
    Case(
        "timestamp",
        Kind.TIMESTAMP_MICROS,
        (
            *moments(
                *("1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2026-01-31 07:55:01.5"),
                *("0001-01-01 00:00:00", "0001-12-31 23:59:59.999999 BC", "4714-11-24 00:00:00 BC"),
                *("9999-12-31 23:59:59.999999", "10000-01-01 00:00:00", "294246-12-31 23:59:59.999999"),
            ),
            (LAST, LAST_MICROS),
            (FIRST, FIRST_MICROS),
        ),
        unfit=("294247-01-10 04:00:25.2", "294276-12-31 23:59:59.999999"),
        note="64 bits of microseconds since 1970 end in 294247",
    ),
    Case("timestamp(0)", Kind.TIMESTAMP_MICROS, (("2026-01-31 07:55:01.5", micros("2026-01-31 07:55:02")),)),
    Case(
        "timestamp with time zone",
        Kind.ZONED_TIMESTAMP,
        (
            ("2026-01-31 07:55:01.123456+00", "2026-01-31T07:55:01.123456Z"),
            ("2026-01-31 03:00:00+05:30", "2026-01-30T21:30:00Z"),
            ("0001-01-01 00:00:00+00", "0001-01-01T00:00:00Z"),
            ("0001-12-31 00:00:00+00 BC", "0000-12-31T00:00:00Z"),
            ("4714-11-24 00:00:00+00 BC", "-4713-11-24T00:00:00Z"),
            ("9999-12-31 23:59:59.999999+00", "9999-12-31T23:59:59.999999Z"),
            ("294276-12-31 23:59:59.999999+00", "+294276-12-31T23:59:59.999999Z"),
            *same(LAST, FIRST),
        ),
        unfit=("294247-01-10 04:00:25.2+00",),
    ),
    Case(
        "interval",
        Kind.INTERVAL,
        (
            *same("PT0S", "P1Y2M3DT4H5M6.7S", "P-1Y-2M3DT-4H-5M-6S", "PT-0.000001S", "P178000000Y"),
            ("1 year -3 days 00:00:00.5", "P1Y-3DT0.5S"),
            ("-178000000 years", "P-178000000Y"),
        ),
    ),
    Case("interval", Kind.INTERVAL, same("infinity", "-infinity"), since=17),
    Case("interval year to month", Kind.INTERVAL, same("P1Y2M")),
    Case("interval day to second(2)", Kind.INTERVAL, (("P3DT4H5M6.789S", "P3DT4H5M6.79S"),)),
)

NETWORK = (
    Case("inet", Kind.TEXT_OF, same("10.0.0.1", "10.0.0.1/8", "255.255.255.255", "::1", "fe80::1/10")),
    Case("cidr", Kind.TEXT_OF, same("10.0.0.0/8", "0.0.0.0/0", "::/0")),
    Case("macaddr", Kind.TEXT_OF, same("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff")),
    Case("macaddr8", Kind.TEXT_OF, same("08:00:2b:01:02:03:04:05")),
)

GEOMETRIC = (
    Case("point", Kind.TEXT_OF, same("(1.5,-0)", "(NaN,Infinity)", "(0.1,1e-300)"), key=False),
    Case("line", Kind.TEXT_OF, same("{1,-1,0.3}"), key=False),
    Case("lseg", Kind.TEXT_OF, same("[(0,0),(1,1.1)]"), key=False),
    Case("box", Kind.TEXT_OF, same("(1,1),(0,0)"), key=False),
    Case("path", Kind.TEXT_OF, same("[(0,0),(1,1)]", "((0,0),(1,1))"), key=False),
    Case("polygon", Kind.TEXT_OF, same("((0,0),(1,1),(1,0))"), key=False),
    Case("circle", Kind.TEXT_OF, same("<(0,0),1.1>"), key=False),
)

SEARCH = (
    Case("tsvector", Kind.TEXT_OF, same("", "'a':1A 'b c':2 'q''q'")),
    Case("tsquery", Kind.TEXT_OF, same("", "'a' & !'b'", "'a' <2> 'b c':*A")),
    Case("jsonpath", Kind.TEXT_OF, same('$."a"[*]?(@ > 1)'), key=False),
)

OF_THE_SERVER = (
    Case("pg_lsn", Kind.TEXT_OF, same("0/0", "FFFFFFFF/FFFFFFFF")),
    Case("tid", Kind.TEXT_OF, same("(0,1)", "(4294967295,65535)")),
    Case("aclitem", Kind.TEXT_OF, same("postgres=r/postgres"), key=False),
    Case("refcursor", Kind.TEXT_OF, same("a cursor"), key=False),
    Case("int2vector", Kind.TEXT_OF, same("", "1 2")),
    Case("oidvector", Kind.TEXT_OF, same("", "1 4294967295")),
    Case("pg_snapshot", Kind.TEXT_OF, same("10:20:10,14"), key=False),
    Case("txid_snapshot", Kind.TEXT_OF, same("10:20:10,14"), key=False),
    Case(
        "regclass",
        Kind.TEXT_OF,
        same("pg_class", "-"),
        note="qualified outside pg_catalog",
    ),
    Case("regtype", Kind.TEXT_OF, same("integer")),
    Case("regproc", Kind.TEXT_OF, same("now")),
    Case("regprocedure", Kind.TEXT_OF, same("abs(integer)")),
    Case("regoper", Kind.TEXT_OF, same("|/")),
    Case("regoperator", Kind.TEXT_OF, same("+(integer,integer)")),
    Case("regrole", Kind.TEXT_OF, same("postgres")),
    Case("regnamespace", Kind.TEXT_OF, same("pg_catalog", "public")),
    Case("regcollation", Kind.TEXT_OF, same('"C"')),
    Case("regconfig", Kind.TEXT_OF, same("english")),
    Case("regdictionary", Kind.TEXT_OF, same("simple")),
)
