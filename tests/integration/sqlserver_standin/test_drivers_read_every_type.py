"""Three drivers that know nothing of each other or of us read every type as the value that was written."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import pytest

from tests.integration.sqlserver_standin.drivers import SqlDriver
from tests.integration.sqlserver_standin.every_type import TypeTable, tables

DIFFERS = {  # what a driver is known to do, and the others don't
    ("python-tds", "UTF8"): "it takes the code page of the locale and ignores that the collation is UTF-8",
    ("pymssql", "sql_variant"): "it returns the value's bytes",
}


def values(connection: Any, table: str) -> list[object]:
    cursor = connection.cursor()
    cursor.execute(f"SELECT v FROM {table} ORDER BY id")
    return [row[0] for row in cursor.fetchall()]


def in_utc(found: Iterable[object]) -> list[object]:
    """Return values of which those with an offset are compared as instants and with their offset."""
    return [(one, one.utcoffset()) if isinstance(one, dt.datetime) else one for one in found]


@pytest.mark.parametrize("table", list(tables()), ids=lambda table: table.declaration)
def test_a_driver_reads_what_was_written(connection: Any, driver: SqlDriver, table: TypeTable) -> None:
    for (name, part), reason in DIFFERS.items():
        if driver.name == name and part in table.declaration:
            assert in_utc(values(connection, table.name)) != in_utc(table.expected), (
                f"no longer true: {reason}"
            )
            return
    found = values(connection, table.name)
    assert in_utc(found) == in_utc(table.expected)
    assert [type(one) for one in found] == [type(one) for one in table.expected]


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
