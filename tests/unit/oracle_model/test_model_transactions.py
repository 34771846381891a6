"""Transactions of the model: what others see, at which SCN, and who may do what."""

from threading import Thread

import pytest

from tests.fixtures.oracle_model import READER, Error, ModelOracle
from tests.fixtures.oracle_model.driver import ModelCursor
from tests.unit.oracle_model.mined import ADD, START, Miner, refused, shop


def test_rows_are_as_they_were_at_an_scn() -> None:
    model = shop()
    miner, scns = Miner(model), []
    for statement in (
        "INSERT INTO ORDERS VALUES (1, 'a')",
        "UPDATE ORDERS SET NAME = 'b'",
        "DELETE FROM ORDERS",
        "INSERT INTO ORDERS VALUES (1, 'c')",
    ):
        model.run(statement)
        scns.append(model.scn)
    sql = "SELECT NAME FROM SHOP.ORDERS AS OF SCN :s"
    assert [miner.ask(sql, s=scn) for scn in scns] == [[("a",)], [("b",)], [], [("c",)]]
    assert miner.ask(sql, s=scns[0] - 1) == []
    with refused(8181):
        miner.ask(sql, s=model.scn + 1)
    model.run("ALTER TABLE ORDERS ADD (X NUMBER)")
    with refused(1466):
        miner.ask(sql, s=scns[-1])
    scn = model.scn
    assert miner.ask(sql, s=scn) == [("c",)]
    model.forget_undo()
    with refused(1555):
        miner.ask(sql, s=scn)


def test_an_open_transaction_is_seen_by_itself_alone_and_locks_its_rows() -> None:
    model = shop()
    one = model.begin()
    one.run("INSERT INTO ORDERS VALUES (1, 'a')")
    assert model.rows("SELECT ID FROM ORDERS") == []
    relation = one.session.execute("SELECT ID FROM ORDERS").relation
    assert relation is not None
    assert relation.rows == [(1,)]
    joined = "SELECT T.START_SCN, S.SID FROM V$TRANSACTION T JOIN V$SESSION S ON S.SADDR = T.SES_ADDR"
    [(start, sid)] = model.rows(joined)
    assert (start, sid) == (model.scn, one.session.number)
    one.commit()
    other = model.begin()
    other.run("UPDATE ORDERS SET NAME = 'b'")
    with refused(30006):
        model.run("UPDATE ORDERS SET NAME = 'c'")
    other.rollback()
    assert model.run("UPDATE ORDERS SET NAME = 'c'")
    assert model.rows("SELECT NAME FROM ORDERS") == [("c",)]


def test_a_slot_is_used_again_with_the_next_sequence_but_not_at_the_scn_at_which_it_ended() -> None:
    model = shop()
    names = [model.run(f"INSERT INTO ORDERS VALUES ({number}, 'a')") for number in range(6)]
    assert len({*names}) == 6
    assert names[0][:8] == names[2][:8] != names[1][:8]
    assert model.run() == ""


def test_the_current_scn_moves_on_when_it_is_asked_for() -> None:
    model = shop()
    miner = Miner(model)
    first, second = (miner.ask("SELECT CURRENT_SCN FROM V$DATABASE") for _ in range(2))
    assert first < second
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    assert miner.ask("SELECT COUNT(*) FROM SHOP.ORDERS AS OF SCN :s", s=second[0][0]) == [(0,)]


def codes_of(cursor: ModelCursor, sql: str) -> set[int]:
    """Run a statement; return the number of its error."""
    try:
        cursor.execute(sql)
    except Error as error:
        return {error.args[0].code}
    return set()


def test_each_right_is_needed() -> None:
    model = shop()
    model.create_user("POOR", "secret", "CREATE SESSION")
    poor = model.driver.connect(user="poor", password="secret").cursor()
    for number, sql, right in (
        (942, "SELECT CURRENT_SCN FROM V$DATABASE", "SELECT ON V_$DATABASE"),
        (942, "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE 1 = 0", "SELECT ON V_$LOGMNR_CONTENTS"),
        (942, "SELECT ID FROM SHOP.ORDERS", "SELECT ON SHOP.ORDERS"),
        (1031, "SELECT ID FROM SHOP.ORDERS AS OF SCN 2000003", "FLASHBACK ON SHOP.ORDERS"),
        (1031, "INSERT INTO SHOP.ORDERS VALUES (1, 'a')", "INSERT ON SHOP.ORDERS"),
        (1031, "CREATE TABLE MINE (N NUMBER)", "CREATE TABLE"),
        (6550, START.replace(":a", "0").replace(":b", "0"), "EXECUTE ON DBMS_LOGMNR"),
        (1031, START.replace(":a", "0").replace(":b", "0"), "LOGMINING"),
    ):
        with refused(number):
            poor.execute(sql)
        model.grant("POOR", right)
        assert number not in codes_of(poor, sql) or right == "EXECUTE ON DBMS_LOGMNR", sql
    model.revoke("POOR", "SELECT ON SHOP.ORDERS", "INSERT ON SHOP.ORDERS")
    with refused(942):
        poor.execute("SELECT ID FROM SHOP.ORDERS")
    assert poor.execute("SELECT TABLE_NAME FROM ALL_TABLES").fetchall() == [("MINE",)]
    for user, password, number in (("poor", "wrong", 1017), ("nobody", "x", 1017)):
        with refused(number):
            model.driver.connect(user=user, password=password)
    model.revoke("POOR", "CREATE SESSION")
    with refused(1045):
        model.driver.connect(user="POOR", password="secret")


def test_a_common_user_enters_a_pluggable_database_and_mines_in_the_root() -> None:
    model = shop(pdb="PDB1")
    model.create_pdb("PDB2")
    model.create_table("SHOP.ORDERS", {"ID": "NUMBER"}, pdb="PDB2")
    model.create_user("LOCAL", "secret", *READER)
    miner, begin = Miner(model), model.scn
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    model.run("INSERT INTO ORDERS VALUES (2)", pdb="PDB2")
    names = miner.mine(begin, 0, "SRC_CON_NAME", "OPERATION_CODE", "RAWTOHEX(XID)")
    inserts = [row for row in names if row["OPERATION_CODE"] == 1]
    assert [row["SRC_CON_NAME"] for row in inserts] == ["PDB1", "PDB2"]
    assert miner.ask("SELECT NAME FROM V$PDBS WHERE OPEN_MODE = 'READ WRITE'") == [("PDB1",), ("PDB2",)]
    with refused(942):
        miner.ask("SELECT ID FROM SHOP.ORDERS")
    miner.run('ALTER SESSION SET CONTAINER = "PDB2"')
    assert miner.ask("SELECT ID FROM SHOP.ORDERS") == [(2,)]
    with refused(65040):
        miner.run(ADD, f="x")
    model.revoke("C##READER", "SELECT_CATALOG_ROLE", "SELECT ANY DICTIONARY", only_in="PDB2")
    with refused(942):
        miner.ask("SELECT DBID FROM V$DATABASE")
    miner.run("ALTER SESSION SET CONTAINER = CDB$ROOT")
    assert miner.ask("SELECT COUNT(*) FROM V$DATABASE") == [(1,)]
    with refused(65011):
        miner.run("ALTER SESSION SET CONTAINER = NOWHERE")
    assert model.driver.connect(user="LOCAL", password="secret", service_name="pdb1")
    with refused(1017):
        model.driver.connect(user="LOCAL", password="secret", service_name="ORCLCDB")


def test_errors_are_planted_at_statements_at_rows_and_at_calls() -> None:
    model = shop()
    model.run("INSERT INTO ORDERS SELECT LEVEL, 'x' FROM DUAL CONNECT BY LEVEL <= 9")
    miner = Miner(model)
    model.fail("shop.orders", 1555)
    with refused(1555):
        miner.ask("SELECT ID FROM SHOP.ORDERS")
    model.fail("SHOP.ORDERS", 310, after_rows=5)
    cursor = miner.connection.cursor().execute("SELECT ID FROM SHOP.ORDERS")
    assert len(cursor.fetchmany(5)) == 5
    with refused(310):
        cursor.fetchmany(5)
    for binds, code in (({}, "DPY-4010"), ({"a": 1, "b": 2}, "DPY-4008")):
        with pytest.raises(Error, match=code):
            miner.ask("SELECT :a FROM DUAL", **binds)
    with pytest.raises(Error, match="DPY-1003"):
        miner.connection.cursor().execute("COMMIT").fetchall()
    model.fail("COMMIT", 3113)
    with pytest.raises(Error, match=r"DPY-4011.*ORA-03113"):
        miner.connection.commit()
    with pytest.raises(Error, match="DPY-1001"):
        miner.connection.cursor()
    model.fail("CONNECT", 12541, times=2)
    for _ in range(2):
        with refused(12541):
            model.driver.connect(user="READER", password="secret")
    assert model.driver.connect(user="READER", password="secret")


def test_a_call_that_waits_is_cancelled_or_released() -> None:
    model = shop()
    miner = Miner(model)
    seen: list[object] = []

    def ask() -> None:
        try:
            seen.append(miner.ask("SELECT ID FROM SHOP.ORDERS"))
        except Error as error:
            seen.append(error.args[0].code)

    for end in (miner.connection.cancel, model.release):
        waits = model.stall("SHOP.ORDERS")
        thread = Thread(target=ask)
        thread.start()
        assert waits.wait(10)
        assert model.rows("SELECT ID FROM ORDERS") == [], "others run meanwhile"
        end()
        thread.join(10)
    assert seen == [1013, []]


def test_a_restart_ends_every_session_and_takes_back_what_is_open() -> None:
    model = shop()
    miner = Miner(model)
    model.grant("READER", "INSERT ON SHOP.ORDERS")
    miner.run("INSERT INTO SHOP.ORDERS VALUES (1, 'a')")
    model.restart()
    for code in ("DPY-4011", "DPY-1001"):
        with pytest.raises(Error, match=code):
            miner.ask("SELECT ID FROM SHOP.ORDERS")
    assert model.rows("SELECT ID FROM ORDERS") == []
    assert model.driver.connections == 0


def test_a_transaction_that_several_instances_write() -> None:
    model = shop(threads=2)
    begin = model.scn + 1
    one = model.begin(1)
    one.run("INSERT INTO ORDERS VALUES (1, 'a')", thread=2)
    one.run("INSERT INTO ORDERS VALUES (2, 'b')")
    one.commit()
    rows = Miner(model).mine(begin - 1, 0, "THREAD#", "OPERATION_CODE")
    shown = [(row["THREAD#"], row["OPERATION_CODE"]) for row in rows][-4:]
    assert shown == [(1, 6), (1, 1), (2, 1), (1, 7)]


def test_a_database_that_only_reads_refuses_changes() -> None:
    model = shop()
    model.database.open_mode = "READ ONLY"
    with refused(16000):
        model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    assert ModelOracle().scn == ModelOracle().scn, "two models are alike"
