"""The stand-in knows what Debezium's connector asks, so that an independent reader can be its peer."""

import pytest

from tests.unit.sqlserver_standin.shop import Shop, outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

LSN = "varbinary(10)"
LOW, HIGH = (LSN, bytes(10)), (LSN, b"\xff" * 10)
MAPPING = "[shop].cdc.lsn_time_mapping WHERE tran_id <> 0x00"
TIME = "TODATETIMEOFFSET({}, DATEPART(TZOFFSET, SYSDATETIMEOFFSET()))"
OF_FUNCTION = TIME.format("[shop].sys.fn_cdc_map_lsn_to_time([__$start_lsn])")
SHOWN = "[__$start_lsn], [__$seqval], [__$operation], [__$update_mask], [id], [note], "
BEHIND = (
    "WHERE (([__$start_lsn] = @P2 AND [__$seqval] = @P3 AND [__$operation] > @P4) OR ([__$start_lsn] = @P2"
    " AND [__$seqval] > @P3) OR ([__$start_lsn] > @P2)) AND [__$start_lsn] <= @P5 "
)
PAGE = {"P2": LOW, "P3": LOW, "P4": ("int", 0), "P5": HIGH}


def joined(text: str) -> str:
    """Name the table of a column that two tables have."""
    return text.replace("[__$start_lsn]", "[cdc_data].[__$start_lsn]")


def changed() -> Shop:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "a"})
        write.update("orders", {"note": "b"}, {"id": 1})
    with one.database.transaction() as write:
        write.delete("orders", {"id": 1})
    one.database.scan()
    return one


@pytest.mark.parametrize(
    "text",
    [
        "SELECT @@VERSION",
        "SELECT SYSDATETIMEOFFSET()",
        "SELECT [shop].sys.fn_cdc_get_max_lsn()",
        f"SELECT MAX(start_lsn) FROM {MAPPING}",
        f"SELECT MAX(start_lsn) FROM (SELECT TOP (@P0) start_lsn FROM {MAPPING} ORDER BY start_lsn) AS a",
        (
            "SELECT MAX(start_lsn) FROM (SELECT TOP (@P0 + 1) start_lsn FROM [shop].cdc.lsn_time_mapping"
            " WHERE start_lsn >= @P1 AND tran_id <> 0x00 ORDER BY start_lsn) as next_lsns"
        ),
        "SELECT [shop].sys.fn_cdc_increment_lsn(@P1)",
        "SELECT [shop].sys.fn_cdc_get_min_lsn(@P2)",
        "SELECT object_id, column_name FROM [shop].cdc.captured_columns ORDER BY object_id, column_id",
        (
            "SELECT tables.object_id, columns.name FROM [shop].sys.columns columns INNER JOIN"
            " [shop].cdc.change_tables tables ON tables.source_object_id = columns.object_id ORDER BY"
            " tables.object_id, columns.column_id"
        ),
        "select min(start_lsn) from [shop].cdc.change_tables",
        "EXEC [shop].sys.sp_cdc_help_change_data_capture",
        (
            "SELECT CASE WHEN dss.[status]=4 THEN 1 ELSE 0 END AS runs FROM"
            " [shop].sys.dm_server_services dss WHERE dss.[servicename] LIKE N'SQL Server Agent (%';"
        ),
        "SELECT name FROM sys.databases WHERE name = @P3",
        "SELECT TOP 1 start_lsn from sys.dm_cdc_log_scan_sessions ORDER BY session_id DESC",
    ],
)
def test_a_statement_gives_one_value_or_more(text: str) -> None:
    given = {"P0": ("int", 1), "P1": LOW, "P2": ("nvarchar(99)", "dbo_orders"), "P3": ("nvarchar(9)", "shop")}
    found = rows(session(changed().server), text, **given)
    assert found != []
    assert None not in found[0] or len(found[0]) > 1


def test_both_ways_of_reading_give_the_same_changes() -> None:
    ask = session(changed().server)
    lowest, highest = rows(ask, "SELECT MIN(start_lsn), MAX(start_lsn) FROM cdc.lsn_time_mapping")[0]
    function = rows(
        ask,
        f"SELECT TOP 100 {SHOWN}{OF_FUNCTION} FROM [shop].cdc.[fn_cdc_get_all_changes_dbo_orders](@P0, @P1,"
        f" N'all update old') {BEHIND} ORDER BY [__$start_lsn] ASC, [__$seqval] ASC, [__$operation] ASC",
        **PAGE,
        P0=(LSN, lowest),
        P1=(LSN, highest),
    )
    direct = rows(
        ask,
        f"SELECT TOP 100 {SHOWN}{OF_FUNCTION} FROM [shop].cdc.[dbo_orders_CT] {BEHIND} ORDER BY"
        " [__$start_lsn] ASC, [__$command_id] ASC, [__$seqval] ASC, [__$operation] ASC",
        **PAGE,
    )
    newest = rows(
        ask,
        f"SELECT {joined(SHOWN)}{TIME.format('ltm.tran_begin_time')}"
        " FROM [shop].cdc.[dbo_orders_CT] AS cdc_data LEFT JOIN [shop].cdc.lsn_time_mapping ltm"
        " ON ltm.start_lsn = cdc_data.[__$start_lsn]"
        f" {joined(BEHIND)} ORDER BY cdc_data.[__$start_lsn] ASC, cdc_data.[__$command_id] ASC,"
        " cdc_data.[__$seqval] ASC, cdc_data.[__$operation] ASC",
        **PAGE,
    )
    assert [row[2] for row in direct] == [2, 3, 4, 1]
    assert direct == function == newest


def test_the_jobs_are_called_by_name() -> None:
    (found,) = session(changed().server).execute("sys.sp_cdc_help_jobs", ())
    assert isinstance(found, QueryRows)


def test_its_locks_are_refused() -> None:
    """With snapshot.isolation.mode = read_committed it asks for none."""
    with pytest.raises(ServerError, match="TABLOCKX"):
        outcomes(session(changed().server), "SELECT TOP(0) * FROM [shop].[dbo].[orders] WITH (TABLOCKX)")
