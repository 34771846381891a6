"""The type table, and what each database's types become."""

import pytest

from wrackline.producers.sources.mysql.discover import types as mysql
from wrackline.producers.sources.postgres.discover import types as postgres
from wrackline.producers.sources.postgres.discover.types import PgType
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.types import (
    FORMS,
    ColumnType,
    Kind,
    delta_type,
    exact_number,
    iceberg_type,
    read_type,
    spark_type,
)

NUMERIC = PgType(1700, "numeric")
FLOAT8 = PgType(701, "float8")
INTEGERS = PgType(1007, "_int4", category="A", element=PgType(23, "int4"))


def numeric(precision: int, scale: int) -> int:
    return (precision << 16 | scale & 0x7FF) + 4


def pg(pg_type: PgType, typmod: int = -1, instants: Kind = Kind.ZONED_TIMESTAMP) -> ColumnType:
    return postgres.column_type(pg_type, typmod, column="public.t.c", instants=instants)


def my(written: str, instants: Kind = Kind.ZONED_TIMESTAMP) -> ColumnType:
    return mysql.column_type(mysql.parse(written), column="shop.t.c", instants=instants)


def test_every_kind_has_a_row() -> None:
    assert set(FORMS) == set(Kind)


@pytest.mark.parametrize(
    ("precision", "scale", "expected"),
    [
        (38, 0, (Kind.DECIMAL, 38, 0)),
        (39, 0, (Kind.NUMERIC_TEXT, None, None)),
        (65, 30, (Kind.NUMERIC_TEXT, None, None)),
        (None, 0, (Kind.NUMERIC_TEXT, None, None)),
        (2, 5, (Kind.DECIMAL, 5, 5)),  # 0.00099
        (2, -3, (Kind.DECIMAL, 5, 0)),  # 99000
        (36, -3, (Kind.NUMERIC_TEXT, None, None)),
        (2, 39, (Kind.NUMERIC_TEXT, None, None)),
    ],
)
def test_a_number_is_a_decimal_up_to_38_digits(
    precision: int | None, scale: int, expected: tuple[Kind, int | None, int | None]
) -> None:
    made = exact_number("n", precision, scale)
    assert (made.kind, made.precision, made.scale) == expected


def test_the_names_that_targets_use() -> None:
    numbers = ColumnType(Kind.ARRAY, "numeric(10,2)[]", element=exact_number("numeric(10,2)", 10, 2))
    assert spark_type(numbers) == delta_type(numbers) == "array<decimal(10,2)>"
    assert iceberg_type(numbers) == "list<decimal(10,2)>"
    instant = ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")
    assert (read_type(instant), spark_type(instant)) == ("string", "timestamp")
    assert iceberg_type(ColumnType(Kind.TIMESTAMP_MICROS, "timestamp")) == "timestamp"
    assert iceberg_type(ColumnType(Kind.INT64, "bigint")) == "long"
    assert spark_type(ColumnType(Kind.BITS, "bit(8)", length=8)) == "binary"


@pytest.mark.parametrize(
    ("pg_type", "typmod", "kind", "source"),
    [
        (PgType(16, "bool"), -1, Kind.BOOLEAN, "boolean"),
        (PgType(21, "int2"), -1, Kind.INT16, "smallint"),
        (PgType(23, "int4"), -1, Kind.INT32, "integer"),
        (PgType(20, "int8"), -1, Kind.INT64, "bigint"),
        (PgType(26, "oid"), -1, Kind.INT64, "oid"),
        (PgType(28, "xid"), -1, Kind.INT64, "xid"),
        (PgType(5069, "xid8"), -1, Kind.UINT64, "xid8"),
        (NUMERIC, -1, Kind.NUMERIC_TEXT, "numeric"),
        (NUMERIC, numeric(10, 2), Kind.DECIMAL, "numeric(10,2)"),
        (NUMERIC, numeric(2, -3), Kind.DECIMAL, "numeric(2,-3)"),
        (NUMERIC, numeric(1000, 1000), Kind.NUMERIC_TEXT, "numeric(1000,1000)"),
        (PgType(790, "money"), -1, Kind.DECIMAL, "money"),
        (PgType(700, "float4"), -1, Kind.FLOAT32, "real"),
        (FLOAT8, -1, Kind.FLOAT64, "double precision"),
        (PgType(25, "text"), -1, Kind.STRING, "text"),
        (PgType(1043, "varchar"), 36, Kind.STRING, "character varying(32)"),
        (PgType(1042, "bpchar"), 7, Kind.STRING, "character(3)"),
        (PgType(18, "char"), -1, Kind.STRING, '"char"'),
        (PgType(9001, "citext", schema="public"), -1, Kind.STRING, "citext"),
        (PgType(17, "bytea"), -1, Kind.BYTES, "bytea"),
        (PgType(1560, "bit"), 1, Kind.BOOLEAN, "bit(1)"),
        (PgType(1560, "bit"), 12, Kind.BITS, "bit(12)"),
        (PgType(1560, "bit"), -1, Kind.TEXT_OF, "bit"),  # create table as select B'101'
        (PgType(1562, "varbit"), 12, Kind.TEXT_OF, "bit varying(12)"),
        (PgType(1082, "date"), -1, Kind.DATE, "date"),
        (PgType(1083, "time"), 3, Kind.TIME_MICROS, "time(3) without time zone"),
        (PgType(1266, "timetz"), -1, Kind.ZONED_TIME, "time with time zone"),
        (PgType(1114, "timestamp"), -1, Kind.TIMESTAMP_MICROS, "timestamp without time zone"),
        (PgType(1184, "timestamptz"), 0, Kind.ZONED_TIMESTAMP, "timestamp(0) with time zone"),
        (PgType(1186, "interval"), -1, Kind.INTERVAL, "interval"),
        (PgType(1186, "interval"), 0x7FFF << 16 | 3, Kind.INTERVAL, "interval(3)"),
        (PgType(1186, "interval"), 6 << 16 | 0xFFFF, Kind.INTERVAL, "interval year to month"),
        (PgType(1186, "interval"), 1 << 28 | 3, Kind.INTERVAL, "interval second(3)"),
        (PgType(114, "json"), -1, Kind.JSON, "json"),
        (PgType(3802, "jsonb"), -1, Kind.JSON, "jsonb"),
        (PgType(2950, "uuid"), -1, Kind.UUID, "uuid"),
        (PgType(142, "xml"), -1, Kind.XML, "xml"),
        (PgType(869, "inet"), -1, Kind.TEXT_OF, "inet"),
        (PgType(600, "point", element=FLOAT8), -1, Kind.TEXT_OF, "point"),
        (PgType(30, "oidvector", category="A", element=PgType(26, "oid")), -1, Kind.TEXT_OF, "oidvector"),
        (PgType(3904, "int4range", kind="r"), -1, Kind.TEXT_OF, "int4range"),
        (PgType(4451, "int4multirange", kind="m"), -1, Kind.TEXT_OF, "int4multirange"),
        (PgType(9002, "address", schema="public", kind="c"), -1, Kind.TEXT_OF, "public.address"),
        (PgType(9003, "hstore", schema="public"), -1, Kind.TEXT_OF, "hstore"),
        (PgType(9004, "geometry", schema="gis"), 1234, Kind.TEXT_OF, "geometry"),
        (PgType(9005, "vector", schema="public"), 3, Kind.TEXT_OF, "vector(3)"),
    ],
)
def test_postgres(pg_type: PgType, typmod: int, kind: Kind, source: str) -> None:
    made = pg(pg_type, typmod)
    assert (made.kind, made.source) == (kind, source)


def test_postgres_instants_by_setting() -> None:
    assert pg(PgType(1184, "timestamptz"), instants=Kind.INSTANT_MICROS).kind is Kind.INSTANT_MICROS


def test_postgres_enum_keeps_its_labels() -> None:
    mood = PgType(9, "mood", schema="public", kind="e", labels=("low", "it's, high"))
    assert pg(mood) == ColumnType(Kind.ENUM, "public.mood", labels=("low", "it's, high"))


def test_postgres_domain_is_its_base_with_the_domains_typmod() -> None:
    price = PgType(9, "price", schema="public", kind="d", base=NUMERIC, typmod=numeric(10, 2))
    dear = PgType(10, "dear", schema="public", kind="d", base=price)
    assert pg(dear) == exact_number("numeric(10,2)", 10, 2)


def test_postgres_arrays() -> None:
    prices = PgType(1231, "_numeric", category="A", element=NUMERIC)
    made = pg(prices, numeric(10, 2))
    assert (made.kind, made.source) == (Kind.ARRAY, "numeric(10,2)[]")
    assert made.element == exact_number("numeric(10,2)", 10, 2)


def test_postgres_arrays_that_only_text_can_carry() -> None:
    boxes = PgType(1020, "_box", category="A", element=PgType(603, "box", delimiter=";"))
    assert pg(boxes).kind is Kind.TEXT_OF
    row = PgType(9, "row", schema="public", kind="d", base=INTEGERS)
    assert pg(PgType(10, "_row", schema="public", category="A", element=row)).kind is Kind.TEXT_OF


@pytest.mark.parametrize(
    "unknown",
    [
        PgType(9, "planet", schema="public"),
        PgType(9, "text", schema="public"),  # not the server's own text
        PgType(2249, "record", kind="p"),
        PgType(10, "_planet", schema="public", category="A", element=PgType(9, "planet", schema="public")),
    ],
)
def test_postgres_unknown_type_is_refused_until_taken_as_text(unknown: PgType) -> None:
    with pytest.raises(OperatorNeeded, match=r"column\.as\.text = 'public\.t\.c'") as raised:
        pg(unknown)
    assert raised.value.code == "pg.type_unknown"
    assert postgres.column_type(unknown, column="public.t.c", as_text=True).kind is Kind.TEXT_OF


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("tinyint(1)", Kind.INT16),
        ("tinyint(3) unsigned", Kind.INT16),
        ("smallint", Kind.INT16),
        ("smallint unsigned", Kind.INT32),
        ("mediumint(8) unsigned", Kind.INT32),
        ("int", Kind.INT32),
        ("int(10) unsigned zerofill", Kind.INT64),
        ("bigint(20)", Kind.INT64),
        ("bigint unsigned", Kind.UINT64),
        ("float(7,4)", Kind.FLOAT32),
        ("double unsigned", Kind.FLOAT64),
        ("decimal(65,30)", Kind.NUMERIC_TEXT),
        ("bit(1)", Kind.BOOLEAN),
        ("bit(64)", Kind.BITS),
        ("year(4)", Kind.YEAR),
        ("date", Kind.DATE),
        ("time(6)", Kind.DURATION_MICROS),
        ("datetime(3)", Kind.TIMESTAMP_MICROS),
        ("timestamp", Kind.ZONED_TIMESTAMP),
        ("char(3)", Kind.STRING),
        ("longtext /*M!100301 COMPRESSED*/", Kind.STRING),
        ("varbinary(16)", Kind.BYTES),
        ("longblob", Kind.BYTES),
        ("json", Kind.JSON),
        ("geometry", Kind.BYTES),
        ("uuid", Kind.UUID),
        ("inet6", Kind.TEXT_OF),
        ("set('a','b')", Kind.ENUM_SET),
    ],
)
def test_mysql(written: str, kind: Kind) -> None:
    made = my(written)
    assert (made.kind, made.source) == (kind, MYSQL_SPELLED.get(written, written))


MYSQL_SPELLED = {  # as the log and the catalogue can both say it
    "tinyint(1)": "tinyint",
    "tinyint(3) unsigned": "tinyint unsigned",
    "mediumint(8) unsigned": "mediumint unsigned",
    "int(10) unsigned zerofill": "int unsigned",
    "bigint(20)": "bigint",
    "float(7,4)": "float",
    "year(4)": "year",
    "longtext /*M!100301 COMPRESSED*/": "longtext",
}


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("decimal", "decimal(10,0)"),
        ("bit", "bit(1)"),
        ("char", "char(1)"),
        ("geomcollection", "geometrycollection"),
        ("varchar(32) /*M!100301 COMPRESSED*/", "varchar(32)"),
        ("datetime(0)", "datetime"),
        ("enum('a\U0001f600','b')", "enum('a?','b')"),  # as much as a catalogue can say of it
    ],
)
def test_mysql_has_one_spelling(written: str, spelled: str) -> None:
    assert my(written).source == spelled


def test_mysql_details() -> None:
    assert my("decimal(10,2) unsigned") == exact_number("decimal(10,2) unsigned", 10, 2)
    assert my("bit(12)").length == 12
    assert my("vector(3)").element == ColumnType(Kind.FLOAT32, "float")
    assert my("timestamp(6)", instants=Kind.INSTANT_MICROS).kind is Kind.INSTANT_MICROS


def test_mysql_labels_with_everything_in_them() -> None:
    written = r"enum('a','it''s','x,y','(z)','back\\slash','','line\nend','unsigned /*no*/')"
    made = my(written)
    assert made.kind is Kind.ENUM
    assert made.source == written
    assert made.labels == ("a", "it's", "x,y", "(z)", "back\\slash", "", "line\nend", "unsigned /*no*/")


@pytest.mark.parametrize("written", ["", "hyperloglog(3)", "unsigned", "char(1) unsigned"])
def test_mysql_unknown_type_is_refused_until_taken_as_text(written: str) -> None:
    with pytest.raises(OperatorNeeded, match=r"column\.exclude\.list = 'shop\.t\.c'") as raised:
        my(written)
    assert raised.value.code == "mysql.type_unknown"
    taken = mysql.column_type(mysql.parse(written), column="shop.t.c", as_text=True)
    assert taken == ColumnType(Kind.TEXT_OF, written)
