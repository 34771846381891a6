"""A connection at its edges: cancelled while it waits, cut, reset, routed, held up by a planned fault."""

from collections.abc import Iterator
from threading import Event

import pytest

from tests.integration.sqlserver_standin.bare_client import BareClient, last_status, packet_sizes
from tests.integration.sqlserver_standin.serving import DATABASE, PASSWORD, USER
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.packets import RESET, MessageKind
from wrackline.control.local.sqlserver_standin.wire.requests import print_headers
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, return_value, routing

BEGIN, COMMIT = b"\x05\x00\x00\x00", b"\x07\x00\x00\x00"
NOTES = "SELECT note FROM notes"
INTERRUPTED = b"\xfd\x02\x00\xc1" + bytes(9)
ACKNOWLEDGED = b"\xfd\x20\x00\xfd" + bytes(9)
"""What SQL Server sent to a client that cancelled, as recorded in dotnet/SqlClient's pull request 2714."""


@pytest.fixture
def model() -> ModelServer:
    made = ModelServer()
    made.create_login(USER, PASSWORD, administrator=True)
    database = made.create_database(DATABASE)
    database.create_table("dbo.notes", {"id": "int", "note": "nvarchar(max)"}, key=("id",))
    with database.transaction() as write:
        write.insert("notes", {"id": 1, "note": "x" * 300_000})
    return made


@pytest.fixture
def server(model: ModelServer) -> Iterator[SqlServerStandin]:
    with SqlServerStandin(model) as made:
        yield made


def test_an_attention_ends_a_wait_for_a_lock(server: SqlServerStandin, model: ModelServer) -> None:
    write = model.databases[DATABASE].begin()
    write.delete("notes")
    waits = Event()
    model.plan(NOTES, act=waits.set)
    with BareClient(server.port) as client:
        client.batch(NOTES)
        assert waits.wait()
        client.send(MessageKind.ATTENTION, b"")
        assert client.answer() == INTERRUPTED
        assert client.answer() == ACKNOWLEDGED
        assert b"\x01\x00\x00\x00" in client.ask("SELECT 1 AS a"), "the connection goes on"
    write.rollback()


def test_an_attention_between_packets_ends_the_answer_behind_a_whole_token(server: SqlServerStandin) -> None:
    with BareClient(server.port, odbc=True) as client:
        client.batch(f"{NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}")
        client.send(MessageKind.ATTENTION, b"")
        answer = client.answer()
        assert answer.endswith(INTERRUPTED)
        assert len(answer) < 8 * 600_000
        assert client.answer() == ACKNOWLEDGED


def test_an_attention_behind_the_answer_is_acknowledged(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        client.ask("SELECT 1 AS a")
        client.send(MessageKind.ATTENTION, b"")
        client.received = b""
        assert client.answer() == ACKNOWLEDGED
        assert client.received[:4] + client.received[6:8] == b"\x04\x01\x00\x15" + b"\x01\x00"


def test_a_client_that_is_cut_loses_its_transaction(server: SqlServerStandin, model: ModelServer) -> None:
    client = BareClient(server.port)
    client.send(MessageKind.TRANSACTION, print_headers() + BEGIN)
    assert b"\xe3\x0b\x00\x08\x08" in client.answer()
    assert last_status(client.ask("DELETE FROM notes")) & Done.IN_TRANSACTION
    server.cut()
    assert client.socket.recv(1) == b""
    assert model.databases[DATABASE].running == []
    client.socket.close()
    with BareClient(server.port) as again:
        assert b"x\x00x\x00" in again.ask(NOTES)


def test_a_connection_of_a_pool_is_reset(server: SqlServerStandin, model: ModelServer) -> None:
    with BareClient(server.port) as client:
        client.send(MessageKind.TRANSACTION, print_headers() + BEGIN)
        client.answer()
        client.ask("SET LOCK_TIMEOUT 0; DELETE FROM notes")
        answer = client.ask("SELECT @@TRANCOUNT AS n", status=RESET)
        assert answer.startswith(b"\xe3\x03\x00\x12\x00\x00"), "what was reset is acknowledged first"
        assert model.databases[DATABASE].running == []


def test_a_transaction_of_requests_is_committed(server: SqlServerStandin, model: ModelServer) -> None:
    with BareClient(server.port) as client:
        client.send(MessageKind.TRANSACTION, print_headers() + BEGIN)
        client.answer()
        client.ask("INSERT INTO notes (id, note) VALUES (2, NULL)")
        client.send(MessageKind.TRANSACTION, print_headers() + COMMIT)
        assert b"\xe3\x0b\x00\x09\x00\x08" in client.answer()
    assert model.databases[DATABASE].commits == 2


def test_a_client_that_only_reads_is_routed(model: ModelServer) -> None:
    route = ("other.example", 1433)
    with (
        SqlServerStandin(model, read_only_route=route) as server,
        BareClient(server.port, reads_only=True) as reader,
        BareClient(server.port) as writer,
    ):
        assert routing(*route) in reader.greeting
        assert routing(*route) not in writer.greeting


def test_without_odbc_s_settings_long_values_are_cut(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        assert len(client.ask(NOTES)) < 5000
    with BareClient(server.port, odbc=True) as client:
        assert len(client.ask(NOTES)) > 600_000


def test_bytes_that_are_no_tds_are_answered_with_an_error(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        client.send(MessageKind.RPC, print_headers() + b"\xff\xff\x07\x00\x00\x00")
        answer = client.answer()
        assert "procedure number 7".encode("utf-16-le") in answer
        client.send(MessageKind.BATCH, b"\x01")
        assert b"\xaa" in client.answer()


def test_what_was_asked_is_counted(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        client.ask("SELECT 1 AS a; SELECT 2 AS b")
        client.ask("SELECT 3 AS c")
    assert server.requests == ["SELECT 1 AS a; SELECT 2 AS b", "SELECT 3 AS c"]


TEXT = "nvarchar(4000)"


def test_a_value_comes_back_by_an_output_parameter(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        answer = client.call(
            10,
            ("", TEXT, "SET @a = @a + @b", False),
            ("", TEXT, "@a int OUTPUT, @b int", False),
            ("@a", "int", 40, True),
            ("@b", "int", 2, False),
        )
    returned = return_value(2, "@a", SqlType("int"), 42)
    assert answer[-13 - len(returned) :].startswith(returned)
    assert answer[-13] == 0xFE, "DONEPROC ends a call"
    assert b"\x79\x00\x00\x00\x00" + returned in answer, "the status comes before the parameters"


def test_a_statement_is_prepared_executed_and_forgotten(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        handle = ("", "int", None, True)
        text = ("", TEXT, "SELECT @n * 2 AS twice", False)
        answer = client.call(13, handle, ("", TEXT, "@n int", False), text, ("", "int", 4, False))
        assert b"\x08\x00\x00\x00" in answer
        assert return_value(0, "", SqlType("int"), 1) in answer
        given = ("", "int", 1, False)
        assert b"\x0a\x00\x00\x00" in client.call(12, given, ("", "int", 5, False))
        client.call(15, given)
        assert "handle 1".encode("utf-16-le") in client.call(12, given, ("", "int", 5, False))
    assert server.requests == ["SELECT @n * 2 AS twice"] * 2 + ["sp_unprepare", "sp_execute"]


def test_a_procedure_is_called_by_its_name(server: SqlServerStandin, model: ModelServer) -> None:
    with BareClient(server.port) as client:
        client.call("sys.sp_cdc_enable_db")
        client.call(
            "[shop].sys.sp_cdc_enable_table",
            ("@source_schema", TEXT, "dbo", False),
            ("@source_name", TEXT, "notes", False),
            ("@role_name", TEXT, None, False),
        )
        model.databases[DATABASE].scan()
        assert "dbo_notes".encode("utf-16-le") in client.call("sys.sp_cdc_help_change_data_capture")
        assert "EXEC sp_nothing".encode("utf-16-le") in client.call("sp_nothing")


@pytest.mark.parametrize("size", [9, 10, 11, 37, 512])
def test_packets_may_end_anywhere(model: ModelServer, size: int) -> None:
    text = "SELECT id, LEN(note) AS n, NULL AS a, N'some text' AS b, 1.5 AS c FROM notes"
    with SqlServerStandin(model) as server, BareClient(server.port) as client:
        whole = client.ask(text)
    with SqlServerStandin(model, packet_size=size) as server, BareClient(server.port) as client:
        client.received = b""
        assert client.ask(text) == whole
        assert max(packet_sizes(client.received)) == min(size, len(whole) + 8)
