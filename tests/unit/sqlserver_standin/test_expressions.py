"""Conversions, collations, patterns, zones: as Microsoft's pages give them in their examples."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from tests.unit.sqlserver_standin.shop import outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.wire.moments import ZonedMoment
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.values import Cell


def value(expression: str, server: ModelServer | None = None) -> Cell:
    ((found,),) = rows(session(server or shop().server), f"SELECT {expression};")
    return found


@pytest.mark.parametrize(
    ("local", "shown"),
    [
        ("2015-03-29T01:01:00", "2015-03-29 01:01:00+01:00"),
        ("2015-03-29T02:01:00", "2015-03-29 03:01:00+02:00"),  # no clock shows it
        ("2015-03-29T03:01:00", "2015-03-29 03:01:00+02:00"),
        ("2015-10-25T01:01:00", "2015-10-25 01:01:00+02:00"),
        ("2015-10-25T02:00:00", "2015-10-25 02:00:00+02:00"),  # the first of two
        ("2015-10-25T03:01:00", "2015-10-25 03:01:00+01:00"),
    ],
)
def test_a_time_of_a_zone(local: str, shown: str) -> None:
    found = value(f"CAST('{local}' AS datetime2(0)) AT TIME ZONE 'Central European Standard Time'")
    assert isinstance(found, ZonedMoment)
    assert found.as_datetime().isoformat(" ") == shown


def test_a_moment_is_shown_in_a_zone_and_keeps_its_places() -> None:
    one = session(shop().server)
    at = "CAST('2026-07-01 14:00:00.123 +02:00' AS datetimeoffset(3))"
    text = f"SELECT {at} AT TIME ZONE 'India Standard Time'"
    (found,) = (outcome for outcome in outcomes(one, text) if isinstance(outcome, QueryRows))
    ((moment,),) = found.rows
    assert isinstance(moment, ZonedMoment)
    assert moment.as_datetime().isoformat() == "2026-07-01T17:30:00.123000+05:30"
    assert found.columns[0].of.scale == 3
    with pytest.raises(ServerError, match="9820"):
        outcomes(one, "SELECT GETDATE() AT TIME ZONE 'Middle-earth Standard Time'")


def test_the_server_s_own_zone_has_its_name() -> None:
    one = shop()
    one.server.zone, one.server.zone_name = ZoneInfo("Europe/Berlin"), "W. Europe Standard Time"
    one.server.now = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    found = value("GETDATE() AT TIME ZONE CURRENT_TIMEZONE_ID()", one.server)
    assert isinstance(found, ZonedMoment)
    assert found.as_datetime() == one.server.now
    assert found.minutes == 120


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(0x69007400 AS nvarchar(4000))", "it"),
        ("CAST(0x3dd800de AS nvarchar)", "\U0001f600"),
        ("CAST(0x3dd8 AS nvarchar(4000))", "\ud83d"),
        ("CAST(CAST(0x41 AS nvarchar) AS varbinary)", b"\x41\x00"),
        ("CAST(CAST(0x3604 AS nvarchar(9)) COLLATE Cyrillic_General_CI_AS AS varchar(8000))", "ж"),
        ("CAST(CAST(N'ж' COLLATE Cyrillic_General_CI_AS AS varchar(9)) AS varbinary(9))", b"\xe6"),
        ("CAST(CAST(N'ж' AS varchar(9)) AS varbinary(9))", b"?"),
        ("CAST(N'éé' COLLATE Latin1_General_100_BIN2_UTF8 AS varchar(2))", "é"),
        ("CAST(REPLACE(N'x', N'x', N'" + "y" * 40 + "') AS nvarchar)", "y" * 30),
        ("CAST(0xFFFF AS int)", 65_535),
        ("CAST(0xFFFFFFFF AS int)", -1),
        ("CAST(SERVERPROPERTY('EngineEdition') AS int)", 3),
        ("CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))", "16.0.4003.0"),
        ("CAST(SERVERPROPERTY('nothing') AS int)", None),
        ("DATEPART(TZOFFSET, CAST('2026-01-02 03:04:05.0000001 -01:30' AS datetimeoffset(7)))", -90),
        ("REPLACE('abcdefghicde', 'cde', 'xxx')", "abxxxfghixxx"),
        ("REPLACE('This is a Test' COLLATE Latin1_General_BIN2, 'Test', 'desk')", "This is a desk"),
        ("REPLACE('This is a test', 'TEST', 'desk')", "This is a desk"),
        ("REPLACE('This is a test' COLLATE Latin1_General_BIN2, 'TEST', 'desk')", "This is a test"),
        ("REPLACE(N'a', N'', N'b')", "a"),
        ("REPLACE(N'a', NULL, N'b')", None),
    ],
)
def test_a_conversion(expression: str, expected: object) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "hits"),
    [
        ("abc_d", "abc[_]d%", True),
        ("abcxd", "abc[_]d%", False),
        ("5%", "5[%]", True),
        ("f", "[a-cdf]", True),
        ("e", "[a-cdf]", False),
        ("-", "[-acdf]", True),
        ("[", "[[]", True),
        ("]", "]", True),
        ("del", "de[^l]", False),
        ("dex", "de[^l]", True),
        ("DEX", "de_", True),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("a\\c", "a[\\]c", True),
        ("a", "[", False),
    ],
)
def test_a_pattern(text: str, pattern: str, hits: bool) -> None:  # noqa: FBT001
    assert value(f"CASE WHEN N'{text}' LIKE N'{pattern}' THEN 1 ELSE 0 END") == int(hits)


def test_texts_are_compared_in_the_collation_that_rules() -> None:
    one = shop(
        {
            "id": "int",
            "greek": "nvarchar(10) collate Greek_CI_AS",
            "latin": "nvarchar(10) collate Latin1_General_100_CS_AS",
        }
    )
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "greek": "A", "latin": "a"})
    ask = session(one.server)

    def hits(condition: str) -> int:
        return len(rows(ask, f"SELECT id FROM dbo.orders WHERE {condition}"))

    assert hits("greek = latin COLLATE Greek_CI_AS") == 1
    assert (hits("latin = N'A'"), hits("latin COLLATE Greek_CI_AS = N'A'"), hits("N'A' = latin")) == (0, 1, 0)
    assert (hits("latin LIKE N'A'"), hits("greek LIKE N'a'")) == (0, 1)
    for conflict in ("greek = latin", "greek COLLATE Greek_CI_AS = latin COLLATE Polish_CI_AS"):
        with pytest.raises(ServerError, match="468"):
            hits(conflict)
    with pytest.raises(ServerError, match="448"):
        hits("greek = N'a' COLLATE Klingon_CI_AS")


def test_in_the_rows_of_a_query() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", *({"id": number} for number in range(5)))
    ask = session(one.server)
    inside = "(SELECT id FROM dbo.orders WHERE id < 2)"
    assert rows(ask, f"SELECT id FROM dbo.orders WHERE id IN {inside}") == [(0,), (1,)]
    assert rows(ask, f"SELECT id FROM dbo.orders WHERE id NOT IN {inside}") == [(2,), (3,), (4,)]
    nulls = "(SELECT note FROM dbo.orders)"
    assert rows(ask, f"SELECT id FROM dbo.orders WHERE N'x' NOT IN {nulls}") == [], "NULL is unknown"
    listed = "SELECT id FROM dbo.orders WHERE id NOT IN (1, 2, @n)"
    assert rows(ask, listed, n=("int", 3)) == [(0,), (4,)]
    assert rows(ask, listed, n=("int", None)) == []


def test_a_batch_that_is_wrong_is_not_begun() -> None:
    one = shop()
    ask = session(one.server)
    with pytest.raises(ServerError, match="does not know"):
        outcomes(ask, "INSERT INTO dbo.orders (id) VALUES (1); MERGE dbo.orders;")
    assert rows(ask, "SELECT id FROM dbo.orders") == []
