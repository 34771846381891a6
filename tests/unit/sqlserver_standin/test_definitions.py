"""A world of tests can be made in T-SQL alone, so that the same tests could run on a real server."""

import datetime as dt

import pytest

from tests.unit.sqlserver_standin.shop import outcomes, rows, session
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

WORLD = """
CREATE DATABASE [new]; ALTER DATABASE [new] SET ALLOW_SNAPSHOT_ISOLATION ON;
ALTER DATABASE new SET READ_COMMITTED_SNAPSHOT ON; USE new; EXEC sys.sp_cdc_enable_db;
CREATE TABLE dbo.[people] (
    id int IDENTITY(1, 1) NOT NULL CONSTRAINT pk PRIMARY KEY CLUSTERED,
    name nvarchar(20) COLLATE Latin1_General_BIN2 NULL,
    code int UNIQUE, price decimal(10, 2), CONSTRAINT u UNIQUE NONCLUSTERED (price)
);
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'people', @role_name = NULL;
INSERT INTO people (name, code, price) VALUES (N'Ann', 1, 1.5), (N'Bob', 2, NULL);
"""


def test_databases_tables_and_capture_are_made_changed_and_dropped() -> None:
    server = ModelServer()
    server.create_login("sa", "s", administrator=True)
    ask = session(server, database="master")
    outcomes(ask, WORLD)
    made = server.databases["new"]
    table = made.table("people")
    assert (table.key, table.unique) == (("id",), ("code", "price"))
    assert [str(column.of) for column in table.columns] == ["int", "nvarchar(20)", "int", "decimal(10,2)"]
    assert table.columns[1].of.collation.name == "Latin1_General_BIN2"
    assert (made.allows_snapshots, made.read_committed_snapshot) == (True, True)
    outcomes(
        ask, "ALTER TABLE people ADD extra varchar(5); ALTER TABLE people ALTER COLUMN code bigint NOT NULL"
    )
    outcomes(ask, "ALTER TABLE people DROP COLUMN price; EXEC sp_rename 'dbo.people', 'persons'")
    made.scan()
    assert made.job().instances["dbo_people"].rows[0].cells[:3] == (1, "Ann", 1)
    assert [row.required_column_update for row in made.job().ddl] == [False, True, False]
    assert rows(ask, "SELECT * FROM persons") == [(1, "Ann", 1, None), (2, "Bob", 2, None)]
    assert len(rows(ask, "EXEC sys.sp_cdc_help_jobs")) == 2
    with pytest.raises(ServerError, match="Cannot truncate"):
        outcomes(ask, "TRUNCATE TABLE persons")
    outcomes(ask, "DROP TABLE persons; USE master; DROP DATABASE new")
    assert "new" not in server.databases


def test_who_does_not_own_a_database_defines_nothing() -> None:
    server = ModelServer()
    server.create_login("bob", "b")
    server.create_database("shop").create_table("dbo.t", {"id": "int"})
    server.grant("bob", "shop", Grant())
    for text in ("CREATE TABLE u (id int)", "DROP TABLE t", "CREATE DATABASE d"):
        with pytest.raises(ServerError) as caught:
            outcomes(session(server, "bob"), text)
        assert caught.value.number == 262


def test_a_readable_secondary_refuses_writers_and_says_so() -> None:
    server = ModelServer()
    server.create_login("sa", "s", administrator=True)
    database = server.create_database("shop")
    database.create_table("dbo.t", {"id": "int"})
    database.read_only = True
    ask = session(server)
    ((found,),) = rows(ask, "SELECT DATABASEPROPERTYEX(N'shop', N'Updateability')")
    assert getattr(found, "value", None) == "READ_ONLY"
    with pytest.raises(ServerError) as caught:
        outcomes(ask, "INSERT INTO t (id) VALUES (1)")
    assert caught.value.number == 3906


def test_a_server_that_runs_by_itself_captures_at_each_tick() -> None:
    server = ModelServer()
    database = server.create_database("shop")
    database.create_table("dbo.t", {"id": "int"})
    database.enable_cdc()
    instance = database.enable_table("dbo.t")
    server.tick(server.now + dt.timedelta(seconds=5))
    with database.transaction() as write:
        write.insert("t", {"id": 1})
    server.tick(server.now + dt.timedelta(seconds=5))
    assert [row.cells for row in instance.rows] == [(1,)]
    server.tick(server.now + dt.timedelta(minutes=5))
    assert [row.transaction == b"\0" for row in database.job().mapping] == [False, True]


def test_a_default_is_for_rows_that_name_no_value() -> None:
    server = ModelServer()
    server.create_login("sa", "s", administrator=True)
    server.create_database("shop")
    ask = session(server)
    outcomes(
        ask,
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL CONSTRAINT one DEFAULT ((1)), b nvarchar(5));"
        " INSERT INTO t (id) VALUES (1); ALTER TABLE t ADD c varchar(5) NOT NULL DEFAULT 'x';"
        " ALTER TABLE t ADD d int NULL DEFAULT 2;"
        " ALTER TABLE t ADD e int NULL CONSTRAINT e DEFAULT (3) WITH VALUES;"
        " INSERT INTO t (id, a) VALUES (2, 5); INSERT INTO t (id, d) VALUES (3, NULL);",
    )
    assert rows(ask, "SELECT * FROM t") == [
        (1, 1, None, "x", None, 3),
        (2, 5, None, "x", 2, 3),
        (3, 1, None, "x", None, 3),
    ]
    with pytest.raises(ServerError, match="4901"):
        outcomes(ask, "ALTER TABLE t ADD f int NOT NULL;")
