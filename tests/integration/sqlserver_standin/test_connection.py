"""A connection at its edges: cancelled while it waits, cut, reset, routed, held up by a planned fault."""

from collections.abc import Iterator
from threading import Event

import pytest

from tests.integration.sqlserver_standin.bare_client import BareClient, last_status
from tests.integration.sqlserver_standin.serving import DATABASE, PASSWORD, USER
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.packets import RESET, MessageKind
from wrackline.control.local.sqlserver_standin.wire.requests import print_headers
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, routing

BEGIN, COMMIT = b"\x05\x00\x00\x00", b"\x07\x00\x00\x00"
NOTES = "SELECT note FROM notes"


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
        assert last_status(client.answer()) == Done.ATTENTION
        assert b"\x01\x00\x00\x00" in client.ask("SELECT 1 AS a"), "the connection goes on"
    write.rollback()


def test_an_attention_between_packets_ends_the_answer_behind_a_whole_token(server: SqlServerStandin) -> None:
    with BareClient(server.port, odbc=True) as client:
        client.batch(f"{NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}; {NOTES}")
        client.send(MessageKind.ATTENTION, b"")
        answer = client.answer()
        assert last_status(answer) == Done.ATTENTION
        assert len(answer) < 8 * 600_000


def test_an_attention_behind_the_answer_is_acknowledged(server: SqlServerStandin) -> None:
    with BareClient(server.port) as client:
        client.ask("SELECT 1 AS a")
        client.send(MessageKind.ATTENTION, b"")
        assert client.answer() == b"\xfd\x20" + bytes(11)


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
