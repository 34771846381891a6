"""The statements of mining, and what their rows are."""

import pytest

from wrackline.producers.sources.oracle.mining import mining_sql
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.log_files import NO_END, LogFile, RedoThread
from wrackline.producers.sources.oracle.mining.mined_row import MinedRow

ROW = (
    *(500, 1, " 0x000001.00000009.0010 ", 0, "01000100BE020000", 1, 0, 0, 0, None, 1_767_268_800),
    *(499, None, "AAARFxAAEAAAACDAAB", 70001, 1, "SHOP", "ORDERS", "BATCH", "insert into ..."),
    *(7, 9, 16),
)


@pytest.mark.parametrize(
    ("zone", "seconds"), [("+00:00", 0), ("+05:30", 19_800), ("-03:30", -12_600), ("+14:00", 50_400)]
)
def test_the_servers_clock_is_east_or_west_of_utc(zone: str, seconds: int) -> None:
    found = mining_sql.database_facts((1, 2, "YES", zone))
    assert found == (Incarnation(1, 2), True, seconds)


def test_a_clock_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset of a zone"):
        mining_sql.database_facts((1, 2, "YES", "Europe/Rome"))


def test_the_first_file_that_is_added_makes_the_session_forget_others() -> None:
    options = [mining_sql.add_file_sql(first=first).partition("OPTIONS => ")[2] for first in (True, False)]
    assert options == ["SYS.DBMS_LOGMNR.NEW); END;", "SYS.DBMS_LOGMNR.ADDFILE); END;"]


def test_a_row_has_its_time_in_utc_and_its_place_in_the_redo() -> None:
    row = mining_sql.row_of(ROW, 3600)
    assert row.timestamp == (1_767_268_800 - 3600) * 1_000_000
    assert (row.scn, row.thread, row.rba, row.rs_id) == (500, 1, (7, 9, 16), "0x000001.00000009.0010")
    assert (row.xid, row.operation, row.container) == ("01000100BE020000", 1, 0)
    assert (row.owner, row.table, row.username, row.redo) == ("SHOP", "ORDERS", "BATCH", "insert into ...")
    assert (row.object_id, row.object_version, row.row_id) == (70001, 1, "AAARFxAAEAAAACDAAB")


def test_a_user_that_is_not_known_is_nobody() -> None:
    """So the start of the transaction says who it was, wherever it comes."""
    user = ROW.index("BATCH")
    assert mining_sql.row_of((*ROW[:user], "UNKNOWN", *ROW[user + 1 :]), 0).username == ""


def test_a_row_of_missing_redo_has_no_transaction() -> None:
    empty = (500, 1, None, None, None, 34, 0, 0, 0, "missing SCN range", *[None] * 13)
    row = mining_sql.row_of(empty, 0)
    assert (row.operation, row.xid, row.rba, row.timestamp) == (34, "0" * 16, (0, 0, 0), 0)


def test_threads_and_files_are_read() -> None:
    rows = [(1, "PUBLIC", "OPEN"), (2, "PRIVATE", "CLOSED"), (3, "DISABLED", "CLOSED")]
    assert mining_sql.redo_threads(rows) == [
        RedoThread(1, enabled=True, open=True),
        RedoThread(2, enabled=True, open=False),
        RedoThread(3, enabled=False, open=False),
    ]
    (current,) = mining_sql.online_files([("/redo1", 1, 7, 300, None, "CURRENT")])
    assert current == LogFile("/redo1", 1, 7, 300, NO_END, archived=False, current=True)
    (full,) = mining_sql.online_files([("/redo2", 1, 6, 200, 300, "ACTIVE")])
    assert (full.end, full.current) == (300, False)
    assert mining_sql.archived_files([("/arch", 1, 5, 100, 200)])[0].archived


def test_destinations_are_asked_for_by_name() -> None:
    assert "DEST_ID" not in mining_sql.archived_sql(())
    assert "DEST_NAME IN ('LOG_ARCHIVE_DEST_2')" in mining_sql.archived_sql(["log_archive_dest_2"])


def test_the_select_names_owners_as_texts() -> None:
    sql = mining_sql.contents_sql(["SHOP", "O'NEIL"], "ORCLPDB1")
    assert "SEG_OWNER IS NULL OR SEG_OWNER IN ('O''NEIL', 'SHOP', 'UNKNOWN')" in sql
    assert "SRC_CON_NAME = 'ORCLPDB1'" in sql
    assert "SCN > :scn_after AND SCN <= :scn_upto" in sql
    assert "SRC_CON_NAME" not in mining_sql.contents_sql(["SHOP"], None)


def test_a_list_has_at_most_a_thousand_owners() -> None:
    sql = mining_sql.contents_sql([f"O{number}" for number in range(1_500)], None)
    assert sql.count("SEG_OWNER IN (") == 2


def test_the_container_is_the_root_if_no_other_is_named() -> None:
    whole = mining_sql.database_facts((1, 2, "YES", "+00:00"))
    plain = mining_sql.database_facts((1, 2, "NO", "+00:00"))
    assert mining_sql.mined_container(whole, "ORCLPDB1") == "ORCLPDB1"
    assert mining_sql.mined_container(whole, None) == "CDB$ROOT"
    assert mining_sql.mined_container(plain, None) is None


def changed(**values: object) -> MinedRow:
    return mining_sql.row_of(ROW, 0)._replace(**values)  # type: ignore[arg-type]


def test_a_name_that_the_server_could_not_resolve_is_seen() -> None:
    assert not mining_sql.is_unresolved(changed())
    assert mining_sql.is_unresolved(changed(owner="UNKNOWN"))
    assert mining_sql.is_unresolved(changed(table="OBJ# 70001"))
    assert mining_sql.is_unresolved(changed(redo='insert into "SHOP"."ORDERS"("COL 1") values (NULL)'))
