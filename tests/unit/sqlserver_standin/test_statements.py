"""The statements that a source sends, and what they give; whatever else is refused with its text."""

import datetime as dt
from decimal import Decimal

import pytest

from tests.unit.sqlserver_standin.shop import Shop, outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.model.log_numbers import as_number, lsn
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.session import Entered, Moved, RowCount
from wrackline.control.local.sqlserver_standin.wire.moments import Moment
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

PAGE = """
SELECT TOP (@page) __$start_lsn, __$command_id, __$seqval, __$operation, __$update_mask, id
  FROM [shop].cdc.[dbo_orders_CT]
 WHERE {where} ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation"""
FIRST = "__$start_lsn > @from AND __$start_lsn <= @to"
NEXT = (
    "__$start_lsn = @l AND (__$command_id > @c OR __$command_id = @c AND "
    "(__$seqval > @s OR __$seqval = @s AND __$operation > @o)) OR __$start_lsn > @l AND __$start_lsn <= @to"
)
LSN = "binary(10)"


def written(count: int = 3) -> Shop:
    one = shop()
    for number in range(count):
        with one.database.transaction() as write:
            write.insert("orders", {"id": number, "note": f"n{number}"}, {"id": 100 + number})
            write.update("orders", {"note": "changed"}, {"id": number})
    one.database.scan()
    return one


def test_pages_behind_each_other_give_every_row_once() -> None:
    one = written()
    one.server.advance(seconds=1)
    ask = session(one.server)
    found = rows(
        ask,
        PAGE.format(where=FIRST),
        page=("int", 3),
        **{"from": (LSN, bytes(10)), "to": (LSN, b"\xff" * 10)},
    )
    while len(found) % 3 == 0:
        last = found[-1]
        given = {"l": (LSN, last[0]), "c": ("int", last[1]), "s": (LSN, last[2]), "o": ("int", last[3])}
        more = rows(ask, PAGE.format(where=NEXT), page=("int", 3), to=(LSN, b"\xff" * 10), **given)
        found += more
        if not more:
            break
    assert [row[:4] for row in found] == [row[:1] + row[1:4] for row in one.instance.rows]


def test_what_was_committed_is_read_of_the_mapping_in_the_servers_own_time() -> None:
    one = written(2)
    one.server.zone = dt.timezone(dt.timedelta(hours=2))
    found = rows(
        session(one.server),
        "SELECT TOP (@n) start_lsn, tran_begin_time, tran_end_time, tran_id FROM [shop].cdc.lsn_time_mapping "
        "WHERE start_lsn > @from ORDER BY start_lsn",
        n=("int", 500),
        **{"from": (LSN, bytes(10))},
    )
    assert [row[0] for row in found] == [row.start_lsn for row in one.database.job().mapping]
    assert found[0][2] == Moment.of(dt.datetime(2026, 3, 1, 14))  # noqa: DTZ001 - the server's own time has no zone
    assert found[0][3] != found[1][3] != b"\x00"


def test_instances_columns_history_and_databases_are_described() -> None:
    one = written(1)
    one.database.add_column("orders", "more", "int")
    one.database.scan()
    ask = session(one.server, database="master")
    ((name, cdc, state, versioned, snapshots),) = rows(
        ask,
        "SELECT name, is_cdc_enabled, state_desc, is_read_committed_snapshot_on, snapshot_isolation_state "
        "FROM sys.databases WHERE name IN (N'shop', N'nothing')",
    )
    assert (name, cdc, state, versioned, snapshots) == ("shop", True, "ONLINE", False, 0)
    instances = rows(
        ask,
        "SELECT ct.capture_instance, ct.object_id, s.name, t.name, ct.start_lsn, ct.has_drop_pending "
        "FROM [shop].cdc.change_tables ct LEFT JOIN [shop].sys.tables t ON t.object_id = ct.source_object_id "
        "LEFT JOIN [shop].sys.schemas s ON s.schema_id = t.schema_id",
    )
    assert instances == [
        ("dbo_orders", one.instance.object_id, "dbo", "orders", one.instance.start_lsn, False)
    ]
    columns = rows(
        ask,
        "SELECT column_name, column_type, column_ordinal, is_computed FROM [shop].cdc.captured_columns "
        "ORDER BY object_id, column_ordinal",
    )
    assert columns == [
        ("id", "int", 1, False),
        ("amount", "decimal", 2, False),
        ("note", "nvarchar", 3, False),
        ("old", "ntext", 4, False),
    ]
    history = rows(
        ask,
        "SELECT h.ddl_command FROM [shop].cdc.ddl_history h "
        "JOIN [shop].cdc.change_tables c ON c.object_id = h.object_id WHERE h.ddl_lsn > @ddl",
        ddl=(LSN, bytes(10)),
    )
    assert history == [("ALTER TABLE dbo.orders ADD [more] int",)]
    one.database.disable_table("dbo_orders")
    assert rows(ask, "SELECT COUNT(*) FROM [shop].cdc.ddl_history") == [(1,)]


def test_a_restore_is_another_fork_of_the_same_family() -> None:
    one = written(1)
    text = (
        "SELECT r.database_guid, r.family_guid, r.recovery_fork_guid, r.last_log_backup_lsn "
        "FROM sys.database_recovery_status r JOIN sys.databases d ON d.database_id = r.database_id "
        "WHERE d.name = N'shop'"
    )
    ask = session(one.server, database="master")
    (before,) = rows(ask, text)
    one.database.restore()
    (after,) = rows(ask, text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, False, True]
    one.server.create_login("bob", "b")
    assert rows(session(one.server, "bob", "master"), text) == [(None, None, None, None)]


def test_one_round_trip_asks_every_database() -> None:
    one = written(1)
    other = one.server.create_database("o]ther")
    other.enable_cdc()
    found = rows(
        session(one.server, database="master"),
        "SELECT N'shop' AS d, MAX(start_lsn) AS m FROM [shop].cdc.lsn_time_mapping UNION ALL "
        "SELECT N'o]ther', MAX(start_lsn) FROM [o]]ther].cdc.lsn_time_mapping",
    )
    assert found == [("shop", one.database.job().mapping[0].start_lsn), ("o]ther", None)]


def test_which_tables_have_news_is_asked_in_one_union() -> None:
    one = written(2)
    newest = "SELECT TOP (1) __$start_lsn FROM cdc.dbo_orders_CT ORDER BY __$start_lsn DESC"
    found = rows(
        session(one.server), f"SELECT * FROM ({newest}) AS a UNION ALL SELECT * FROM ({newest}) AS b"
    )
    assert found == [(one.instance.rows[-1].start_lsn,)] * 2


def test_the_function_reads_a_range_without_the_columns_that_it_leaves_out() -> None:
    one = written(2)
    ask = session(one.server)
    text = (
        "SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_orders(sys.fn_cdc_get_min_lsn('dbo_orders'), "
        "sys.fn_cdc_get_max_lsn(), N'{}')"
    )
    found = rows(ask, text.format("all update old"))
    assert [row[2] for row in found] == [2, 2, 3, 4] * 2
    assert len(found[0]) == 4 + len(one.instance.columns)
    assert [row[2] for row in rows(ask, text.format("all"))] == [2, 2, 4] * 2
    with pytest.raises(ServerError) as caught:
        rows(
            ask,
            "SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_orders(0x00000000000000000001, "
            "sys.fn_cdc_get_max_lsn(), N'all')",
        )
    assert caught.value.number == 313


def test_a_user_without_the_role_reads_nothing_and_is_not_told() -> None:
    one = written(1)
    one.database.disable_table("dbo_orders")
    one.database.enable_table("dbo.orders", role="readers")
    with one.database.transaction() as write:
        write.delete("orders", {"id": 0})
    one.database.scan()
    one.server.create_login("bob", "b")
    one.server.grant("bob", "shop", Grant())
    ask = session(one.server, "bob")
    assert rows(ask, "SELECT * FROM cdc.dbo_orders_CT") == []
    assert rows(ask, "SELECT sys.fn_cdc_get_min_lsn('dbo_orders'), IS_ROLEMEMBER('readers')") == [
        (bytes(10), 0)
    ]
    assert rows(ask, "EXEC sys.sp_cdc_help_change_data_capture") == []
    one.server.grant("bob", "shop", Grant(roles=frozenset({"readers"})))
    assert len(rows(ask, "SELECT * FROM cdc.dbo_orders_CT")) == 1
    assert (
        len(
            rows(
                ask,
                "EXEC sys.sp_cdc_help_change_data_capture @source_schema = N'dbo', @source_name = N'orders'",
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SELECT * FROM cdc.change_tables", 229),
        ("SELECT * FROM cdc.dbo_orders_CT", 229),
        ("SELECT * FROM sys.dm_tran_database_transactions", 300),
        ("SELECT * FROM sys.dm_cdc_log_scan_sessions", 262),
        ("EXEC sys.sp_cdc_enable_db", 22904),
        ("SELECT * FROM hidden.dbo.t", 916),
        ("USE nothing", 911),
        ("SELECT * FROM resting.dbo.t", 927),
    ],
)
def test_what_a_user_may_not_do_is_refused_by_number(text: str, number: int) -> None:
    one = written(1)
    one.server.create_database("hidden")
    one.server.create_database("resting").state = "RESTORING"
    one.server.create_login("bob", "b")
    one.server.grant("bob", "shop", Grant(schemas=frozenset({"dbo"}), views_state=False))
    with pytest.raises(ServerError) as caught:
        outcomes(session(one.server, "bob"), text)
    assert caught.value.number == number


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v AS SELECT 1 AS a",
        "SELECT id FROM orders GROUP BY id",
        "SELECT id FROM orders WITH (NOLOCK)",
        "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SHOWPLAN_ALL ON",
        "EXEC sp_who",
        "SELECT NEWID()",
        "MERGE orders USING x ON 1 = 1",
    ],
)
def test_what_the_stand_in_does_not_know_is_named(text: str) -> None:
    with pytest.raises(ServerError, match="stand-in for SQL Server does not know") as caught:
        outcomes(session(shop().server), text)
    assert caught.value.number == 102
    assert text in caught.value.text or text.rpartition(" ")[2].strip("()") in caught.value.text


def test_a_savepoint_gives_a_place_in_the_log_behind_what_was_committed() -> None:
    one = written(1)
    ask = session(one.server)
    columns = "database_transaction_begin_lsn, database_transaction_last_lsn"
    text = f"SELECT {columns} FROM sys.dm_tran_database_transactions"
    before = one.instance.rows[-1].start_lsn
    found = outcomes(ask, f"BEGIN TRAN; SAVE TRAN m; {text}; ROLLBACK")
    (result,) = [each for each in found if isinstance(each, QueryRows)]
    numbers = [Decimal(str(cell)) for cell in result.rows[0]]
    assert numbers == sorted({as_number(before), *numbers})[1:]
    assert [each.kind for each in found if isinstance(each, Moved)] == [8, 10]
    assert rows(ask, "SELECT @@TRANCOUNT AS n") == [(0,)]


def test_a_signal_row_is_written_and_captured() -> None:
    one = shop()
    one.database.create_table(
        "dbo.signals", {"id": "nvarchar(42)", "type": "nvarchar(32)", "data": "nvarchar(max)"}, key=("id",)
    )
    signals = one.database.enable_table("dbo.signals")
    ask = session(one.server)
    done = outcomes(
        ask,
        "INSERT INTO [shop].[dbo].[signals] (id, type, data) VALUES (@id, N'mark', NULL); "
        "DELETE FROM dbo.signals WHERE id = @id",
        id=("nvarchar(42)", "m-1"),
    )
    assert done == [RowCount(1, 0xC3), RowCount(1, 0xC4)]
    one.database.scan()
    assert [(row.operation, row.cells[0]) for row in signals.rows] == [(2, "m-1"), (1, "m-1")]


def test_settings_and_the_place_of_a_session() -> None:
    one = shop()
    ask = session(one.server, database="master")
    text = "SET LOCK_TIMEOUT 10000; SET DEADLOCK_PRIORITY LOW; SET TEXTSIZE 2147483647; "
    text += "SET NOCOUNT ON; SET XACT_ABORT ON"
    assert outcomes(ask, text) == [RowCount(None)] * 5
    assert outcomes(ask, "USE [shop]") == [Entered("shop", "master"), RowCount(None)]
    assert rows(ask, "SELECT DB_NAME(), DB_ID(N'nothing'), @@TRANCOUNT") == [("shop", None, 0)]
    assert ask.settings.aborts


def test_long_values_are_cut_as_the_session_asks() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "x" * 5000, "old": "y" * 5000})
    ask = session(one.server)
    outcomes(ask, "SET TEXTSIZE 4096")
    assert [len(str(cell)) for cell in rows(ask, "SELECT note, old FROM orders")[0]] == [2048, 2048]


def test_a_planned_fault_meets_the_next_statement_that_fits() -> None:
    one = written(1)
    ask = session(one.server)
    one.server.plan("dbo_orders_CT", ServerError(1205, "deadlock victim", severity=13))
    assert rows(ask, "SELECT 1 AS a") == [(1,)]
    with pytest.raises(ServerError, match="deadlock"):
        rows(ask, "SELECT * FROM cdc.dbo_orders_CT")
    one.server.plan("change_tables", act=lambda: one.database.job().raise_low_water(lsn(0xFF, 0, 0)))
    found = outcomes(ask, "SELECT COUNT(*) FROM cdc.dbo_orders_CT; SELECT start_lsn FROM cdc.change_tables")
    assert [list(getattr(each, "rows", [])) for each in found] == [[(4,)], [(lsn(0xFF, 0, 0),)]]


def test_null_makes_a_comparison_unknown_and_unknown_is_no_hit() -> None:
    one = shop({"id": "int", "a": "int"})
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "a": None}, {"id": 2, "a": 1})
    ask = session(one.server)
    for condition, ids in {
        "a = 1": [2],
        "NOT a = 1": [],
        "NOT (a = 1 OR id = 7)": [],
        "NOT (a = 1 AND id = 7)": [1, 2],
        "a = 1 OR id = 1": [1, 2],
        "a IS NULL": [1],
        "a IN (1, NULL)": [2],
        "NOT a IN (2, NULL)": [],
        "id IN (1) AND a <> 3": [],
    }.items():
        assert rows(ask, f"SELECT id FROM orders WHERE {condition} ORDER BY id") == [(each,) for each in ids]


def test_values_are_sorted_as_the_server_sorts_them() -> None:
    guids = ["00000000-0000-0000-0000-010000000000", "00000000-0000-0000-0100-000000000000"]
    guids += ["00000000-0000-0100-0000-000000000000", "00000000-0100-0000-0000-000000000000"]
    guids += ["01000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"]
    for of, values, in_order in (
        ("uniqueidentifier", guids, [5, 4, 3, 2, 1, 0]),
        ("varchar(5) collate SQL_Latin1_General_CP1_CI_AS", ["b", "C", "a"], [2, 0, 1]),
        ("varchar(5) collate Latin1_General_BIN2", ["b", "C", "a"], [1, 2, 0]),
        ("datetimeoffset", ["2024-01-01 12:00:00+02:00", "2024-01-01 11:00:00+00:00"], [0, 1]),
        ("varbinary(4)", [b"\x01\x01", b"\x01", b"\x00\xff"], [2, 1, 0]),
    ):
        one = shop({"id": "int", "v": of})
        with one.database.transaction() as write:
            write.insert("orders", *({"id": at, "v": value} for at, value in enumerate(values)), {"id": 9})
        found = rows(session(one.server), "SELECT id FROM orders ORDER BY v")
        assert found == [(9,), *((at,) for at in in_order)], of


def test_a_table_that_is_written_is_not_changed_meanwhile() -> None:
    one = shop()
    write = one.database.begin()
    write.insert("orders", {"id": 1})
    ask = session(one.server)
    outcomes(ask, "SET LOCK_TIMEOUT 0")
    for text in ("ALTER TABLE orders ADD a int", "DROP TABLE orders"):
        with pytest.raises(ServerError, match="Lock request time out"):
            outcomes(ask, text)
    write.commit()
    outcomes(ask, "ALTER TABLE orders ADD a int")


def test_azure_sql_database_knows_no_other_database() -> None:
    one = written(1)
    one.server.edition = 5
    ask = session(one.server)
    assert rows(ask, "SELECT COUNT(*) FROM [shop].cdc.dbo_orders_CT") == [(4,)]
    for text, number in {
        "SELECT * FROM master.sys.tables": 40515,
        "USE master": 40508,
        "SELECT * FROM sys.database_recovery_status": 208,
    }.items():
        with pytest.raises(ServerError) as caught:
            outcomes(ask, text)
        assert caught.value.number == number


def test_without_a_count_a_statement_says_only_that_it_ended() -> None:
    one = shop()
    text = "INSERT INTO orders (id) VALUES (1)"
    assert outcomes(session(one.server), f"SET NOCOUNT ON; {text}")[-1] == RowCount(None, 0xC3)


def test_rows_are_numbered_among_those_with_the_same_values() -> None:
    """As Debezium asks which of two capture instances with one start is the newer."""
    one = written(1)
    one.server.advance(seconds=1)
    later = one.database.enable_table("dbo.orders", instance="later")
    later.start_lsn = one.instance.start_lsn
    text = (
        "WITH ordered AS (SELECT ROW_NUMBER() OVER (PARTITION BY ct.source_object_id, ct.start_lsn ORDER BY"
        " ct.create_date DESC) AS at, ct.* FROM [shop].cdc.change_tables AS ct WHERE ct.start_lsn <= @lsn)"
        " SELECT OBJECT_SCHEMA_NAME(source_object_id, DB_ID(@db)), OBJECT_NAME(source_object_id, DB_ID(@db)),"
        " capture_instance, at FROM ordered"
    )
    given = {"lsn": (LSN, b"\xff" * 10), "db": ("nvarchar(9)", "shop")}
    ask = session(one.server, database="master")
    assert sorted(rows(ask, text, **given)) == [
        ("dbo", "orders", "dbo_orders", 2),
        ("dbo", "orders", "later", 1),
    ]
    assert rows(ask, text + " WHERE at = 1", **given) == [("dbo", "orders", "later", 1)]
    assert rows(ask, f"SELECT OBJECT_NAME({later.object_id}, DB_ID('shop'))") == [("later_CT",)]


def test_a_key_that_comes_back_is_one_row() -> None:
    one = shop()
    ask = session(one.server)
    for _ in range(2):
        outcomes(ask, "INSERT INTO dbo.orders (id) VALUES (1), (2); DELETE FROM dbo.orders WHERE id = 1;")
        outcomes(ask, "INSERT INTO dbo.orders (id) VALUES (1);")
        assert rows(ask, "SELECT id FROM dbo.orders") == [(1,), (2,)]
        outcomes(ask, "DELETE FROM dbo.orders;")
