"""Four drivers ask: with parameters, with errors, for many packets, for several results, and cancel."""

import datetime as dt
import importlib
import uuid
from decimal import Decimal
from typing import Any

import pytest

from tests.integration.sqlserver_standin.drivers import DRIVERS, SqlDriver
from tests.integration.sqlserver_standin.serving import DATABASE, MANY, PASSWORD, USER
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer

PARAMETERS = {
    "int": 42,
    "bigint": 2**40,
    "text": "O'Reilly ß 日本",
    "a text beyond 4000 units": "é" * 9000,
    "bytes": b"\x00\x01\xff",
    "decimal": Decimal("12345.6789"),
    "float": 2.5,
    "date": dt.date(2024, 2, 29),
    "datetime": dt.datetime(2024, 2, 29, 12, 34, 56),  # noqa: DTZ001 - it has no zone
    "guid": uuid.UUID(int=7),
    "null": None,
}


def rows(connection: Any, text: str, *given: object) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(text, given) if given else cursor.execute(text)
    return [tuple(row) for row in cursor.fetchall()]


@pytest.mark.parametrize("value", PARAMETERS.values(), ids=list(PARAMETERS))
def test_a_parameter_comes_back(connection: Any, driver: SqlDriver, value: object) -> None:
    given = (
        importlib.import_module("pytds").Binary(value)
        if driver.name == "python-tds" and isinstance(value, bytes)
        else value
    )
    ((found,),) = rows(connection, f"SELECT {driver.marker} AS v", given)
    if isinstance(value, uuid.UUID) and isinstance(found, str):
        found = uuid.UUID(found)  # pymssql writes it into the statement as a text
    if isinstance(value, dt.date) and isinstance(found, str):
        found = type(value).fromisoformat(found)  # likewise
    assert found == value


def test_a_parameter_finds_a_row(connection: Any, driver: SqlDriver) -> None:
    found = rows(
        connection,
        f"SELECT id FROM dbo.many WHERE id > {driver.marker} AND note LIKE {driver.marker}",
        19_990,
        "row%",
    )
    assert found == [(number,) for number in range(19_991, MANY)]


def test_a_result_of_many_packets_is_read(connection: Any) -> None:
    found = rows(connection, "SELECT id, note FROM dbo.many ORDER BY id")
    assert len(found) == MANY
    assert found[-1] == (MANY - 1, f"row {MANY - 1} " * 8)


def test_several_results_of_a_batch_are_read(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "SELECT 1 AS a; SELECT TOP (2) id FROM dbo.many ORDER BY id DESC; SELECT N'x' AS b, 2 AS c"
    )
    found = [[tuple(row) for row in cursor.fetchall()]]
    while cursor.nextset():
        found.append([tuple(row) for row in cursor.fetchall()])
    assert found == [[(1,)], [(MANY - 1,), (MANY - 2,)], [("x", 2)]]


def test_a_reader_that_cancels_can_ask_again(connection: Any, driver: SqlDriver) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT id, note FROM dbo.many ORDER BY id")
    assert cursor.fetchone()[0] == 0
    driver.cancel(connection, cursor)
    assert rows(connection, "SELECT COUNT(*) AS n FROM dbo.many") == [(MANY,)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT nothing FROM dbo.many", "Invalid column name 'nothing'"),
        ("SELECT id FROM dbo.nothing", "Invalid object name 'dbo.nothing'"),
        ("CREATE INDEX i ON dbo.many (note)", "stand-in for SQL Server does not know this statement"),
        ("SELECT 1 / 0 AS a", "Divide by zero"),
    ],
)
def test_an_error_is_raised_and_the_connection_goes_on(connection: Any, statement: str, words: str) -> None:
    with pytest.raises(Exception, match=words):  # each driver has its own type
        rows(connection, statement)
    assert rows(connection, "SELECT 1 AS a") == [(1,)]


def test_a_wrong_password_is_refused(driver: SqlDriver, plain_port: int) -> None:
    with pytest.raises(Exception, match="Login failed for user 'reader'"):
        driver.connect(plain_port, password="wrong")


def test_what_is_rolled_back_is_gone(connection: Any, driver: SqlDriver) -> None:
    driver.transactions(connection)
    cursor = connection.cursor()
    cursor.execute("INSERT INTO dbo.notes (note) VALUES (N'a')")
    assert rows(connection, "SELECT COUNT(*) AS n FROM dbo.notes") == [(1,)]
    connection.rollback()
    assert rows(connection, "SELECT COUNT(*) AS n FROM dbo.notes") == [(0,)]
    cursor = connection.cursor()
    cursor.execute("INSERT INTO dbo.notes (note) VALUES (N'b')")
    connection.commit()
    cursor = connection.cursor()
    cursor.execute("DELETE FROM dbo.notes WHERE note = N'b'")
    assert cursor.rowcount == 1
    connection.commit()


@pytest.mark.parametrize("size", [512, 513, 521])
def test_python_tds_reads_packets_that_end_anywhere(size: int) -> None:
    model = ModelServer()
    model.create_login(USER, PASSWORD, administrator=True)
    database = model.create_database(DATABASE)
    database.create_table("dbo.many", {"id": "int", "note": "nvarchar(100)"}, key=("id",))
    with database.transaction() as write:
        write.insert("many", *({"id": number, "note": f"row {number} " * 8} for number in range(20)))
    with SqlServerStandin(model, packet_size=size) as server:
        connection = DRIVERS[0].connect(server.port)
        found = rows(connection, "SELECT id, note, NULL AS a, 1.5 AS c FROM dbo.many ORDER BY id")
        connection.close()
    assert found == [(number, f"row {number} " * 8, None, Decimal("1.5")) for number in range(20)]
