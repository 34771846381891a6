"""Logging in to the stand-in: databases, refusals, servers that are none, and every kind of protection."""

import socket
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.fixtures.certificates import Pair, issue
from tests.fixtures.sqlserver_world import USER, given_of, read_settings
from tests.unit.producers.sqlserver.test_settings import DEBEZIUM, reading
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.login import Encryption, print_prelogin
from wrackline.producers.sources.sqlserver.session.server import SqlServerConnector
from wrackline.producers.sources.sqlserver.wire.certificates import TlsStream, names
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.redaction import Secret

PASSWORD = "a-pässword-of-ours"
NAME = "SELECT DB_NAME() AS name"


@pytest.fixture
def model() -> ModelServer:
    made = ModelServer()
    made.create_login("reader", PASSWORD, administrator=True)
    made.create_database("shop")
    return made


def login(port: int, **more: Any) -> ServerLogin:
    given = {"encrypt": "false", "login_s": 30.0, **more}
    return ServerLogin("127.0.0.1", port, "reader", Secret(PASSWORD), "wrackline test", **given)


def refused(where: ServerLogin, **more: Any) -> WracklineError:
    """Fail to connect; the password is in no part of the error."""
    with pytest.raises(WracklineError) as caught:
        connect(where, **more).close()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert PASSWORD not in shown
    frame = caught.value.__traceback__
    while frame is not None:
        assert not any(PASSWORD in repr(one) for one in frame.tb_frame.f_locals.values())
        frame = frame.tb_next
    return caught.value


def test_the_first_statement_takes_the_limit_off_long_values(model: ModelServer) -> None:
    with SqlServerStandin(model) as server:
        session = connect(login(server.port), database="shop")
        assert session.values(NAME) == [("shop",)]
        session.close()
        first, _ = server.requests
        assert first == "SET TEXTSIZE 2147483647;"


def test_names_beyond_the_bmp_have_two_units_a_character(model: ModelServer) -> None:
    """LOGIN7 counts units of UTF-16, and what comes behind a text begins where its units end."""
    model.create_login("reader😀", "😀 secret", administrator=True)
    model.create_database("shop😀")
    with SqlServerStandin(model) as server:
        where = replace(
            login(server.port), user="reader😀", password=Secret("😀 secret"), application="😀" * 80
        )
        session = connect(where, database="shop😀")
        assert session.values(NAME) == [("shop😀",)]
        session.close()


def test_the_settings_say_where_and_how(tmp_path: Path) -> None:
    given = {
        **DEBEZIUM,
        "database.instance": "SQLEXPRESS",
        "driver.encrypt": "strict",
        "driver.trustServerCertificate": "true",
        "driver.hostNameInCertificate": "sql.example",
        "driver.serverCertificate": str(tmp_path / "ca.pem"),
        "driver.loginTimeout": "7",
        "driver.socketTimeout": "1500",
        "max.row.bytes": "2000",
    }
    del given["database.port"]
    (tmp_path / "ca.pem").write_text("PEM")
    read = reading(given)
    assert read.values is not None, read.problems
    where = ServerLogin.of_settings(read.values)
    assert (where.host, where.port, where.instance) == ("192.168.99.100", 1433, "SQLEXPRESS")
    assert (where.user, where.password.reveal()) == ("sa", "Password!")
    assert where.application == "wrackline fullfillment"
    assert (where.encrypt, where.trusts_any, where.name_in_certificate) == ("strict", True, "sql.example")
    assert where.authorities == str(tmp_path / "ca.pem")
    assert (where.login_s, where.silence_s) == (7, 1.5)
    assert where.most_row > 4000, "text is UTF-16 here"
    plain = reading(DEBEZIUM).values
    assert plain is not None
    assert ServerLogin.of_settings(plain).authorities is None, "the system's"


def test_azure_s_database_is_entered_by_the_login(model: ModelServer) -> None:
    model.edition = 5
    with SqlServerStandin(model) as server:
        session = connect(login(server.port), database="shop")
        assert session.values(NAME) == [("shop",)]
        session.close()
        assert not any("USE" in one for one in server.requests)


@pytest.mark.parametrize(
    ("state", "code", "kind"),
    [
        ("OFFLINE", "sqlserver.database_unready", Transient),
        ("", "sqlserver.database_missing", OperatorNeeded),
    ],
)
def test_a_database_that_can_t_be_entered_says_why(
    model: ModelServer, state: str, code: str, kind: type[WracklineError]
) -> None:
    model.databases["shop"].state = state or "ONLINE"
    with SqlServerStandin(model) as server:
        error = refused(login(server.port), database="shop" if state else "nothing")
    assert isinstance(error, kind)
    assert error.code == code


def test_a_database_that_opens_while_we_ask_why_it_did_not_is_entered(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.databases["shop"].state = "RECOVERING"
    judge = ModelServer.logs_in

    def opens(self: ModelServer, *given: str) -> bool:
        if given[-1] == "master":
            self.databases["shop"].state = "ONLINE"
        return judge(self, *given)

    monkeypatch.setattr(ModelServer, "logs_in", opens)
    with SqlServerStandin(model) as server:
        session = connect(login(server.port), database="shop")
        assert session.values(NAME) == [("shop",)]
        session.close()


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases that logins asked for."""
    asked: list[str] = []
    judge = ModelServer.logs_in
    monkeypatch.setattr(
        ModelServer,
        "logs_in",
        lambda *given: asked.append(given[-1]) or judge(*given),  # type: ignore[func-returns-value]
    )
    return asked


@pytest.mark.parametrize("contained", [False, True])
def test_a_wrong_password_is_tried_once(model: ModelServer, tries: list[str], *, contained: bool) -> None:
    """A server that counts failures locks the account after a few of them."""
    model.create_login(USER, "another", administrator=True)
    if contained:
        model.contained[USER] = "shop"
    with SqlServerStandin(model) as server, pytest.raises(OperatorNeeded) as caught:
        SqlServerConnector(read_settings(given_of(server.port, "shop")), "shop").connect()
    assert caught.value.code == "sqlserver.login_refused"
    assert "18456" in caught.value.sentence
    assert tries == ["shop"]


def test_a_user_that_exists_in_its_database_only_is_let_in_there(
    model: ModelServer, tries: list[str]
) -> None:
    """As most users of Azure SQL Database are made."""
    model.create_login(USER, "secret", administrator=True)
    model.contained[USER] = "shop"
    with SqlServerStandin(model) as server:
        connector = SqlServerConnector(read_settings(given_of(server.port, "shop")), "shop")
        for _ in range(2):
            session = connector.connect()
            assert session.values(NAME) == [("shop",)]
            session.close()
        assert tries == ["shop", "shop"]
        model.databases["shop"].state = "RESTORING"
        with pytest.raises(OperatorNeeded) as caught:
            SqlServerConnector(read_settings(given_of(server.port, "shop")), "shop").connect()
        assert caught.value.code == "sqlserver.database_missing", "nobody else can say more"


def test_who_only_reads_is_sent_to_the_secondary(model: ModelServer) -> None:
    with (
        SqlServerStandin(model) as secondary,
        SqlServerStandin(model, read_only_route=("127.0.0.1", secondary.port)) as primary,
    ):
        session = connect(login(primary.port), database="shop", intent_read_only=True)
        assert session.values(NAME) == [("shop",)]
        session.close()
        assert (len(primary.requests), len(secondary.requests)) == (0, 2)
        connect(login(primary.port), database="shop").close()
        assert len(primary.requests) == 1


def test_a_route_may_name_an_instance_behind_the_host(model: ModelServer) -> None:
    with (
        SqlServerStandin(model) as secondary,
        SqlServerStandin(model, read_only_route=("127.0.0.1\\SQL2", secondary.port)) as primary,
    ):
        connect(login(primary.port), database="shop", intent_read_only=True).close()
        assert len(secondary.requests) == 1


def test_servers_that_send_us_in_a_circle_are_left(model: ModelServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with SqlServerStandin(model, port=port, read_only_route=("127.0.0.1", port)) as server:
        error = refused(login(server.port), intent_read_only=True)
    assert "from server to server" in error.sentence


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = refused(login(port))
    assert error.code == "sqlserver.unreachable"
    assert "refused" in error.sentence
    assert f"sqlcmd -S tcp:127.0.0.1,{port} -U reader" in error.hint


@contextmanager
def false_server(answer: bytes) -> Iterator[int]:
    """A server that gives the same answer to whatever comes, and then waits."""
    with socket.create_server(("127.0.0.1", 0)) as made:

        def serve() -> None:
            client, _ = made.accept()
            with client, suppress(OSError):
                client.recv(4096)
                client.sendall(answer)
                while answer and client.recv(4096):
                    pass

        thread = Thread(target=serve)
        thread.start()
        yield made.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(20_000),
        b"\x04\x01\x00\x09\x00\x00\x01\x00\x00",
        b"\x04\x01\x00\x0e\x00\x00\x01\x00\x01\xff\xff\xff\xff\xff",
        b"\x05\x01\x00\x08\x00\x00\x01\x00",
    ],
)
@pytest.mark.parametrize("encrypt", ["true", "false", "strict"])
def test_what_is_not_sql_server_is_an_error_with_a_code(answer: bytes, encrypt: str) -> None:
    with false_server(answer) as port:
        error = refused(login(port, encrypt=encrypt, trusts_any=True, login_s=0.5))
    assert error.code in {"sqlserver.unreachable", "sqlserver.tls_refused"}


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refused(login(silent.getsockname()[1], login_s=0.2))
    assert error.code == "sqlserver.unreachable"
    assert "in time" in error.sentence


def test_a_named_instance_that_nobody_knows() -> None:
    error = refused(replace(login(1), instance="NOTHING", login_s=0.2))
    assert error.code in {"sqlserver.instance_unknown", "sqlserver.unreachable"}


def served(
    model: ModelServer, folder: Path, pair: Pair, encryption: Encryption = Encryption.ON
) -> SqlServerStandin:
    return SqlServerStandin(model, certificate=pair.write(folder, "server"), encryption=encryption)


@pytest.fixture
def authority() -> Pair:
    return issue("authority", authority=True)


@pytest.fixture
def ca(authority: Pair, tmp_path: Path) -> str:
    return authority.write(tmp_path, "ca")[0]


@pytest.mark.parametrize("said", list(Encryption))
def test_what_is_said_of_encryption_inside_tls_starts_no_other_tls(
    model: ModelServer,
    authority: Pair,
    ca: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: Encryption,
) -> None:
    """Microsoft's mock of a server says `on` there, and the driver would shake hands inside TLS for ever."""

    def answer(_: Encryption, version: tuple[int, int, int], *, federated: bool) -> bytes:
        return print_prelogin(said, version, federated=federated)

    monkeypatch.setattr("wrackline.control.local.sqlserver_standin.front.connection.print_prelogin", answer)
    pair = issue("sql", by=authority, hosts=("127.0.0.1",))
    with served(model, tmp_path, pair) as server:
        session = connect(login(server.port, encrypt="strict", authorities=ca, login_s=5.0), database="shop")
        assert session.values(NAME) == [("shop",)]
        session.close()


@pytest.mark.parametrize("encrypt", ["true", "strict"])
@pytest.mark.parametrize("encryption", [Encryption.ON, Encryption.REQUIRED])
def test_a_certificate_of_the_authority_is_accepted(
    model: ModelServer, authority: Pair, ca: str, tmp_path: Path, encrypt: str, encryption: Encryption
) -> None:
    pair = issue("sql", by=authority, hosts=("127.0.0.1",))
    with served(model, tmp_path, pair, encryption) as server:
        session = connect(login(server.port, encrypt=encrypt, authorities=ca), database="shop")
        assert isinstance(session._wire, TlsStream)
        assert session._packet_size == 16383
        text = "é" * 3000
        assert session.values(f"SELECT N'{text}' AS a") == [(text,)]
        stream = session.stream(f"SELECT N'{text}' AS a; SELECT N'{text}' AS b", 1)
        next(stream)
        stream.close()  # type: ignore[attr-defined] # a generator
        assert session.values(NAME) == [("shop",)]
        session.close()


@pytest.mark.parametrize("encrypt", ["true", "strict"])
@pytest.mark.parametrize(
    ("hosts", "by_us", "days", "words"),
    [
        (("127.0.0.2", "sql.example"), True, 30, "another name"),
        ((), True, 30, "another name"),
        (("127.0.0.1",), False, 30, "authority is not known"),
        (("127.0.0.1",), True, -1, "has expired"),
    ],
)
def test_another_certificate_is_refused_before_the_login(  # noqa: PLR0917
    model: ModelServer,
    authority: Pair,
    ca: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encrypt: str,
    hosts: tuple[str, ...],
    by_us: bool,  # noqa: FBT001
    days: int,
    words: str,
) -> None:
    by = authority if by_us else issue("another", authority=True)
    passwords: list[str] = []
    monkeypatch.setattr(ModelServer, "logs_in", lambda *given: passwords.append(given[-1]))
    with served(model, tmp_path, issue("127.0.0.1", by=by, hosts=hosts, days=days)) as server:
        error = refused(login(server.port, encrypt=encrypt, authorities=ca))
    assert error.code == "sqlserver.tls_refused"
    assert isinstance(error, OperatorNeeded)
    assert words in error.sentence
    assert "driver." in error.hint
    assert passwords == []


def test_the_name_in_the_certificate_may_be_another(
    model: ModelServer, authority: Pair, ca: str, tmp_path: Path
) -> None:
    with served(model, tmp_path, issue("x", by=authority, hosts=("sql.example",))) as server:
        where = login(server.port, encrypt="true", authorities=ca, name_in_certificate="sql.example")
        connect(where, database="shop").close()


@pytest.mark.parametrize("encrypt", ["true", "strict"])
def test_any_certificate_is_accepted_where_that_is_said(
    model: ModelServer, tmp_path: Path, encrypt: str
) -> None:
    with served(model, tmp_path, issue("nobody", days=-3)) as server:
        session = connect(login(server.port, encrypt=encrypt, trusts_any=True), database="shop")
        assert isinstance(session._wire, TlsStream)
        session.close()


@pytest.mark.parametrize(("encryption", "whole"), [(Encryption.OFF, False), (Encryption.REQUIRED, True)])
def test_without_encrypt_the_login_is_protected_where_it_can_be(
    model: ModelServer,
    tmp_path: Path,
    encryption: Encryption,
    whole: bool,  # noqa: FBT001
) -> None:
    with served(model, tmp_path, issue("nobody"), encryption) as server:
        session = connect(login(server.port), database="shop")
        assert isinstance(session._wire, TlsStream) is whole
        assert session._packet_size == (16383 if whole else 32767)
        assert session.values(NAME) == [("shop",)]
        session.close()


def test_a_server_without_tls_gets_no_password(model: ModelServer) -> None:
    with SqlServerStandin(model) as server:
        error = refused(login(server.port, encrypt="true", trusts_any=True))
    assert error.code == "sqlserver.tls_refused"
    assert "has no TLS" in error.sentence
    assert "driver.encrypt = false" in error.hint


@pytest.mark.parametrize("text", [None, "not PEM"])
def test_a_file_without_certificates_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    error = refused(login(1, encrypt="true", authorities=str(file)))
    assert error.code == "sqlserver.tls_file"
    assert str(file) in error.hint


@pytest.mark.parametrize(
    ("listed", "host", "same"),
    [
        ("sql.example", "sql.example", True),
        ("sql.example", "SQL.example.", True),
        ("sql.example", "nsql.example", False),
        ("DNS.example", "example", False),
        ("*.example.org", "sql.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "a.sql.example.org", False),
        ("*.org", "example.org", False),
        ("s*.example.org", "sql.example.org", False),
        ("sql.*.org", "sql.example.org", False),
        ("*.*.org", "sql.example.org", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("::1", "0:0:0:0:0:0:0:1", True),
        ("*.0.0.1", "10.0.0.1", False),
    ],
)
def test_a_certificate_names_a_host(listed: str, host: str, same: bool) -> None:  # noqa: FBT001
    assert names(issue(host, hosts=("other.example", listed)).certificate, host) is same


def test_the_common_name_is_no_name() -> None:
    assert not names(issue("sql.example").certificate, "sql.example")


@pytest.mark.parametrize("setting", ["database.user", "database.password"])
def test_a_login_that_is_longer_than_its_field_is_refused_by_its_setting(
    model: ModelServer, setting: str
) -> None:
    """A character beyond the BMP counts twice, as in LOGIN7."""
    for text, fits in (("n" * 128, True), ("n" * 129, False), ("😀" * 64, True), ("😀" * 65, False)):
        with SqlServerStandin(model) as server:
            where = login(server.port)
            is_user = setting == "database.user"
            where = replace(where, user=text) if is_user else replace(where, password=Secret(text))
            error = refused(where, database="shop")
        assert error.code == ("sqlserver.login_refused" if fits else "sqlserver.login_too_long")
        assert fits or error.sentence.startswith(f"{setting} is longer than the 128 characters")
        assert text not in str(error)


def test_a_host_s_name_may_be_longer_than_its_field(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial = socket.create_connection
    host = ".".join(["a" * 60] * 4)
    monkeypatch.setattr(socket, "create_connection", lambda to, *more: dial(("127.0.0.1", to[1]), *more))
    with SqlServerStandin(model) as server:
        session = connect(replace(login(server.port), host=host), database="shop")
        assert session.values(NAME) == [("shop",)]
        session.close()


def test_a_login_without_a_user_in_a_database_gets_the_statement_that_makes_one(model: ModelServer) -> None:
    model.create_login("reader", PASSWORD)
    model.administrators.clear()
    with SqlServerStandin(model) as server:
        error = refused(login(server.port), database="shop")
    assert error.code == "sqlserver.user_missing"
    assert "USE [shop]; CREATE USER [reader] FOR LOGIN [reader];" in error.hint
