"""A session of ours: errors, calls that are cut, and its end."""

from collections.abc import Callable, Sequence
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from wrackline.producers.sources.oracle.connect.session import FORMATS, OracleSession
from wrackline.schemas.errors import OperatorNeeded, Transient


class FakeError(Exception):
    """The driver's."""


class FakeCursor:
    arraysize = prefetchrows = rowcount = 0

    def __init__(self, owner: "FakeConnection") -> None:
        self._owner = owner

    def execute(self, statement: str, parameters: dict[str, Any], *, fetch_lobs: bool) -> None:
        self._owner.passed.append((type(parameters), fetch_lobs))
        self._owner.ran.append(statement)
        if statement == "CUT":
            raise OSError(113, "No route to host")
        if statement == "MANGLED":
            b"a value: \xe4".decode()
        if statement == "SLOW":
            self._owner.called.set()
            if self._owner.cut.wait(10):
                raise FakeError

    def var(self, typ: type, size: int, arraysize: int) -> object:
        return typ, size, arraysize

    def fetchmany(self, size: int) -> Sequence[tuple[Any, ...]]:
        rows, self._owner.rows = self._owner.rows[:size], self._owner.rows[size:]
        return rows

    def close(self) -> None:
        self._owner.cursors_closed += 1


class FakeConnection:
    call_timeout = 600_000
    outputtypehandler: Callable[[Any, Any], object] | None = None

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.passed: list[tuple[type, bool]] = []
        self.rows: list[tuple[Any, ...]] = []
        self.called, self.cut = Event(), Event()
        self.cancelled = self.closed = self.cursors_closed = 0

    def cursor(self) -> FakeCursor:
        return FakeCursor(self)

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        self.cancelled += 1
        self.cut.set()

    def close(self) -> None:
        self.closed += 1
        raise FakeError


class FakeDriver:
    Error: type[Exception] = FakeError

    def connect(self, **parameters: Any) -> FakeConnection:
        raise NotImplementedError


@pytest.fixture
def connection() -> FakeConnection:
    return FakeConnection()


@pytest.fixture
def session(connection: FakeConnection) -> OracleSession:
    return OracleSession(FakeDriver(), connection)


def test_a_session_begins_with_our_formats(session: OracleSession, connection: FakeConnection) -> None:
    assert connection.ran == [FORMATS]
    assert "NLS_CALENDAR = 'GREGORIAN'" in FORMATS, "a server may have another, and years with it"
    assert not session.closed


def test_a_text_that_is_no_text_is_said_without_it(session: OracleSession) -> None:
    """Else the error of Python would show its bytes, and nobody would know what to do."""
    with pytest.raises(OperatorNeeded, match="did not mine a range") as caught:
        session.execute("MANGLED", "mine a range of the log")
    assert caught.value.code == "oracle.text_undecoded"
    assert caught.value.__suppress_context__
    assert "a value" not in str(caught.value)


def test_the_driver_gets_a_dict_and_returns_values_of_large_objects(
    session: OracleSession, connection: FakeConnection
) -> None:
    """It refuses any other mapping (DPY-2003), and by default gives what reads a LOB."""
    session.ask("SELECT", "read")
    session.execute("INSERT", "write", {"a": 1})
    assert connection.passed == [(dict, False)] * 3


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("DB_TYPE_VARCHAR", 4000, (str, 4000, 1000)),
        ("DB_TYPE_CLOB", None, (str, 0, 1000)),
        ("DB_TYPE_BLOB", None, (bytes, 0, 1000)),
    ],
)
def test_a_document_of_a_checked_column_comes_as_it_is_stored(
    session: OracleSession, connection: FakeConnection, kind: str, size: int | None, expected: object
) -> None:
    """The driver makes objects of a column with the constraint IS JSON."""
    assert not session.closed
    choose = connection.outputtypehandler
    assert choose is not None
    cursor = connection.cursor()
    cursor.arraysize = 1000
    type_code = SimpleNamespace(name=kind)
    for json, oson in ((True, False), (False, True)):
        column = SimpleNamespace(is_json=json, is_oson=oson, type_code=type_code, internal_size=size)
        assert choose(cursor, column) == expected
    column.is_oson = False
    assert choose(cursor, column) is None


def test_rows_come_in_pieces_and_the_cursor_is_closed(
    session: OracleSession, connection: FakeConnection
) -> None:
    connection.rows = [(number,) for number in range(5)]
    before = connection.cursors_closed
    assert [len(rows) for rows in session.stream("SELECT", "read", at_once=2)] == [2, 2, 1]
    assert connection.cursors_closed == before + 1
    connection.rows = [(1,), (2,)]
    given_up = session.stream("SELECT", "read", at_once=1)
    next(given_up)
    given_up.close()  # type: ignore[attr-defined]
    assert connection.cursors_closed == before + 2


def test_only_a_call_that_is_under_way_is_cancelled(
    session: OracleSession, connection: FakeConnection
) -> None:
    session.cancel()
    assert connection.cancelled == 0
    failed: list[Exception] = []

    def call() -> None:
        try:
            session.execute("SLOW", "wait")
        except Transient as error:
            failed.append(error)

    thread = Thread(target=call)
    thread.start()
    assert connection.called.wait(10)
    session.cancel()
    thread.join(10)
    assert (connection.cancelled, len(failed)) == (1, 1)
    session.cancel()
    assert connection.cancelled == 1


def test_an_error_of_the_network_is_ours(session: OracleSession) -> None:
    with pytest.raises(Transient, match=r"oracle.unreachable.*No route to host"):
        session.execute("CUT", "read")


def test_a_session_ends_soon_and_once(session: OracleSession, connection: FakeConnection) -> None:
    session.close()
    session.close()
    assert (connection.closed, session.closed) == (1, True)
    assert connection.call_timeout == 5_000
