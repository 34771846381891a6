"""LogMiner of the model: what a transaction shows, which files a range needs, and what is refused."""

from tests.unit.oracle_model.mined import ADD, END, START, Miner, refused, shop

NO_ROW = "A" * 18


def test_a_transaction_has_a_start_its_rows_and_a_commit() -> None:
    model = shop()
    miner = Miner(model)
    begin = model.scn
    xid = model.run(
        "INSERT INTO ORDERS VALUES (1, 'it''s')", "UPDATE ORDERS SET NAME = NULL", "DELETE FROM ORDERS"
    )
    rows = miner.mine(begin)
    assert [(row["OPERATION_CODE"], row["SQL_REDO"]) for row in rows[1:]] == [
        (6, "set transaction read write;"),
        (1, """insert into "SHOP"."ORDERS"("ID","NAME") values ('1','it''s');"""),
        (3, """update "SHOP"."ORDERS" set "NAME" = NULL where "ID" = '1' and "NAME" = 'it''s';"""),
        (2, """delete from "SHOP"."ORDERS" where "ID" = '1' and "NAME" IS NULL;"""),
        (7, "commit;"),
    ]
    assert {row["RAWTOHEX(XID)"] for row in rows[1:]} == {xid}
    assert len({row["ROW_ID"] for row in rows[2:5]}) == 1
    assert len({row["RS_ID"] for row in rows}) == len(rows)
    assert [row["SCN"] for row in rows] == sorted(row["SCN"] for row in rows)


def test_a_rollback_to_a_savepoint_shows_the_inverse_newest_first_with_the_rowid_alone() -> None:
    model = shop()
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    miner, begin = Miner(model), model.scn + 1
    one = model.begin()
    one.run("UPDATE ORDERS SET NAME = 'b' WHERE ID = 1")
    one.savepoint("here")
    one.run("UPDATE ORDERS SET NAME = 'c' WHERE ID = 1", "INSERT INTO ORDERS VALUES (2, 'd')")
    one.rollback_to("here")
    one.commit()
    undo = [row for row in miner.mine(begin - 1) if row["ROLLBACK"]]
    first, second = undo
    assert (first["OPERATION_CODE"], second["OPERATION_CODE"]) == (2, 3)
    assert first["SQL_REDO"] == f"""delete from "SHOP"."ORDERS" where ROWID = '{first["ROW_ID"]}';"""
    assert second["SQL_REDO"] == (
        f"""update "SHOP"."ORDERS" set "NAME" = 'b' where ROWID = '{second["ROW_ID"]}';"""
    )
    assert model.rows("SELECT NAME FROM ORDERS") == [("b",)]
    other = model.begin()
    other.run("DELETE FROM ORDERS")
    begin = model.scn + 1
    other.rollback()
    assert [row["OPERATION_CODE"] for row in miner.mine(begin - 1)][-2:] == [1, 36]
    assert model.rows("SELECT NAME FROM ORDERS") == [("b",)]


def test_rows_of_an_array_delete_share_one_record() -> None:
    model = shop()
    model.run("INSERT INTO ORDERS SELECT LEVEL, 'x' FROM DUAL CONNECT BY LEVEL <= 300")
    begin = model.scn + 1
    one = model.begin()
    one.run("DELETE FROM ORDERS")
    one.rollback()
    rows = Miner(model).mine(begin - 1)
    deleted = [row for row in rows if row["OPERATION_CODE"] == 2]
    restored = [row for row in rows if row["ROLLBACK"]]
    assert (len(deleted), len({row["RS_ID"] for row in deleted})) == (300, 2)
    assert {row["SSN"] for row in deleted} == {0}
    assert [row["ROW_ID"] for row in restored] == [row["ROW_ID"] for row in deleted[255:] + deleted[:255]]


def test_a_long_statement_comes_in_pieces_of_one_record() -> None:
    model = shop()
    model.create_table("SHOP.LONG", {"A": "VARCHAR2(4000)", "B": "VARCHAR2(4000)"})
    miner = Miner(model)
    for shift in range(3):  # one of them has the border inside a character
        text, begin = "a" * shift + "€" * 1_300, model.scn + 1
        model.run(f"INSERT INTO LONG VALUES ('{text}', '{'b' * 3000}')")
        rows = [row for row in miner.mine(begin - 1) if row["OPERATION_CODE"] == 1]
        assert [row["CSF"] for row in rows] == [1, 0]
        assert len({(row["RS_ID"], row["SSN"], row["ROW_ID"]) for row in rows}) == 1
        assert all(len(row["SQL_REDO"].encode()) <= 4_000 for row in rows)
        assert f"('{text}','" in "".join(row["SQL_REDO"] for row in rows)


def test_what_began_before_the_range_lacks_its_sequence_at_undo() -> None:
    model = shop()
    one = model.begin()
    one.run("INSERT INTO ORDERS VALUES (1, 'a')")
    one.savepoint("here")
    one.run("UPDATE ORDERS SET NAME = 'b'")
    begin = model.database.next_scn()
    one.rollback_to("here")
    xid = one.commit()
    [undo] = [row for row in Miner(model).mine(begin) if row["ROLLBACK"]]
    assert undo["RAWTOHEX(XID)"] == xid[:8] + "FFFFFFFF"


def test_equal_commit_scns() -> None:
    model = shop(threads=2)
    one, other = model.begin(1), model.begin(2)
    one.run("INSERT INTO ORDERS VALUES (1, 'a')")
    other.run("INSERT INTO ORDERS VALUES (2, 'b')")
    scn = model.commit_together(one, other)
    commits = [row for row in Miner(model).mine(0) if row["OPERATION_CODE"] == 7][-2:]
    assert [(row["SCN"], row["THREAD#"]) for row in commits] == [(scn, 1), (scn, 2)]
    miner = Miner(model)
    assert miner.ask(f"SELECT COUNT(*) FROM SHOP.ORDERS AS OF SCN {scn - 1}") == [(0,)]
    assert miner.ask(f"SELECT COUNT(*) FROM SHOP.ORDERS AS OF SCN {scn}") == [(2,)]


def test_only_added_files_are_read_and_a_hole_is_missing() -> None:
    model = shop(threads=2)
    miner = Miner(model)
    for number in range(4):
        model.run(f"INSERT INTO ORDERS VALUES ({number}, 'x')")
        model.switch_log(1)
    archived = sorted(name for name in miner.files() if "arch" in name)
    assert len(archived) == 4
    rows = miner.mine(0, 0, "OPERATION_CODE", "SQL_REDO", files=[archived[0], archived[2]])
    assert [row["OPERATION_CODE"] for row in rows].count(34) == 1
    assert ["('1'" in str(row["SQL_REDO"]) for row in rows].count(True) == 0
    begin, end = model.log(1, 2).first_scn, model.log(1, 2).next_scn
    assert end is not None
    with refused(1291):
        miner.mine(begin - 1, 0, files=[archived[1]])
    miner.run(END.replace("END_LOGMNR", "REMOVE_LOGFILE(LOGFILENAME => '" + archived[1] + "')"))
    with refused(1291):
        miner.mine(begin, end, files=[archived[1]])
    miner.run(END.replace("END_LOGMNR", "REMOVE_LOGFILE(LOGFILENAME => '" + archived[1] + "')"))
    assert miner.mine(begin, end - 1, files=[archived[1]])


def test_calls_in_the_wrong_order_and_files_that_are_not_there_are_refused() -> None:
    model = shop()
    miner = Miner(model)
    with refused(1307):
        miner.run(END)
    with refused(1306):
        miner.ask("SELECT SCN FROM V$LOGMNR_CONTENTS")
    with refused(1292):
        miner.run(START, a=1, b=2)
    with refused(1284):
        miner.run(ADD, f="/nowhere")
    [file] = miner.files()
    miner.run(ADD, f=file)
    with refused(1289):
        miner.run(ADD, f=file.replace("u01", "u02").replace("_a", "_b"))
    with refused(1281):
        miner.run(START, a=model.scn, b=model.scn - 1)
    with refused(1291):
        miner.run(START, a=1, b=2)
    miner.run(START, a=model.scn, b=0)
    for _ in range(3):
        model.switch_log()
    with refused(310):
        miner.ask("SELECT SCN FROM V$LOGMNR_CONTENTS")
    model.lose_log(1, 1)
    assert miner.ask("SELECT NAME, STATUS FROM V$ARCHIVED_LOG WHERE SEQUENCE# = 1") == [(None, "D")]
    model.lose_log(1, 2, known=True)
    [(name,)] = miner.ask("SELECT NAME FROM V$ARCHIVED_LOG WHERE SEQUENCE# = 2")
    assert name
    with refused(1284):
        miner.run(ADD, f=name)


def test_a_late_writer_shows_nothing_until_a_session_s_commit() -> None:
    model = shop()
    miner = Miner(model)
    miner.run("CREATE TABLE FLUSH (N NUMBER)")
    model.hold_writer()
    begin = model.scn
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    assert miner.redo(begin) == []
    miner.run("INSERT INTO FLUSH VALUES (1)")
    miner.connection.commit()
    assert len(miner.redo(begin)) == 2
    model.run("INSERT INTO ORDERS VALUES (2, 'a')")
    assert len(miner.redo(begin)) == 2
    model.flush_writer()
    assert len(miner.redo(begin)) == 3


def test_rows_of_another_version_and_of_a_dropped_table_have_no_names() -> None:
    model = shop()
    miner, begin = Miner(model), model.scn
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    model.run("ALTER TABLE ORDERS ADD (MORE DATE)")
    [row] = [row for row in miner.mine(begin) if row["OPERATION_CODE"] == 1]
    assert row["SQL_REDO"] == (
        """insert into "SHOP"."ORDERS"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('61'));"""
    )
    assert (row["STATUS"], row["INFO"]) == (2, "Dictionary Version Mismatch")
    number = model.table("SHOP.ORDERS").object_id
    model.run("DROP TABLE ORDERS PURGE")
    [row] = [row for row in miner.mine(begin) if row["OPERATION_CODE"] == 1]
    assert row["SQL_REDO"].startswith(f'insert into "UNKNOWN"."OBJ# {number}"("COL 1",')


def test_a_renamed_table_has_its_new_name_and_a_dropped_one_that_of_the_recycle_bin() -> None:
    model = shop()
    miner, begin = Miner(model), model.scn
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    model.run("ALTER TABLE ORDERS RENAME TO SALES")
    assert miner.redo(begin) == ["""insert into "SHOP"."SALES"("ID","NAME") values ('1','a');"""]
    model.run("DROP TABLE SALES")
    [statement] = miner.redo(begin)
    assert statement.startswith('insert into "SHOP"."BIN$')
    ddl = [row["SQL_REDO"] for row in miner.mine(begin) if row["OPERATION_CODE"] == 5]
    assert ddl[0] == "ALTER TABLE ORDERS RENAME TO SALES;"
    assert 'ALTER TABLE "SHOP"."SALES" RENAME TO "BIN$' in ddl[1]
    assert ddl[2].startswith('DROP TABLE SALES AS "BIN$')


def test_logs_that_were_reset_have_another_incarnation() -> None:
    model = shop()
    model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    before = model.database.resetlogs_scn
    model.resetlogs()
    miner = Miner(model)
    [(resetlogs, sequence)] = miner.ask(
        "SELECT D.RESETLOGS_CHANGE#, L.SEQUENCE# FROM V$DATABASE D, V$LOG L WHERE STATUS = 'CURRENT'"
    )
    assert (resetlogs > before, sequence) == (True, 1)
    assert miner.ask("SELECT DISTINCT RESETLOGS_CHANGE# FROM V$ARCHIVED_LOG") == [(before,)]
    assert model.rows("SELECT NAME FROM ORDERS") == [("a",)]


LONG = "x" * 2_000
STATEMENTS_WITH_LOBS = {
    "INSERT INTO DOCS VALUES (1, NULL, NULL)": ([], 1),
    "INSERT INTO DOCS VALUES (1, EMPTY_CLOB(), NULL)": ([1], 0),
    "INSERT INTO DOCS VALUES (1, 'short', NULL)": ([1], 3),
    f"INSERT INTO DOCS VALUES (1, '{LONG}', NULL)": ([1, 9, 10, 10], 0),
    "INSERT INTO DOCS VALUES (1, NULL, XMLTYPE('<a/>'))": ([1, 68, 70, 71], 0),
    "UPDATE DOCS SET BODY = 'other' WHERE ID = 0": ([], 3),
    "UPDATE DOCS SET ID = 5, BODY = 'other' WHERE ID = 0": ([3], 3),
    "UPDATE DOCS SET BODY = EMPTY_CLOB() WHERE ID = 0": ([3], 0),
    f"UPDATE DOCS SET BODY = '{LONG}' WHERE ID = 0": ([9, 10, 10], 0),
    "UPDATE DOCS SET BODY = NULL WHERE ID = 0": ([], 3),
}  # what has no ROWID, and what has it


def test_a_statement_with_large_objects_shows_its_rowid_in_its_last_row_alone() -> None:
    for statement, (nameless, last) in STATEMENTS_WITH_LOBS.items():
        model = shop()
        model.create_table("SHOP.DOCS", {"ID": "NUMBER", "BODY": "CLOB", "DOC": "XMLTYPE"}, key=("ID",))
        model.run("INSERT INTO DOCS VALUES (0, 'first', NULL)")
        begin = model.scn + 1
        one = model.begin()
        one.run(statement)
        one.rollback()
        rows = [row for row in Miner(model).mine(begin - 1) if row["OPERATION_CODE"] not in {6, 7, 36}]
        shown = [(row["OPERATION_CODE"], row["ROW_ID"] != NO_ROW) for row in rows if not row["ROLLBACK"]]
        assert shown == [*((code, False) for code in nameless), (last, True)], statement
        heads = {row["RS_ID"] for row in rows if row["OPERATION_CODE"] in {1, 9} and not row["ROLLBACK"]}
        assert len(heads) == (1 if {1, 9} & {*nameless, last} else 0), statement
        [undo] = [row for row in rows if row["ROLLBACK"]]
        assert undo["OPERATION_CODE"] == (2 if statement.startswith("INSERT") else 3)
        assert undo["ROW_ID"] != NO_ROW


def test_a_write_by_a_locator() -> None:
    model = shop()
    model.create_table("SHOP.DOCS", {"ID": "NUMBER", "BODY": "CLOB"}, key=("ID",))
    model.run("INSERT INTO DOCS VALUES (1, 'old')")
    begin = model.scn + 1
    one = model.begin()
    one.write_lob("SHOP.DOCS", "BODY", "new", "ID = 1")
    one.commit()
    rows = Miner(model).mine(begin - 1)
    assert [row["OPERATION_CODE"] for row in rows][-4:] == [9, 10, 0, 7]
    assert (
        'select "BODY" into loc_c from "SHOP"."DOCS" where "ID" = \'1\' for update;' in rows[-4]["SQL_REDO"]
    )
    assert model.rows("SELECT BODY FROM DOCS") == [("new",)]


def test_an_extended_text_has_rows_of_its_own_where_the_model_is_asked_for_them() -> None:
    model = shop(parameters={"max_string_size": "EXTENDED"})
    model.database.extended_apart = True
    model.create_table("SHOP.WIDE", {"ID": "NUMBER", "BODY": "VARCHAR2(32767)"}, key=("ID",))
    begin = model.scn + 1
    model.run(f"INSERT INTO WIDE VALUES (1, '{'x' * 5_000}')", "INSERT INTO WIDE VALUES (2, 'short')")
    rows = [row for row in Miner(model).mine(begin - 1) if row["OPERATION_CODE"] not in {6, 7}]
    assert [row["OPERATION_CODE"] for row in rows if not row["CSF"]][-6:] == [1, 91, 92, 93, 0, 1]
    assert "'LM_EMPTY_STRING'" in next(row["SQL_REDO"] for row in rows if row["OPERATION_CODE"] == 1)
    assert 'Stmt := \'update "SHOP"."WIDE" set "BODY" = :BODY where "ID" = \'\'1\'\';\';' in str(
        [row["SQL_REDO"] for row in rows]
    ).replace("\\'", "'")
    with refused(910):
        shop().create_table("SHOP.WIDE", {"BODY": "VARCHAR2(32767)"})


def test_partitions_have_numbers_of_their_own_in_the_log() -> None:
    model = shop()
    table = model.create_table("SHOP.PARTS", {"ID": "NUMBER"}, partitions=("P1", "P2"))
    begin = model.scn + 1
    model.run("INSERT INTO PARTS SELECT LEVEL FROM DUAL CONNECT BY LEVEL <= 20")
    rows = Miner(model).mine(begin - 1, 0, "OPERATION_CODE", "DATA_OBJ#", "TABLE_NAME")
    assert {row["DATA_OBJ#"] for row in rows if row["OPERATION_CODE"] == 1} == set(table.parts.values())
    assert {row["TABLE_NAME"] for row in rows if row["OPERATION_CODE"] == 1} == {"PARTS"}


def test_a_write_by_a_locator_is_taken_back_in_one_of_three_ways() -> None:
    for way, operations in (("update", [3]), ("parts", [10, 9]), ("internal", [0])):
        model = shop()
        model.database.lob_undo = way
        model.create_table("SHOP.DOCS", {"ID": "NUMBER", "BODY": "CLOB"}, key=("ID",))
        model.run("INSERT INTO DOCS VALUES (1, 'old')")
        one = model.begin()
        one.savepoint("here")
        one.write_lob("SHOP.DOCS", "BODY", "new", "ID = 1")
        one.rollback_to("here")
        one.commit()
        rows = [row for row in Miner(model).mine() if row["ROLLBACK"]]
        assert [row["OPERATION_CODE"] for row in rows] == operations
        assert {row["ROW_ID"] == NO_ROW for row in rows} == {False}
        assert model.rows("SELECT BODY FROM DOCS") == [("old",)]


def test_a_table_with_a_long_name_is_not_shown() -> None:
    for table, column in (("T" * 31, "ID"), ("T", "C" * 31)):
        model = shop()
        model.create_table(f"SHOP.{table}", {column: "NUMBER"})
        begin = model.scn + 1
        model.run(f"INSERT INTO {table} VALUES (1)")
        assert 255 in [row["OPERATION_CODE"] for row in Miner(model).mine(begin - 1)]


def test_two_destinations_have_a_copy_each() -> None:
    model = shop(first_scn=1 << 60)
    model.database.destinations = 2
    model.switch_log()
    miner = Miner(model)
    copies = miner.ask("SELECT DEST_ID, NAME, NEXT_CHANGE# FROM V$ARCHIVED_LOG ORDER BY DEST_ID")
    assert [(number, scn > 1 << 60) for number, _, scn in copies] == [(1, True), (2, True)]
    miner.run(ADD, f=copies[1][1])
    with refused(1289):
        miner.run(ADD, f=copies[0][1])
    status = "SELECT DEST_ID FROM V$ARCHIVE_DEST_STATUS WHERE STATUS = 'VALID'"
    assert miner.ask(status) == [(1,), (2,)]
