"""The statements of a poll.  SQLite runs the pages: bytes and NULL have the same order there."""

import re
import sqlite3
from contextlib import closing
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import TABLES, history, lsn
from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import RowPlace, place_of, row_key
from wrackline.producers.sources.sqlserver.log.lsn import ZERO, next_lsn
from wrackline.producers.sources.sqlserver.log.page_merger import PageRequest
from wrackline.producers.sources.sqlserver.log.page_sql import ChangeTable
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition

_PAGE = re.compile(r"SELECT TOP \((\d+)\) (.*) FROM (.*) WHERE (.*) ORDER BY (.*);")
COLUMNS = '"__$start_lsn", "__$command_id", "__$seqval", "__$operation", "__$update_mask", c'


def sqlite_of(statement: str) -> str:
    form = _PAGE.fullmatch(statement)
    assert form is not None, statement
    most, columns, _, where, order = form.groups()
    made = f"SELECT {columns} FROM t WHERE {where} ORDER BY {order} LIMIT {most}"
    return re.sub(r"0x([0-9a-f]*)", r"X'\1'", made)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_page_has_the_rows_behind_any_place_in_the_order_of_the_index(seed: int) -> None:
    server, random = history(Random(seed), commits=4), Random(seed)
    everything = sorted(row for rows in server.rows.values() for row in rows)
    upto = server.commits[-1].lsn
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE t ({COLUMNS})")
        for table in TABLES:
            shuffled = random.sample(server.rows[table], len(server.rows[table]))
            rows = [(key[:10], *place_of(key)[:2], key[-1], mask, image) for key, mask, image in shuffled]
            database.execute("DELETE FROM t")
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
            for after in [next_lsn(ZERO), *(key for key, _, _ in everything)]:
                request = PageRequest(table, after, upto, random.randint(1, 9))
                found = database.execute(
                    sqlite_of(page_sql.page(None, request, ChangeTable(table, "x", "c")))
                )
                keys = [row_key(row[0], RowPlace(row[1], row[2], table, row[3])) for row in found]
                assert keys == [row[0] for row in server.page(request)[0]]


def test_an_old_table_is_ordered_without_command_ids() -> None:
    request = PageRequest(7, row_key(lsn(5), RowPlace(None, lsn(3), 7, 2)), lsn(9), 4)
    made = page_sql.page(None, request, ChangeTable(7, "dbo_t", ("a]b",), numbered=False))
    assert "NULL AS __$command_id, __$seqval" in made
    assert "[a]]b] FROM cdc.[dbo_t_CT] WHERE" in made
    assert made.endswith("ORDER BY __$start_lsn, __$seqval, __$operation;")
    assert "command_id" not in made.partition(" WHERE ")[2]


def test_an_old_table_has_no_more_rows_in_a_commit_of_which_numbered_ones_are_out() -> None:
    """Rows without a command come before all with one, so the place of a numbered row is behind them."""
    after = row_key(lsn(5), RowPlace(1, lsn(3), 7, 2))
    made = page_sql.page(None, PageRequest(6, after, lsn(9), 4), ChangeTable(6, "x", "c", numbered=False))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE t ({COLUMNS})")
        rows = [(lsn(commit), None, lsn(4), 2, b"", b"") for commit in (5, 6)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
        assert [row[0] for row in database.execute(sqlite_of(made))] == [lsn(6)]


def test_a_poll_is_one_batch_that_ends_with_its_proof() -> None:
    requests = [PageRequest(table, lsn(1), lsn(2), 3) for table in (7, 5)]
    tables = [ChangeTable(5, "five", ("a",)), ChangeTable(7, "seven", ("b",))]
    lines = page_sql.poll("it's [a] db", requests, tables, ZERO).splitlines()
    assert [re.findall(r"FROM (\S+ \S+ \S+)", line)[0] for line in lines] == [
        "[it's [a]] db].cdc.[seven_CT]",
        "[it's [a]] db].cdc.[five_CT]",
        "[it's [a]] db].cdc.change_tables;",
        "[it's [a]] db].cdc.ddl_history",
    ]


def test_the_next_commits_begin_behind_our_place_or_with_it() -> None:
    assert page_sql.commits_after("db", lsn(1), 500) == (
        "SELECT TOP (500) start_lsn,"
        " TODATETIMEOFFSET(tran_end_time, DATEPART(TZOFFSET, SYSDATETIMEOFFSET())), tran_id"
        " FROM [db].cdc.lsn_time_mapping"
        " WHERE start_lsn > 0x00000000000000000001 ORDER BY start_lsn;"
    )
    assert " >= 0x" in page_sql.commits_after(None, lsn(1), 500, with_it=True)


def test_a_commit_s_time_has_the_zone_of_its_day_where_the_server_knows_it() -> None:
    """DBZ-6388: local times of a winter that are read in summer."""
    assert "tran_end_time AT TIME ZONE CURRENT_TIMEZONE_ID()," in page_sql.commits_after(
        None, lsn(1), 5, zoned=True
    )


@pytest.mark.parametrize(("table", "operation"), [(6, 4), (7, 3), (8, 0)])
def test_a_place_in_one_table_is_one_between_the_rows_of_the_others(table: int, operation: int) -> None:
    after = row_key(lsn(5), RowPlace(1, lsn(3), 7, 3))
    made = page_sql.page(None, PageRequest(table, after, lsn(9), 4), ChangeTable(table, "x", ()))
    assert f"__$operation > {operation})" in made


@pytest.mark.parametrize(
    "option", ["XACT_ABORT ON", "LOCK_TIMEOUT", "DEADLOCK_PRIORITY LOW", "TEXTSIZE 2147483647"]
)
def test_a_session_leaves_nothing_open_and_gives_way(option: str) -> None:
    assert option in page_sql.SESSION


def test_a_position_inside_a_commit_asks_for_its_rest() -> None:
    at = SqlServerPosition(1, lsn(5), 3, RowPlace(1, lsn(2), 7, 4))
    made = page_sql.page(None, PageRequest(7, at.behind, lsn(9), 4), ChangeTable(7, "x", ()))
    row = f"__$seqval > 0x{lsn(2).hex()} OR __$seqval = 0x{lsn(2).hex()} AND __$operation > 4"
    assert f"(__$command_id > 1 OR __$command_id = 1 AND ({row}))" in made
    whole = page_sql.page(
        None, PageRequest(7, SqlServerPosition(1, lsn(5)).behind, lsn(9), 4), ChangeTable(7, "x", ())
    )
    assert "WHERE __$start_lsn >= 0x00000000000000000006 AND" in whole


def test_the_news_of_many_databases_are_one_batch_of_statements_that_a_server_can_plan() -> None:
    lines = page_sql.newest_commits([f"a]{number}" for number in range(120)]).splitlines()
    assert [line.count("SELECT MAX(start_lsn) FROM [a]]") for line in lines] == [50, 50, 20]
    assert lines[2].startswith(
        "SELECT 100, (SELECT MAX(start_lsn) FROM [a]]100].cdc.lsn_time_mapping"
        " WITH (READCOMMITTEDLOCK, READPAST))"
    )
    assert all(line.endswith(";") for line in lines)
    first, *digests = page_sql.catalogue_digests([f"a]{number}" for number in range(60)]).splitlines()
    assert first == "SET LOCK_TIMEOUT 0;"
    assert [line.count(".sys.tables WHERE is_tracked_by_cdc = 1") for line in digests] == [50, 10]
