"""What mssql-jdbc asks of a catalogue, which is how Debezium's connector learns tables and keys."""

import pytest

from tests.unit.sqlserver_standin.shop import outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

COLUMNS = """
DECLARE @found TABLE(TABLE_QUALIFIER SYSNAME, TABLE_OWNER SYSNAME,TABLE_NAME SYSNAME, COLUMN_NAME SYSNAME,
 DATA_TYPE SMALLINT, TYPE_NAME SYSNAME, PRECISION INT,LENGTH INT, SCALE SMALLINT, RADIX SMALLINT,
 NULLABLE SMALLINT, REMARKS VARCHAR(254), COLUMN_DEF NVARCHAR(4000),SQL_DATA_TYPE SMALLINT,
 SQL_DATETIME_SUB SMALLINT, CHAR_OCTET_LENGTH INT, ORDINAL_POSITION INT,IS_NULLABLE VARCHAR(254),
 SS_IS_SPARSE SMALLINT, SS_IS_COLUMN_SET SMALLINT, SS_IS_COMPUTED SMALLINT,SS_IS_IDENTITY SMALLINT,
 SS_UDT_CATALOG_NAME NVARCHAR(128), SS_UDT_SCHEMA_NAME NVARCHAR(128), SS_UDT_ASSEMBLY_TYPE_NAME NVARCHAR(max),
 SS_XML_SCHEMACOLLECTION_CATALOG_NAME NVARCHAR(128), SS_XML_SCHEMACOLLECTION_SCHEMA_NAME NVARCHAR(128),
 SS_XML_SCHEMACOLLECTION_NAME NVARCHAR(128),SS_DATA_TYPE TINYINT);
INSERT INTO @found EXEC sp_columns_100 @P0,@P1,@P2,@P3,@P4,@P5;
SELECT TABLE_QUALIFIER AS TABLE_CAT, TABLE_NAME, COLUMN_NAME, DATA_TYPE, TYPE_NAME, PRECISION AS COLUMN_SIZE,
 SCALE AS DECIMAL_DIGITS, NULLABLE,
 CASE SS_IS_IDENTITY WHEN 0 THEN 'NO' WHEN 1 THEN 'YES' WHEN '' THEN '' END AS IS_AUTOINCREMENT
 FROM @found ORDER BY TABLE_CAT, TABLE_NAME, ORDINAL_POSITION;"""
TEXT = "nvarchar(384)"
GIVEN = {
    "P0": (TEXT, "ord[e]rs"),
    "P1": (TEXT, "dbo"),
    "P2": (TEXT, "shop"),
    "P3": (TEXT, "%"),
    "P4": ("int", 2),
    "P5": ("int", 3),
}


def test_columns_are_described_through_a_table_variable() -> None:
    one = shop(
        {
            "id": "bigint",
            "n": "int identity",
            "amount": "decimal(10,2) not null",
            "note": "nvarchar(max)",
            "code": "varchar(7)",
            "at": "datetime2(3)",
        }
    )
    one.database.create_table("dbo.others", {"id": "int"})
    found = rows(session(one.server, database="master"), COLUMNS, **GIVEN)
    assert [row[:2] for row in found] == [("shop", "orders")] * 6
    assert [row[2:] for row in found] == [
        ("id", -5, "bigint", 19, 0, 0, "NO"),
        ("n", 4, "int identity", 10, 0, 1, "YES"),
        ("amount", 3, "decimal", 10, 2, 0, "NO"),
        ("note", -9, "nvarchar", 0, 0, 1, "NO"),
        ("code", 12, "varchar", 7, 0, 1, "NO"),
        ("at", 93, "datetime2", 23, 3, 1, "NO"),
    ]


def test_keys_and_tables_are_described() -> None:
    one = shop({"b": "int", "a": "int"}, ("a", "b"))
    one.database.create_table("sales.orders", {"id": "int"})
    ask = session(one.server)
    assert rows(ask, "EXEC sp_pkeys N'orders', N'dbo', N'shop'") == [
        ("shop", "dbo", "orders", "a", 1, "PK_orders"),
        ("shop", "dbo", "orders", "b", 2, "PK_orders"),
    ]
    assert rows(ask, "EXEC sp_tables N'%', N'%', N'shop', N'''TABLE'''") == [
        ("shop", "cdc", "dbo_orders_CT", "TABLE", None),
        ("shop", "dbo", "orders", "TABLE", None),
        ("shop", "sales", "orders", "TABLE", None),
    ]
    assert rows(ask, "EXEC sp_tables NULL, N's_les'") == [("shop", "sales", "orders", "TABLE", None)]


def test_a_table_variable_lives_in_its_batch() -> None:
    ask = session(shop().server)
    outcomes(ask, "DECLARE @t TABLE (a sysname NULL);")
    with pytest.raises(ServerError, match="1087"):
        outcomes(ask, "SELECT * FROM @t;")
    with pytest.raises(ServerError, match="213"):
        outcomes(ask, "DECLARE @t TABLE (a sysname NULL); INSERT INTO @t EXEC sp_tables;")
