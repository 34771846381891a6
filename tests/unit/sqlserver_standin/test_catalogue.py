"""What system tables and procedures show: availability groups, savepoints, change tables, jobs, rights."""

import uuid

import pytest

from tests.unit.sqlserver_standin.shop import outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.model.log_numbers import as_number
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

SAVED = (
    "SELECT database_transaction_last_lsn, database_transaction_most_recent_savepoint_lsn"
    " FROM sys.dm_tran_database_transactions WHERE transaction_id = CURRENT_TRANSACTION_ID();"
)
JOBS = (
    "job_id",
    "job_type",
    "maxtrans",
    "maxscans",
    "continuous",
    "pollinginterval",
    "retention",
    "threshold",
)


def test_a_database_of_an_availability_group_has_the_group_s_number_of_it() -> None:
    one = shop()
    ask = session(one.server)
    asked = "SELECT group_database_id, replica_id FROM sys.databases WHERE name = N'shop'"
    assert rows(ask, asked) == [(None, None)]
    one.database.group = uuid.UUID(int=7)
    ((known, replica),) = rows(ask, asked)
    one.database.restore()
    assert rows(ask, asked) == [(known, replica)], "all replicas share it, and it stays"
    assert rows(ask, "SELECT group_id, group_database_id FROM sys.availability_databases_cluster") == [
        (uuid.UUID(int=7), known)
    ]


def test_a_transaction_shows_its_newest_savepoint() -> None:
    one = shop()
    ask = session(one.server)
    ((_, nothing),) = rows(ask, f"BEGIN TRAN; INSERT INTO dbo.orders (id) VALUES (1); {SAVED}")
    assert nothing is None
    ((last, saved),) = rows(ask, f"SAVE TRAN a; {SAVED}")
    assert last == saved == as_number(one.database.numbers.last)
    ((later, same),) = rows(ask, f"INSERT INTO dbo.orders (id) VALUES (2); {SAVED}")
    assert (later > last, same) == (True, saved)  # type: ignore[operator]
    ((_, newer),) = rows(ask, f"SAVE TRAN b; {SAVED}")
    ((_, back),) = rows(ask, f"ROLLBACK TRAN a; {SAVED} ROLLBACK;")
    assert newer > later  # type: ignore[operator]
    assert back == saved


def test_a_change_table_is_in_the_catalogue() -> None:
    one = shop()
    found = rows(
        session(one.server),
        "SELECT s.name, t.name, c.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id"
        f" JOIN sys.columns c ON c.object_id = t.object_id WHERE t.object_id = {one.instance.object_id}"
        " ORDER BY c.column_id",
    )
    assert {row[:2] for row in found} == {("cdc", "dbo_orders_CT")}
    names = ["__$start_lsn", "__$end_lsn", "__$seqval", "__$operation", "__$update_mask"]
    assert [row[2] for row in found] == [*names, "id", "amount", "note", "old", "__$command_id"]


def test_columns_have_their_lengths() -> None:
    declared = {
        "time(2)": (3, 11),
        "time(7)": (5, 16),
        "datetime2(0)": (6, 19),
        "datetime2(4)": (7, 24),
        "datetimeoffset(7)": (10, 34),
        "decimal(20,3)": (13, 20),
        "nvarchar(9)": (18, 0),
        "varchar(max)": (-1, 0),
        "binary(9)": (9, 0),
        "int": (4, 10),
        "hierarchyid": (892, 0),
    }
    one = shop({f"c{at}": text for at, text in enumerate(declared)}, ())
    asked = "SELECT max_length, precision FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.orders')"
    assert rows(session(one.server), asked) == list(declared.values())


def test_schemas_keep_their_numbers() -> None:
    one = shop()
    asked = "SELECT schema_id FROM sys.schemas WHERE name = N'sales'"
    one.database.create_table("sales.lines", {"id": "int"})
    before = rows(session(one.server), asked)
    one.database.create_table("art.lines", {"id": "int"})
    assert rows(session(one.server), asked) == before != []
    found = rows(session(one.server), "SELECT name, schema_id FROM sys.schemas")
    assert len({number for _, number in found}) == len(found) == 4


def test_jobs_are_described_and_changed() -> None:
    one = shop()
    ask = session(one.server)
    (found,) = (each for each in outcomes(ask, "EXEC sys.sp_cdc_help_jobs") if isinstance(each, QueryRows))
    assert tuple(column.name for column in found.columns) == JOBS
    assert [row[1:] for row in found.rows] == [
        ("capture", 500, 10, True, 5, 0, 0),
        ("cleanup", 0, 0, False, 0, 4320, 5000),
    ]
    change = "EXEC sys.sp_cdc_change_job @job_type = N'{}', @{} = {};"
    outcomes(ask, change.format("capture", "pollinginterval", 1) + change.format("cleanup", "retention", 60))
    assert [row[5:7] for row in rows(ask, "EXEC sys.sp_cdc_help_jobs")] == [(1, 0), (0, 60)]
    job = one.database.job()
    assert job.limits.polling_s == 5, "not before the job is started again"
    outcomes(ask, "EXEC sys.sp_cdc_stop_job; EXEC sys.sp_cdc_start_job;")
    assert job.limits.polling_s == 1
    with pytest.raises(ServerError, match="not valid"):
        outcomes(ask, change.format("capture", "retention", 60))


def test_captured_columns_are_listed_with_any_names() -> None:
    one = shop({"id": "int", "my]note": "int", "a, b": "int", "left": "int"})
    outcomes(
        session(one.server),
        "EXEC sys.sp_cdc_enable_table N'dbo', N'orders', @capture_instance = N'more', @role_name = NULL,"
        " @captured_column_list = N'[id], [my]]note], \"a, b\"', @supports_net_changes = 0;",
    )
    made = one.database.job().instances["more"]
    assert [column.name for column in made.columns] == ["id", "my]note", "a, b"]
    assert not made.net_changes


def test_a_user_may_do_what_was_granted() -> None:
    one = shop()
    admin = session(one.server)
    outcomes(
        admin, "CREATE LOGIN bob WITH PASSWORD = N's'; CREATE USER bob FOR LOGIN bob; CREATE ROLE readers;"
    )
    assert one.server.logs_in("bob", "s", "shop")
    bob = session(one.server, "bob")
    steps = [
        ("SELECT", "SELECT id FROM dbo.orders;"),
        ("INSERT", "INSERT INTO dbo.orders (id) VALUES (1);"),
        ("DELETE", "DELETE FROM dbo.orders WHERE id = 1;"),
    ]
    for right, text in steps:
        asked = f"SELECT HAS_PERMS_BY_NAME(N'orders', N'OBJECT', N'{right}');"
        assert rows(bob, asked) == [(0,)]
        with pytest.raises(ServerError, match=f"229: The {right} permission"):
            outcomes(bob, text)
        outcomes(admin, f"GRANT {right} ON dbo.orders TO bob;")
        assert rows(bob, asked) == [(1,)]
        outcomes(bob, text)
    outcomes(
        admin, "CREATE LOGIN eve WITH PASSWORD = N's'; CREATE USER eve; GRANT DELETE ON dbo.orders TO eve;"
    )
    outcomes(session(one.server, "eve"), "DELETE FROM dbo.orders;")
    with pytest.raises(ServerError, match="229: The SELECT permission"):
        outcomes(session(one.server, "eve"), "DELETE FROM dbo.orders WHERE id = 1;")
    assert rows(bob, "SELECT IS_ROLEMEMBER(N'readers'), IS_ROLEMEMBER(N'db_owner');") == [(0, 0)]
    outcomes(admin, "ALTER ROLE readers ADD MEMBER bob;")
    assert rows(bob, "SELECT IS_ROLEMEMBER(N'readers');") == [(1,)]
    outcomes(admin, "ALTER ROLE readers DROP MEMBER bob;")
    assert rows(bob, "SELECT IS_ROLEMEMBER(N'readers');") == [(0,)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("N'dbo', N'SCHEMA', N'SELECT'", 1),
        ("N'nowhere', N'SCHEMA', N'SELECT'", None),
        ("N'orders', N'OBJECT', N'FLY'", None),
        ("N'orders', N'PLANET', N'SELECT'", None),
        ("N'nothing', N'OBJECT', N'SELECT'", None),
        ("N'[shop].[dbo].[orders]', N'OBJECT', N'SELECT'", 1),
        ("DB_NAME(), N'DATABASE', N'VIEW DATABASE STATE'", 0),
    ],
)
def test_a_right_that_there_is_not_is_null(asked: str, answer: int | None) -> None:
    one = shop()
    one.server.create_login("bob", "s")
    one.server.grant("bob", "shop", Grant(views_state=False))
    assert rows(session(one.server, "bob"), f"SELECT HAS_PERMS_BY_NAME({asked});") == [(answer,)]


@pytest.mark.parametrize(
    "text",
    [
        "GRANT SELECT ON dbo.orders TO nobody;",
        "GRANT SELECT ON SCHEMA::nowhere TO bob;",
        "GRANT SELECT ON dbo.nothing TO bob;",
        "ALTER ROLE nothing ADD MEMBER bob;",
        "CREATE USER x FOR LOGIN nobody;",
    ],
)
def test_a_right_of_nobody_or_on_nothing_is_refused(text: str) -> None:
    one = shop()
    one.server.create_login("bob", "s")
    one.server.grant("bob", "shop", Grant())
    with pytest.raises(ServerError, match="15151"):
        outcomes(session(one.server), text)
    with pytest.raises(ServerError, match="15151"):
        outcomes(session(one.server, "bob"), "GRANT SELECT ON dbo.orders TO bob;")
