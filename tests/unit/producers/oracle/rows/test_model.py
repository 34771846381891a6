"""Rows of a model of the database: statements of its LogMiner and cells of a chunk become the same."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.fixtures.oracle_model import READER, ModelOracle
from tests.unit.producers.oracle.rows.decoding import ID, changes, decoder_of
from wrackline.producers.contract.steps import Unsent
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import KNOWN, family, read_again
from wrackline.producers.sources.oracle.rows.cell_sql import cell_sql

MINING = (
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => 0, ENDSCN => 0, OPTIONS =>"
    " SYS.DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + SYS.DBMS_LOGMNR.NO_ROWID_IN_STMT); END;"
)
ADDING = "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :f, OPTIONS => SYS.DBMS_LOGMNR.ADDFILE); END;"
FILES = (
    "SELECT MIN(F.MEMBER) FROM V$LOGFILE F JOIN V$LOG L ON L.GROUP# = F.GROUP#"
    " WHERE L.STATUS <> 'UNUSED' GROUP BY L.SEQUENCE#"
)
REDO = (
    "SELECT OPERATION_CODE, SQL_REDO FROM V$LOGMNR_CONTENTS"
    " WHERE OPERATION_CODE IN (1, 2, 3) AND TABLE_NAME = 'T'"
)
TYPE = (
    "SELECT DATA_TYPE, NVL(CHAR_LENGTH, DATA_LENGTH), DATA_PRECISION, DATA_SCALE, DATA_TYPE_OWNER"
    " FROM ALL_TAB_COLS WHERE OWNER = 'SHOP' AND TABLE_NAME = 'T' AND COLUMN_NAME = 'V'"
)

# A type as a table declares it, and values in SQL.
TABLES: Sequence[tuple[str, Sequence[str]]] = [
    ("NUMBER(4)", ("0", "-9999")),
    ("NUMBER(18)", ("999999999999999999", "-1")),
    ("NUMBER(10,2)", ("0.5", "-99999999.99")),
    ("NUMBER(3,-2)", ("12300",)),
    ("NUMBER(38)", ("-12345678901234567890123456789012345678",)),
    ("NUMBER", ("0.1", "-0.00000000000000000001", "12345678901234567890.5", "1E+30")),
    ("INTEGER", ("123456789012345678901234567890",)),
    ("FLOAT(126)", ("3.33",)),
    ("CHAR(5)", ("'ab'", "''''")),
    ("VARCHAR2(40)", ("'O''Brien'", "'a, b)'' || '", "CHR(10)", "'č€😀'")),
    ("NCHAR(3)", ("N'č'",)),
    ("NVARCHAR2(40)", ("N'a\\b''č😀'", "N'plain'")),
    ("RAW(16)", ("HEXTORAW('00FF7F')",)),
    ("DATE", ("DATE '2026-01-02'", "TO_DATE('-0044-03-15 12:30:00', 'SYYYY-MM-DD HH24:MI:SS')")),
    ("TIMESTAMP(6)", ("TIMESTAMP '2026-01-02 03:04:05.123456'",)),
    ("TIMESTAMP(9)", ("TIMESTAMP '1969-12-31 23:59:59.999999999'",)),
    ("TIMESTAMP(6) WITH TIME ZONE", ("TIMESTAMP '2026-01-02 03:04:05.5 -02:30'",)),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", ("TIMESTAMP '2026-01-02 03:04:05.5 +02:00'",)),
    ("INTERVAL DAY(3) TO SECOND(6)", ("INTERVAL '-12 03:04:05.6' DAY(3) TO SECOND(6)",)),
    ("INTERVAL YEAR(3) TO MONTH", ("INTERVAL '123-11' YEAR(3) TO MONTH",)),
    ("BINARY_FLOAT", ("1.1",)),
    ("BINARY_DOUBLE", ("-2.5E-300",)),
    ("CLOB", ("'small'",)),
    ("NCLOB", ("N'č'",)),
    ("BLOB", ("HEXTORAW('00FF')",)),
    ("XMLTYPE", ("XMLTYPE('<a>1</a>')",)),
    ("ROWID", ("CHARTOROWID('AAAF0jAAEAAAACXAAA')",)),
    ("UROWID", ("CHARTOROWID('AAAF0jAAEAAAACXAAA')",)),
    ("JSON", ("""'{"a":1}'""",)),
    ("VECTOR", ("'[1,2]'",)),
    ("BOOLEAN", ("TRUE", "FALSE")),
]


class Shop:
    """A database with one table, and a session that reads and mines it."""

    def __init__(self, declared: str) -> None:
        self.model = ModelOracle()
        self.model.create_user("READER", "secret", *READER)
        self.model.create_table("SHOP.T", {"ID": "NUMBER(9)", "V": declared}, key=("ID",))
        driver = self.model.driver
        self.session = OracleSession(driver, driver.connect(user="READER", password="secret"))
        ((name, *numbers),) = self.ask(TYPE)
        self.type = OracleType(name, *numbers)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self.session.ask(sql, "answer")

    def redo(self) -> list[tuple[int, str]]:
        for (name,) in self.ask(FILES):
            self.session.execute(ADDING, "add", {"f": str(name)})
        self.session.execute(MINING, "start")
        return [(int(str(operation)), str(redo)) for operation, redo in self.ask(REDO)]

    def rows(self) -> list[tuple[Any, ...]]:
        cells = [cell_sql(ID).format('"ID"'), cell_sql(self.type).format('"V"')]
        return self.ask(f'SELECT {", ".join(cells)} FROM "SHOP"."T" ORDER BY "ID"')


def test_every_type_has_a_table() -> None:
    assert {family(Shop(declared).type) for declared, _ in TABLES} == KNOWN


@pytest.mark.parametrize(("declared", "values"), TABLES, ids=[declared for declared, _ in TABLES])
def test_a_statement_and_a_chunk_give_the_same_row(declared: str, values: Sequence[str]) -> None:
    shop = Shop(declared)
    for number, value in enumerate([*values, "NULL"], 1):
        shop.model.run(f"INSERT INTO T (ID, V) VALUES ({number}, {value})")
    rows, redo = shop.rows(), shop.redo()
    decoder = decoder_of({"ID": ID, "V": shop.type})
    assert [row[1] is None for row in rows] == [False] * len(values) + [True]
    made = [event for event in changes(decoder, *redo) if event[1] == "c"]
    seen = {event[2]: event for event in made}
    for row in rows:
        key, head = decoder.read(row)
        *_, event, unsent = seen[key]
        if unsent is None:
            assert event.startswith(head + b"<source>")
        else:
            assert read_again(shop.type)
            assert unsent.columns == ("V",)


@pytest.mark.parametrize(("declared", "values"), TABLES, ids=[declared for declared, _ in TABLES])
def test_a_row_is_the_same_before_and_after(declared: str, values: Sequence[str]) -> None:
    """What an update writes is what the next one finds, and what is deleted."""
    shop = Shop(declared)
    shop.model.run("INSERT INTO T (ID, V) VALUES (1, NULL)")
    for value in values:
        shop.model.run(f"UPDATE T SET V = {value} WHERE ID = 1")
    ((*_, last),) = shop.rows()
    decoder = decoder_of({"ID": ID, "V": shop.type})
    key, head = decoder.read(("1", last))
    shop.model.run("UPDATE T SET ID = 2 WHERE ID = 1", "DELETE FROM T WHERE ID = 2")
    events = changes(decoder, *shop.redo())
    unsents = [unsent for *_, unsent in events if unsent is not None]
    if read_again(shop.type):
        assert all(unsent.columns == ("V",) for unsent in unsents)
        return
    assert unsents == []
    *_, before_last, moved, made, gone = events
    image = head[6:]  # behind the header and the missing image before
    assert (moved[1], moved[2], made[1], gone[1]) == ("d", key, "c", "d")
    assert moved[3].startswith(head[:5] + image)
    assert before_last[3].endswith(image + before_last[3][before_last[3].index(b"<source>") :])


def test_an_unsent_value_that_changed_says_so() -> None:
    shop = Shop("BINARY_DOUBLE")
    shop.model.run("INSERT INTO T (ID, V) VALUES (1, 1.5)", "UPDATE T SET V = 2.5 WHERE ID = 1")
    decoder = decoder_of({"ID": ID, "V": shop.type})
    assert [event[4] for event in changes(decoder, *shop.redo())] == [Unsent(("V",), again=True)] * 2
