"""Oracle's types: which kind each is, and what is refused."""

from typing import Any

import pytest

from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import (
    KNOWN,
    column_type,
    finer_than_micros,
    may_lack,
    read_again,
    type_text,
)
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.types import ColumnType, Kind


def number(precision: int | None = None, scale: int | None = None) -> OracleType:
    return OracleType("NUMBER", precision=precision, scale=scale)


def kind_of(sql_type: OracleType, **options: Any) -> ColumnType:
    return column_type(sql_type, column="S.T.C", **options)


def refusal(sql_type: OracleType, **options: bool) -> str:
    with pytest.raises(OperatorNeeded) as caught:
        kind_of(sql_type, **options)
    assert caught.value.hint
    return caught.value.code


@pytest.mark.parametrize(
    ("sql_type", "kind"),
    [
        (number(1, 0), ColumnType(Kind.INT16, "NUMBER(1,0)")),
        (number(4, 0), ColumnType(Kind.INT16, "NUMBER(4,0)")),
        (number(5, 0), ColumnType(Kind.INT32, "NUMBER(5,0)")),
        (number(9, 0), ColumnType(Kind.INT32, "NUMBER(9,0)")),
        (number(10, 0), ColumnType(Kind.INT64, "NUMBER(10,0)")),
        (number(18, 0), ColumnType(Kind.INT64, "NUMBER(18,0)")),
        (number(2, -2), ColumnType(Kind.INT16, "NUMBER(2,-2)")),
        (number(16, -2), ColumnType(Kind.INT64, "NUMBER(16,-2)")),
        (number(17, -2), ColumnType(Kind.DECIMAL, "NUMBER(17,-2)", precision=19, scale=0)),
        (number(19, 0), ColumnType(Kind.DECIMAL, "NUMBER(19,0)", precision=19, scale=0)),
        (number(38, 0), ColumnType(Kind.DECIMAL, "NUMBER(38,0)", precision=38, scale=0)),
        (number(38, -1), ColumnType(Kind.NUMERIC_TEXT, "NUMBER(38,-1)")),
        (number(10, 2), ColumnType(Kind.DECIMAL, "NUMBER(10,2)", precision=10, scale=2)),
        (number(2, 5), ColumnType(Kind.DECIMAL, "NUMBER(2,5)", precision=5, scale=5)),
        (number(5, 127), ColumnType(Kind.NUMERIC_TEXT, "NUMBER(5,127)")),
        (number(None, 0), ColumnType(Kind.DECIMAL, "NUMBER(*,0)", precision=38, scale=0)),
        (number(), ColumnType(Kind.NUMERIC_TEXT, "NUMBER")),
        (OracleType("FLOAT", precision=126), ColumnType(Kind.NUMERIC_TEXT, "FLOAT(126)")),
        (OracleType("FLOAT", precision=10), ColumnType(Kind.NUMERIC_TEXT, "FLOAT(10)")),
        (OracleType("DATE"), ColumnType(Kind.TIMESTAMP_MICROS, "DATE")),
        (OracleType("TIMESTAMP(9)"), ColumnType(Kind.TIMESTAMP_MICROS, "TIMESTAMP(9)")),
        (
            OracleType("TIMESTAMP(6) WITH TIME ZONE"),
            ColumnType(Kind.ZONED_TIMESTAMP, "TIMESTAMP(6) WITH TIME ZONE"),
        ),
        (OracleType("VARCHAR2", length=20), ColumnType(Kind.STRING, "VARCHAR2(20)")),
        (OracleType("RAW", length=16), ColumnType(Kind.BYTES, "RAW(16)")),
        (OracleType("XMLTYPE", length=2000, owner="SYS"), ColumnType(Kind.XML, "XMLTYPE")),
        (OracleType("XMLTYPE", owner="PUBLIC"), ColumnType(Kind.XML, "XMLTYPE")),
    ],
)
def test_a_type_has_its_kind(sql_type: OracleType, kind: ColumnType) -> None:
    assert kind_of(sql_type) == kind


def test_an_instant_is_what_the_setting_says() -> None:
    for name in ("TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"):
        made = column_type(OracleType(name), column="C", instants=Kind.INSTANT_MICROS)
        assert made.kind is Kind.INSTANT_MICROS


@pytest.mark.parametrize(
    "sql_type",
    [
        OracleType("LONG"),
        OracleType("LONG RAW"),
        OracleType("BFILE"),
        OracleType("SDO_GEOMETRY", owner="MDSYS"),
        OracleType("ADDRESS", owner="SHOP"),
        OracleType("XMLTYPE", owner="SHOP"),
        OracleType("NUMBER", owner="SHOP"),
        OracleType("ANYDATA", owner="SYS"),
        OracleType("UNDEFINED"),
    ],
)
def test_what_log_miner_does_not_show_is_refused_also_as_text(sql_type: OracleType) -> None:
    assert refusal(sql_type) == refusal(sql_type, as_text=True) == "oracle.type_refused"


@pytest.mark.parametrize(
    "name",
    [
        "CLOB",
        "NCLOB",
        "BLOB",
        "XMLTYPE",
        "JSON",
        "VECTOR",
        "BOOLEAN",
        "BINARY_FLOAT",
        "BINARY_DOUBLE",
        "ROWID",
        "UROWID",
    ],
)
def test_a_key_is_exact_and_has_an_order(name: str) -> None:
    assert refusal(OracleType(name), keyed=True) == "oracle.key_unordered"
    assert refusal(OracleType(name), keyed=True, as_text=True) == "oracle.key_unordered"


def test_a_key_of_finer_moments_is_carried_as_text() -> None:
    for name in ("TIMESTAMP(7)", "TIMESTAMP(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"):
        assert refusal(OracleType(name), keyed=True) == "oracle.key_inexact"
        assert kind_of(OracleType(name), keyed=True, as_text=True).kind is Kind.TEXT_OF
    assert kind_of(OracleType("TIMESTAMP(6)"), keyed=True).kind is Kind.TIMESTAMP_MICROS
    assert refusal(OracleType("VARCHAR2", length=32767), keyed=True) == "oracle.key_unordered"
    assert kind_of(OracleType("VARCHAR2", length=4000), keyed=True).kind is Kind.STRING


def test_only_moments_that_are_finer_than_micros_are_named() -> None:
    finer = ["TIMESTAMP(9)", "TIMESTAMP(7) WITH TIME ZONE", "TIMESTAMP(8) WITH LOCAL TIME ZONE"]
    exact = ["TIMESTAMP(6)", "DATE", "INTERVAL DAY(9) TO SECOND(9)", "TIMESTAMP(0) WITH TIME ZONE", "NUMBER"]
    assert all(finer_than_micros(OracleType(name)) for name in finer)
    assert not any(finer_than_micros(OracleType(name)) for name in exact)


def test_which_columns_need_a_key() -> None:
    lack = {name for name in KNOWN if may_lack(OracleType(name))}
    assert lack == {"CLOB", "NCLOB", "BLOB", "XMLTYPE", "JSON", "VECTOR", "BOOLEAN"}
    again = {name for name in KNOWN if read_again(OracleType(name))}
    assert again == lack | {"BINARY_FLOAT", "BINARY_DOUBLE"}
    for name, most in {"VARCHAR2": 1000, "NVARCHAR2": 2000, "RAW": 2000}.items():
        assert not may_lack(OracleType(name, length=most))
        assert may_lack(OracleType(name, length=most + 1))
    for name, most in {"VARCHAR2": 4000, "NVARCHAR2": 2000, "RAW": 2000}.items():
        assert not read_again(OracleType(name, length=most))
        assert read_again(OracleType(name, length=most + 1))
    assert not may_lack(OracleType("CHAR", length=2000))


def test_a_type_is_written_as_the_server_writes_it() -> None:
    assert type_text(OracleType("ADDRESS", owner="SHOP")) == "SHOP.ADDRESS"
    assert type_text(OracleType("INTERVAL DAY(2) TO SECOND(6)")) == "INTERVAL DAY(2) TO SECOND(6)"
    assert type_text(OracleType("CLOB", length=0)) == "CLOB"
