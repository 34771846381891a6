"""Values of the model: texts of TO_CHAR and of SQL_REDO, each type once or more."""

import pytest

from tests.fixtures.oracle_model import ModelOracle
from tests.fixtures.oracle_model.values.formats import moment_of, moment_text
from tests.fixtures.oracle_model.values.moments import MomentKind, add_months, civil, day_number
from tests.fixtures.oracle_model.values.types import type_of
from tests.unit.oracle_model.mined import Miner, refused

MASK = "SYYYY-MM-DD HH24:MI:SS"
# type, a value in SQL, what SQL_REDO has, what the chunk's expression gives, that expression
CASES = [
    ("NUMBER", ".5", "'.5'", ".5", "TO_CHAR(V, 'TM9')"),
    ("NUMBER", "-1234567890.0123", "'-1234567890.0123'", "-1234567890.0123", "TO_CHAR(V, 'TM9')"),
    ("NUMBER(5,2)", "12.345", "'12.35'", "12.35", "TO_CHAR(V, 'TM9')"),
    ("NUMBER(3,-2)", "12345", "'12300'", "12300", "TO_CHAR(V, 'TM9')"),
    ("INTEGER", "'7'", "'7'", "7", "TO_CHAR(V, 'TM9')"),
    ("FLOAT(10)", "3.14159", "'3.142'", "3.142", "TO_CHAR(V, 'TM9')"),
    ("BINARY_DOUBLE", "0.1", "'1.0000000000000001E-001'", 0.1, "V"),
    ("BINARY_DOUBLE", "-2.5e-300", "'0'", -2.5e-300, "V"),
    ("BINARY_FLOAT", "15000000512", "'1.50000005E+010'", 15000000512.0, "V"),
    ("VARCHAR2(10)", "'it''s é'", "'it''s é'", "it's é", "V"),
    ("CHAR(4)", "'a'", "'a   '", "a   ", "V"),
    ("NVARCHAR2(9)", r"'é\😀'", r"UNISTR('\00E9\005C\D83D\DE00')", r"é\😀", "V"),
    ("NCHAR(3)", "'a'", "UNISTR('a  ')", "a  ", "V"),
    ("DATE", "DATE '2020-02-29'", f"TO_DATE(' 2020-02-29 00:00:00', '{MASK}')", " 2020-02-29 00:00:00",
     f"TO_CHAR(V, '{MASK}')"),
    ("DATE", f"TO_DATE('-4712-01-01 00:00:00', '{MASK}')", f"TO_DATE('-4712-01-01 00:00:00', '{MASK}')",
     "-4712-01-01 00:00:00", f"TO_CHAR(V, '{MASK}')"),
    ("TIMESTAMP(3)", "TIMESTAMP '2020-01-01 10:00:00.1236'", "TO_TIMESTAMP(' 2020-01-01 10:00:00.124000000')",
     " 2020-01-01 10:00:00.124000000", f"TO_CHAR(V, '{MASK}.FF9')"),
    ("TIMESTAMP(9) WITH TIME ZONE", "TIMESTAMP '2020-01-01 10:00:00.5 +05:30'",
     "TO_TIMESTAMP_TZ(' 2020-01-01 10:00:00.500000000 +05:30')", " 2020-01-01 10:00:00.500000000 +05:30",
     f"TO_CHAR(V, '{MASK}.FF9 TZH:TZM')"),
    ("TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP '2020-01-01 10:00:00 +05:30'",
     "TO_TIMESTAMP_TZ(' 2020-01-01 04:30:00.000000000')", " 2020-01-01 04:30:00.000000000",
     f"TO_CHAR(V, '{MASK}.FF9')"),
    ("INTERVAL DAY(3) TO SECOND(2)", "INTERVAL '5 04:03:02.123' DAY TO SECOND",
     "TO_DSINTERVAL('+005 04:03:02.12')", "+005 04:03:02.12", "TO_CHAR(V)"),
    ("INTERVAL YEAR(4) TO MONTH", "TO_YMINTERVAL('-12-03')", "TO_YMINTERVAL('-0012-03')", "-0012-03",
     "TO_CHAR(V)"),
    ("RAW(4)", "HEXTORAW('00ff')", "HEXTORAW('00ff')", b"\x00\xff", "V"),
    ("CLOB", "'short'", "'short'", "short", "V"),
    ("CLOB", "EMPTY_CLOB()", "EMPTY_CLOB()", None, "V"),
    ("NCLOB", "'é'", r"UNISTR('\00E9')", "é", "V"),
    ("BLOB", "HEXTORAW('0e')", "HEXTORAW('0e')", b"\x0e", "V"),
    ("UROWID", "'*BAEADBYBwQL+'", "'*BAEADBYBwQL+'", "*BAEADBYBwQL+", "V"),
    ("BOOLEAN", "TRUE", "Unsupported Type", True, "V"),
    ("JSON", "'{}'", "Unsupported Type", "{}", "JSON_SERIALIZE(V RETURNING CLOB)"),
    ("XMLTYPE", "XMLTYPE('<a/>')", None, "<a/>", "XMLSERIALIZE(CONTENT V AS CLOB)"),
    ("LONG", "'x'", "'x'", "x", "V"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_a_value_is_shown_by_the_log_and_by_a_select(case: tuple[str, str, str | None, object, str]) -> None:
    written, value, redo, field, expression = case
    model = ModelOracle()
    model.create_table("SHOP.T", {"ID": "NUMBER", "V": written}, key=("ID",))
    miner, begin = Miner(model), model.scn + 1
    model.run(f"INSERT INTO T VALUES (1, {value})")
    statements = miner.redo(begin - 1)
    if redo is not None:
        assert redo in statements[-1] if redo.startswith("EMPTY") else statements[-1].count(redo) == 1
    assert miner.ask(f"SELECT {expression} FROM SHOP.T") == [(field,)]
    model.run("UPDATE T SET V = NULL")
    assert miner.ask("SELECT V FROM SHOP.T") == [(None,)]
    assert miner.ask("SELECT DATA_TYPE FROM ALL_TAB_COLS WHERE COLUMN_NAME = 'V'") == [
        (type_of(written).name,)
    ]


def test_a_row_of_a_type_that_log_miner_does_not_know_is_unsupported() -> None:
    model = ModelOracle()
    model.create_table("SHOP.T", {"ID": "NUMBER", "V": "BFILE"})
    begin = model.scn + 1
    model.run("INSERT INTO T VALUES (1, NULL)")
    rows = Miner(model).mine(begin - 1)
    assert [(row["OPERATION_CODE"], row["SQL_REDO"], row["STATUS"]) for row in rows if row["STATUS"]] == [
        (255, "Unsupported", 2)
    ]


def test_what_does_not_fit_is_refused() -> None:
    model = ModelOracle()
    columns = {"N": "NUMBER(3)", "V": "VARCHAR2(2)", "D": "DATE", "R": "RAW(1)", "K": "NUMBER NOT NULL"}
    model.create_table("SHOP.T", columns)
    for number, values in (
        (1438, "1000, NULL, NULL, NULL, 1"),
        (1722, "'x', NULL, NULL, NULL, 1"),
        (12899, "1, 'abc', NULL, NULL, 1"),
        (12899, "1, 'é€', NULL, NULL, 1"),
        (12899, "1, NULL, NULL, HEXTORAW('0000'), 1"),
        (932, "1, NULL, 5, NULL, 1"),
        (1400, "1, NULL, NULL, NULL, NULL"),
        (947, "1"),
        (913, "1, 2, 3, 4, 5, 6"),
    ):
        with refused(number):
            model.run(f"INSERT INTO T VALUES ({values})")
    with refused(902):
        model.create_table("SHOP.U", {"N": "WHATEVER"})


def test_days_are_those_of_the_julian_calendar_before_1582() -> None:
    assert civil(day_number(1582, 10, 15) - 1) == (1582, 10, 4)
    assert day_number(1, 1, 1) - day_number(-1, 12, 31) == 1
    first = day_number(-4712, 1, 1)
    assert first == -2_440_222
    for day in range(first, 40_000, 997):
        assert day_number(*civil(day)) == day
    text = "-0044-03-15 12:00:00"
    assert moment_text(moment_of(text, MASK, MomentKind.DATE), MASK) == text


def test_months_are_added_and_the_last_day_stays_one() -> None:
    date = moment_of("2024-01-31", "YYYY-MM-DD", MomentKind.DATE)
    assert moment_text(add_months(date, 1), "YYYY-MM-DD") == "2024-02-29"
    assert moment_text(add_months(date, -12), "YYYY-MM-DD") == "2023-01-31"


def test_moments_that_are_in_no_calendar_are_refused() -> None:
    for text, number in (("2023-02-29", 1839), ("2023-13-01", 1843), ("0000-01-01", 1841), ("x", 1861)):
        with refused(number):
            moment_of(text, "YYYY-MM-DD", MomentKind.DATE)
    with refused(1821):
        moment_of("x", "QQ", MomentKind.DATE)
