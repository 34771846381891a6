"""A session on the stand-in for SQL Server: answers, errors, cancellation, lost connections."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event

import pytest

from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect
from wrackline.producers.sources.sqlserver.wire.session import StatementCancelledError, TdsSession
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.redaction import Secret

MANY = 6000
ALL = "SELECT id, note FROM dbo.orders ORDER BY id"


@pytest.fixture
def model() -> ModelServer:
    made = ModelServer()
    made.create_login("reader", "secret", administrator=True)
    database = made.create_database("shop")
    database.create_table("dbo.orders", {"id": "int", "note": "nvarchar(100)"}, key=("id",))
    with database.transaction() as write:
        write.insert("orders", *({"id": number, "note": f"row {number} " * 8} for number in range(MANY)))
    return made


@pytest.fixture
def server(model: ModelServer) -> Iterator[SqlServerStandin]:
    with SqlServerStandin(model) as made:
        yield made


def login(port: int, silence_s: float = 60) -> ServerLogin:
    return ServerLogin(
        "127.0.0.1", port, "reader", Secret("secret"), "wrackline test", encrypt="false", silence_s=silence_s
    )


@pytest.fixture
def session(server: SqlServerStandin) -> Iterator[TdsSession]:
    made = connect(login(server.port), database="shop")
    yield made
    made.close()


def code_of(error: BaseException) -> str:
    assert isinstance(error, WracklineError)
    return error.code


def test_small_results_are_values(session: TdsSession) -> None:
    assert session.values("SELECT 1 AS a, N'é' AS b, NULL AS c, 0x0102 AS d") == [(1, "é", None, b"\x01\x02")]


def test_columns_have_names_types_and_whether_they_can_be_null(session: TdsSession) -> None:
    found = session.rows("SELECT TOP (1) id, note FROM dbo.orders")
    assert [(one.name, one.type.token, one.is_nullable) for one in found.columns] == [
        ("id", 0x38, False),
        ("note", 0xE7, True),
    ]
    assert found.rows == [(bytes(4), ("row 0 " * 8).encode("utf-16-le"))]


def test_each_result_of_a_batch_is_there_also_an_empty_one(session: TdsSession) -> None:
    found = session.answers(
        "SELECT 1 AS a; SELECT id FROM dbo.orders WHERE id < 0; SET NOCOUNT ON; SELECT 2 AS b; SELECT 3 AS c;"
    )
    assert [[column.name for column in one.columns] for one in found] == [["a"], ["id"], ["b"], ["c"]]
    assert [len(one.rows) for one in found] == [1, 0, 1, 1]


def test_a_batch_says_which_result_it_is_of(session: TdsSession) -> None:
    sql = (
        "SELECT TOP (3) id FROM dbo.orders; SELECT id FROM dbo.orders WHERE id < 0;"
        " SELECT TOP (2) note FROM dbo.orders"
    )
    found = [(batch.result, len(batch), batch.columns[0].name) for batch in session.stream(sql, 2)]
    assert found == [(0, 2, "id"), (0, 1, "id"), (1, 0, "id"), (2, 2, "note")]


def test_a_large_result_comes_in_batches_of_bounded_size(session: TdsSession) -> None:
    found = list(session.stream(ALL, 500))
    assert sum(map(len, found)) == MANY
    assert max(map(len, found)) == 500
    ids = [
        int.from_bytes(batch.cell(row, 0) or b"", "little") for batch in found for row in range(len(batch))
    ]
    assert ids == list(range(MANY))


def test_what_is_executed_gives_its_count(session: TdsSession) -> None:
    assert session.execute("UPDATE dbo.orders SET note = N'x' WHERE id < 7") == 7
    assert session.execute("DECLARE @a int;") is None


def test_a_statement_belongs_to_the_transaction_that_is_open(session: TdsSession, model: ModelServer) -> None:
    session.execute("BEGIN TRANSACTION")
    session.execute("DELETE FROM dbo.orders")
    assert session.values("SELECT COUNT(*) AS n FROM dbo.orders") == [(0,)]
    assert session._transaction != bytes(8), "the next batch says so"
    session.execute("ROLLBACK TRANSACTION")
    assert session._transaction == bytes(8)
    assert session.values("SELECT COUNT(*) AS n FROM dbo.orders") == [(MANY,)]
    assert model.databases["shop"].running == []


@pytest.mark.parametrize(
    ("number", "code", "kind"),
    [
        (1205, "sqlserver.rows_locked", Transient),
        (229, "sqlserver.right_missing", OperatorNeeded),
        (208, "sqlserver.object_missing", OperatorNeeded),
        (8114, "sqlserver.value_refused", OperatorNeeded),
    ],
)
def test_an_error_of_the_server_has_a_code_and_the_connection_lives(
    session: TdsSession, model: ModelServer, number: int, code: str, kind: type[WracklineError]
) -> None:
    model.plan("2 AS b", ServerError(number, "words"))
    with pytest.raises(kind) as caught:
        session.answers("SELECT 1 AS a; SELECT 2 AS b", "read the log")
    assert caught.value.code == code
    assert "read the log" in caught.value.sentence
    assert session.values("SELECT 3 AS c") == [(3,)]


def test_rows_before_an_error_are_handed_out(session: TdsSession, model: ModelServer) -> None:
    model.plan("2 AS b", ServerError(1205, "deadlock"))
    stream = session.stream("SELECT 1 AS a; SELECT 2 AS b", 10)
    assert next(stream).row(0) == (b"\x01\x00\x00\x00",)
    with pytest.raises(Transient, match="error 1205"):
        list(stream)


def test_a_stream_that_is_left_ends_its_statement(session: TdsSession) -> None:
    for _ in range(3):
        stream = session.stream(ALL, 100)
        assert len(list(islice(stream, 2))) == 2
        stream.close()  # type: ignore[attr-defined] # a generator
        assert not session.closed
        assert session.values("SELECT COUNT(*) AS n FROM dbo.orders") == [(MANY,)]


def test_one_statement_at_a_time(session: TdsSession) -> None:
    stream = session.stream(ALL, 100)
    next(stream)
    with pytest.raises(RuntimeError, match="is running"):
        session.rows("SELECT 1 AS a")
    assert sum(map(len, stream)) == MANY - 100


def held(model: ModelServer) -> Event:
    """Hold a row, so that a reader waits; return what is set once one does."""
    writer = model.databases["shop"].begin()
    writer.update("orders", lambda _: {"note": "held"})
    waits = Event()
    model.plan(ALL, act=waits.set)
    return waits


def test_another_thread_cancels(session: TdsSession, model: ModelServer) -> None:
    waits = held(model)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(session.rows, ALL)
        assert waits.wait(60)
        session.cancel()
        assert isinstance(answer.exception(60), StatementCancelledError)
    assert session.values("SELECT 1 AS a") == [(1,)]
    session.cancel()  # nothing runs
    assert session.values("SELECT 2 AS a") == [(2,)]


def test_a_cancellation_behind_the_answer_leaves_nothing_for_the_next(session: TdsSession) -> None:
    stream = session.stream("SELECT 1 AS a", 10)
    assert len(next(stream)) == 1
    session.cancel()  # the whole answer is here
    with pytest.raises(StatementCancelledError):
        next(stream)
    assert session.values("SELECT 2 AS b") == [(2,)]


def test_another_thread_closes(session: TdsSession, model: ModelServer) -> None:
    waits = held(model)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(session.rows, ALL, "read rows")
        assert waits.wait(60)
        session.close()
        error = answer.exception(60)
    assert error is not None
    assert code_of(error) == "sqlserver.server_lost"
    with pytest.raises(Transient, match="has ended"):
        session.rows("SELECT 1 AS a")


def test_a_server_that_is_silent_counts_as_lost(server: SqlServerStandin, model: ModelServer) -> None:
    session = connect(login(server.port, silence_s=0.2), database="shop")
    held(model)
    with pytest.raises(Transient, match="did not read rows: it was silent for too long") as caught:
        session.rows(ALL, "read rows")
    assert caught.value.code == "sqlserver.server_lost"
    assert session.closed


def test_a_connection_that_is_cut_is_lost(session: TdsSession, server: SqlServerStandin) -> None:
    stream = session.stream(ALL, 100)
    next(stream)
    server.cut()
    with pytest.raises(Transient) as caught:
        list(stream)
    assert caught.value.code == "sqlserver.server_lost"
    assert session.closed


@pytest.mark.parametrize("size", [512, 700, 32767])
def test_packets_may_have_any_size(model: ModelServer, size: int) -> None:
    with SqlServerStandin(model, packet_size=size) as server:
        session = connect(login(server.port), database="shop")
        assert session._packet_size == size
        text = f"SELECT N'{'long ' * 500}' AS a"
        assert session.values(text) == [("long " * 500,)]
        session.close()


def test_what_is_no_tds_closes_the_connection(session: TdsSession) -> None:
    session._wire.close()
    session._wire = Wrong()  # type: ignore[assignment]
    with pytest.raises(Transient) as caught:
        session.rows("SELECT 1 AS a")
    assert caught.value.code == "sqlserver.stream_broken"
    assert session.closed


@pytest.mark.parametrize(
    "statuses", [b"\x02", b"\x00\x01", b"\x03-\x00"], ids=["failed", "severe", "only the first failed"]
)
def test_an_end_that_says_that_it_failed_is_an_error_also_without_words(
    session: TdsSession, statuses: bytes
) -> None:
    """[MS-TDS] 2.2.7.6: an error's token SHOULD come before it; rows may be missing."""
    session._wire.close()
    ends = b"".join(b"\xfd" + one.ljust(12, b"\x00") for one in statuses.split(b"-"))
    session._wire = Wrong(ends)  # type: ignore[assignment]
    with pytest.raises(Transient, match="it failed, and no reason came") as caught:
        session.rows("SELECT 1 AS a")
    assert caught.value.code == "sqlserver.server_lost"


class Wrong:
    """Answers with these ends; with one that says that more follows, and then with nothing."""

    def __init__(self, ends: bytes = b"\xfd\x01" + bytes(11)) -> None:
        self.ends = ends

    def recv_into(self, buffer: memoryview) -> int:
        answer = b"\x04\x01\x00" + bytes([len(self.ends) + 8]) + bytes(4) + self.ends
        buffer[: len(answer)] = answer
        return len(answer)

    def sendall(self, data: bytes) -> None:
        """Nobody reads it."""

    def shutdown(self, how: int) -> None:
        """There is nothing to end."""

    def close(self) -> None:
        """There is nothing to give back."""
