"""Our session beside the four drivers, on the same server: every type is the same value, with TLS too."""

import datetime as dt
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.sqlserver_standin.drivers import SqlDriver
from tests.integration.sqlserver_standin.every_type import TypeTable, tables
from tests.integration.sqlserver_standin.serving import DATABASE, MANY, PASSWORD, USER
from tests.integration.sqlserver_standin.test_drivers_read_every_type import DIFFERS, values
from tests.property.test_sqlserver_token_reader import same_value
from wrackline.producers.sources.sqlserver.discover.types import of_wire
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.redaction import Secret


def login(port: int, **more: Any) -> ServerLogin:
    given = {"encrypt": "false", **more}
    return ServerLogin("127.0.0.1", port, USER, Secret(PASSWORD), "wrackline test", **given)


@pytest.fixture
def session(plain_port: int) -> Iterator[TdsSession]:
    made = connect(login(plain_port), database=DATABASE)
    yield made
    made.close()


def ours(session: TdsSession, table: TypeTable) -> list[object]:
    found = session.rows(f"SELECT v FROM {table.name} ORDER BY id")
    return [same_value(found.columns[0].type, cell) for (cell,) in found.rows]


def as_ours(value: object, *, variant: bool) -> object:
    """Return a driver's value as we have it: an instant in UTC, an id as a text, a variant as its text."""
    if value is None:
        return None
    if variant:
        return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return str(value) if isinstance(value, uuid.UUID) else value


def differences(session: TdsSession, theirs: dict[str, list[object]]) -> dict[str, object]:
    wrong: dict[str, object] = {}
    for table in tables():
        if table.name in theirs:
            variant = "sql_variant" in table.declaration
            expected = [as_ours(value, variant=variant) for value in theirs[table.name]]
            if (found := ours(session, table)) != expected:
                wrong[table.declaration] = (found, expected)
    return wrong


def test_we_read_what_was_written(session: TdsSession) -> None:
    assert differences(session, {table.name: table.expected for table in tables()}) == {}


def test_we_read_what_a_driver_reads(session: TdsSession, connection: Any, driver: SqlDriver) -> None:
    known = [part for name, part in DIFFERS if name == driver.name]
    asked = [table for table in tables() if not any(re.search(part, table.declaration) for part in known)]
    assert differences(session, {table.name: values(connection, table.name) for table in asked}) == {}


def test_a_result_of_many_packets_is_read_in_place(session: TdsSession) -> None:
    found = list(session.stream("SELECT id, note FROM dbo.many ORDER BY id", 1000))
    assert [len(batch) for batch in found][-1] <= 1000
    notes = [batch.cell(row, 1) for batch in found for row in range(len(batch))]
    assert notes == [(f"row {number} " * 8).encode("utf-16-le") for number in range(MANY)]
    assert {of_wire(column.type).name for column in found[0].columns} == {"int", "nvarchar"}


@pytest.mark.parametrize("encrypt", ["true", "strict"])
def test_tls_makes_no_difference(tls_port: tuple[str, int], authority: Path, encrypt: str) -> None:
    said, port = tls_port
    if said == "OFF" and encrypt == "strict":
        pytest.skip("the same as the others: TDS 8 asks before the server can say what it wants")
    made = connect(login(port, encrypt=encrypt, authorities=str(authority / "ca.crt")), database=DATABASE)
    assert differences(made, {table.name: table.expected for table in tables()}) == {}
    assert sum(len(batch) for batch in made.stream("SELECT id, note FROM dbo.many", 1000)) == MANY
    made.close()
