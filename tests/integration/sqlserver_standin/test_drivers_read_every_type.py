"""Four drivers that know nothing of each other or of us read every type as the value that was written."""

import datetime as dt
import re
from collections.abc import Iterable
from typing import Any

from tests.integration.sqlserver_standin.drivers import SqlDriver
from tests.integration.sqlserver_standin.every_type import tables

DIFFERS = {  # what a driver is known to do with some declarations, and the others don't
    ("python-tds", "UTF8"): "it takes the code page of the locale and ignores that the collation is UTF-8",
    ("pymssql", "sql_variant"): "it returns the value's bytes",
    ("mssql-tds", r"^datetime\b"): "it has the third of a millisecond, which others round",
}


def values(connection: Any, table: str) -> list[object]:
    cursor = connection.cursor()
    cursor.execute(f"SELECT v FROM {table} ORDER BY id")
    return [row[0] for row in cursor.fetchall()]


def in_utc(found: Iterable[object]) -> list[object]:
    """Return values of which those with an offset are compared as instants and with their offset."""
    return [(one, one.utcoffset()) if isinstance(one, dt.datetime) else one for one in found]


def test_a_driver_reads_what_was_written(connection: Any, driver: SqlDriver) -> None:
    wrong = {}
    for table in tables():
        found = values(connection, table.name)
        same = in_utc(found) == in_utc(table.expected)
        typed = [type(one) for one in found] == [type(one) for one in table.expected]
        differs = any(driver.name == name and re.search(part, table.declaration) for name, part in DIFFERS)
        if (same and typed) is differs:
            wrong[table.declaration] = (found, table.expected)
    assert wrong == {}, "or a difference that was known is no longer there"


def test_a_row_of_many_nulls_is_read(connection: Any) -> None:
    """From two NULLs on, a row is sent with a bit for each column."""
    cursor = connection.cursor()
    cursor.execute(
        "SELECT id, NULL AS a, CAST(NULL AS nvarchar(max)) AS b, id + 1 AS c, NULL AS d "
        "FROM dbo.n0 ORDER BY id"
    )
    assert [tuple(row) for row in cursor.fetchall()] == [
        (0, None, None, 1, None),
        (1, None, None, 2, None),
        (2, None, None, 3, None),
    ]
