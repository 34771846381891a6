"""Statements of the model: what Oracle answers, and what it refuses."""

from typing import Any

import pytest

from tests.fixtures.oracle_model import ModelOracle
from tests.unit.oracle_model.mined import refused, shop


@pytest.fixture(scope="module")
def model() -> ModelOracle:
    made = shop()
    made.run("INSERT INTO ORDERS VALUES (1, 'a')", "INSERT INTO ORDERS VALUES (2, NULL)")
    made.run("INSERT INTO ORDERS VALUES (10, 'b')", "INSERT INTO ORDERS VALUES (11, 'B')")
    made.create_table("SHOP.OTHERS", {"ID": "NUMBER", "C": "CHAR(3)"})
    made.run("INSERT INTO OTHERS VALUES (1, 'x')", "INSERT INTO OTHERS VALUES (3, NULL)")
    return made


ANSWERS: dict[str, list[Any]] = {
    "SELECT ID FROM ORDERS WHERE NAME <> 'a'": [10, 11],
    "SELECT ID FROM ORDERS WHERE NOT (NAME = 'a')": [10, 11],
    "SELECT ID FROM ORDERS WHERE NAME IS NULL OR ID > 10": [2, 11],
    "SELECT ID FROM ORDERS WHERE NAME = ''": [],
    "SELECT ID FROM ORDERS WHERE ID NOT IN (1, NULL)": [],
    "SELECT ID FROM ORDERS WHERE ID IN (SELECT ID FROM OTHERS)": [1],
    "SELECT O.ID FROM ORDERS O WHERE EXISTS (SELECT 1 FROM OTHERS P WHERE P.ID = O.ID)": [1],
    "SELECT ID FROM ORDERS WHERE ID BETWEEN '2' AND 10": [2, 10],
    "SELECT ID FROM ORDERS WHERE NAME LIKE '%'": [1, 10, 11],
    "SELECT ID FROM ORDERS WHERE NAME NOT LIKE 'b'": [1, 11],
    "SELECT ID FROM ORDERS ORDER BY NAME": [11, 1, 10, 2],
    "SELECT ID FROM ORDERS ORDER BY NAME DESC": [2, 10, 1, 11],
    "SELECT ID FROM ORDERS ORDER BY NAME DESC NULLS LAST, ID": [10, 1, 11, 2],
    "SELECT TO_CHAR(ID) AS ID FROM ORDERS ORDER BY ID": ["1", "10", "11", "2"],
    "SELECT TO_CHAR(ID) FROM ORDERS ORDER BY ID": ["1", "2", "10", "11"],
    "SELECT ID FROM ORDERS ORDER BY ID OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY": [2, 10],
    "SELECT ID FROM ORDERS WHERE ROWNUM <= 2": [1, 2],
    "SELECT ID FROM ORDERS WHERE ROWNUM > 1": [],
    "SELECT MAX(ID) FROM ORDERS": [11],
    "SELECT MAX(ID) FROM ORDERS WHERE ID > 99": [None],
    "SELECT COUNT(NAME) FROM ORDERS": [3],
    "SELECT COUNT(DISTINCT UPPER(NAME)) FROM ORDERS": [2],
    "SELECT COUNT(*) FROM ORDERS GROUP BY UPPER(NAME) HAVING COUNT(*) > 1": [2],
    "SELECT DISTINCT UPPER(NAME) FROM ORDERS ORDER BY 1": ["A", "B", None],
    "SELECT NTILE(3) OVER (ORDER BY ID) FROM ORDERS": [1, 1, 2, 3],
    "SELECT ROW_NUMBER() OVER (PARTITION BY UPPER(NAME) ORDER BY ID DESC) FROM ORDERS ORDER BY ID": [
        *(1, 1, 2, 1)
    ],
    "SELECT O.NAME FROM ORDERS O LEFT JOIN OTHERS P ON P.ID = O.ID WHERE P.ID IS NULL AND O.ID < 11": [
        *(None, "b")
    ],
    "SELECT P.C FROM ORDERS JOIN OTHERS P USING (ID)": ["x  "],
    "SELECT ID FROM OTHERS WHERE C = 'x'": [1],
    "SELECT ID FROM OTHERS WHERE C = RTRIM('x ')": [],
    "SELECT 1 FROM DUAL UNION SELECT 1 FROM DUAL": [1],
    "SELECT 1 FROM DUAL UNION ALL SELECT 1 FROM DUAL": [1, 1],
    "SELECT ID FROM ORDERS MINUS SELECT ID FROM OTHERS ORDER BY 1 DESC": [11, 10, 2],
    "WITH X AS (SELECT ID + 1 N FROM ORDERS) SELECT MAX(N) FROM X": [12],
    "SELECT (SELECT NAME FROM ORDERS WHERE ID = 1) FROM DUAL": ["a"],
    "SELECT CASE WHEN NAME IS NULL THEN 'none' ELSE NAME END FROM ORDERS WHERE ID = 2": ["none"],
    "SELECT DECODE(NAME, NULL, 0, 'a', 1, 2) FROM ORDERS": [1, 0, 2, 2],
    "SELECT NVL(NAME, 'x') || '' || NULL FROM ORDERS WHERE ID = 2": ["x"],
    "SELECT LENGTH(SUBSTR('abc', 9)) FROM DUAL": [None],
    "SELECT TO_CHAR(DATE '2020-03-01' - 1, 'YYYY-MM-DD') FROM DUAL": ["2020-02-29"],
    "SELECT ROUND((TO_DATE('1970-01-02', 'YYYY-MM-DD') - DATE '1970-01-01') * 86400) FROM DUAL": [86_400],
    "SELECT 1 / 3 * 3 FROM DUAL": [pytest.approx(1)],
    "SELECT COUNT(*) FROM (SELECT LEVEL FROM DUAL CONNECT BY LEVEL <= 7)": [7],
    "SELECT TO_CHAR(SYS_EXTRACT_UTC(TIMESTAMP '2020-01-01 00:00:00 +02:00'), 'YYYY-MM-DD HH24') FROM DUAL": [
        "2019-12-31 22"
    ],
    'SELECT "ID" FROM "SHOP"."ORDERS" T WHERE T."NAME" = \'a\'': [1],
    "SELECT USER FROM DUAL": ["SHOP"],
    "SELECT GREATEST(2, 10, 9) FROM DUAL": [10],
}  # fmt: skip


@pytest.mark.parametrize("sql", ANSWERS)
def test_a_query_is_answered_as_by_oracle(sql: str, model: ModelOracle) -> None:
    assert [row[0] for row in model.rows(sql)] == ANSWERS[sql]


REFUSED = {
    "SELECT ID FROM ORDERS LIMIT 1": 933,
    "SELECT NOTHING FROM ORDERS": 904,
    "SELECT NO_SUCH(ID) FROM ORDERS": 904,
    "SELECT ID FROM NOWHERE": 942,
    'SELECT ID FROM "orders"': 942,
    "SELECT ID FROM ORDERS, OTHERS": 918,
    "SELECT ID FROM ORDERS WHERE (ID, NAME) > (1, 'a')": 1796,
    "SELECT 1": 923,
    "SELECT ID FROM ORDERS;": 933,
    "SELEC ID FROM ORDERS": 900,
    "SELECT ID, COUNT(*) FROM ORDERS WHERE COUNT(*) > 1": 934,
    "SELECT ID FROM ORDERS WHERE ID = 'x'": 1722,
    "SELECT ID FROM ORDERS WHERE ID = :bind": 1008,
    "SELECT (SELECT ID FROM ORDERS) FROM DUAL": 1427,
    "INSERT INTO ORDERS (ID) VALUES (1)": 1,
    "UPDATE ORDERS SET ID = NULL": 1407,
    "CREATE TABLE ORDERS (ID NUMBER)": 955,
    "ALTER TABLE ORDERS ADD (ID NUMBER)": 1430,
    "ALTER TABLE ORDERS DROP COLUMN NOTHING": 904,
    "ALTER TABLE ORDERS SHRINK SPACE": 1735,
    "ROLLBACK TO SAVEPOINT NOWHERE": 1086,
    "BEGIN NO_SUCH.THING; END;": 6550,
    "BEGIN NULL;": 6550,
    "DO SOMETHING": 900,
}


@pytest.mark.parametrize("sql", REFUSED)
def test_a_wrong_statement_shows(sql: str, model: ModelOracle) -> None:
    with refused(REFUSED[sql]):
        model.rows(sql)


def test_statements_change_rows() -> None:
    model = shop()
    again = "EXECUTE IMMEDIATE 'INSERT INTO ORDERS VALUES (2, NULL)'"
    model.run(f"BEGIN INSERT INTO ORDERS VALUES (1, 'a'); {again}; END;")
    model.run(
        "MERGE INTO ORDERS T USING (SELECT LEVEL + 1 ID FROM DUAL CONNECT BY LEVEL <= 2) S ON (T.ID = S.ID)"
        " WHEN MATCHED THEN UPDATE SET NAME = 'm' WHEN NOT MATCHED THEN INSERT (ID, NAME) VALUES (S.ID, 'n')"
    )
    assert model.rows("SELECT ID, NAME FROM ORDERS") == [(1, "a"), (2, "m"), (3, "n")]
    model.run("UPDATE ORDERS SET ID = ID + 10, NAME = UPPER(NAME) WHERE ID > 1")
    model.run("DELETE FROM ORDERS WHERE ID = 1")
    assert model.rows("SELECT ID, NAME FROM ORDERS") == [(12, "M"), (13, "N")]
    model.run("TRUNCATE TABLE ORDERS")
    assert model.rows("SELECT ID FROM ORDERS") == []


def test_columns_are_added_renamed_modified_and_dropped() -> None:
    model = shop()
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    versions = [model.table("SHOP.ORDERS").version]
    for sql in (
        "ALTER TABLE ORDERS ADD (MORE NUMBER(3) DEFAULT 7 NOT NULL, ALSO VARCHAR2(5))",
        "ALTER TABLE ORDERS RENAME COLUMN NAME TO LABEL",
        "ALTER TABLE ORDERS MODIFY (LABEL VARCHAR2(30))",
        "ALTER TABLE ORDERS DROP COLUMN ALSO",
        'ALTER TABLE ORDERS ADD "low" VARCHAR2(5) GENERATED ALWAYS AS (UPPER(LABEL))',
    ):
        model.run(sql)
        versions.append(model.table("SHOP.ORDERS").version)
    assert versions == list(range(1, 7)), "A13: each of them makes a version"
    assert model.rows('SELECT LABEL, MORE, "low" FROM ORDERS') == [("a", 7, "A")]
    assert model.rows("SELECT COLUMN_NAME, INTERNAL_COLUMN_ID, VIRTUAL_COLUMN FROM ALL_TAB_COLS") == [
        ("ID", 1, "NO"),
        ("LABEL", 2, "NO"),
        ("MORE", 3, "NO"),
        ("low", 4, "YES"),
    ]
    model.run("ALTER TABLE ORDERS DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    assert model.table("SHOP.ORDERS").version == 6
    model.run("UPDATE ORDERS SET MORE = 8")
