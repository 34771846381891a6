"""Logging in with a token, and as a user of a domain: what is sent where, and how each fault shows."""

import shlex
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytds
import pytds.login
import pytest

from tests.fixtures.certificates import issue
from tests.fixtures.sqlserver_world import SqlServerRegistry, given_of, read_settings
from tests.unit.producers.sqlserver.test_wire_login import NAME, login, refused
from wrackline.control.local.sqlserver_standin.front.identity import response_to
from wrackline.control.local.sqlserver_standin.front.listener import SqlServerStandin
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.sources.sqlserver import PLUGIN
from wrackline.producers.sources.sqlserver.session.server import SqlServerConnector
from wrackline.producers.sources.sqlserver.wire import access_token, driver
from wrackline.producers.sources.sqlserver.wire.access_token import MOST_CHARACTERS, read_token
from wrackline.producers.sources.sqlserver.wire.integrated_login import KERBEROS, NTLM
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.redaction import Redactor, Secret

TOKEN = "eyJ0eXAi.a-token_of-ours~0123456789"
OTHER = "eyJ0eXAi.another-token~9876543210"
APP, PASSWORD = "orders-app", "a-pässword-of-ours"


@pytest.fixture
def model() -> ModelServer:
    made = ModelServer()
    made.create_login(APP, "never sent", administrator=True)
    made.create_database("shop").enable_cdc()
    made.issue_token(TOKEN, APP)
    return made


@pytest.fixture
def ca(tmp_path: Path) -> str:
    """An authority's file; the server's certificate, which it signed, is beside it."""
    authority = issue("authority", authority=True)
    issue("sql", by=authority, hosts=("127.0.0.1", "localhost")).write(tmp_path, "server")
    return authority.write(tmp_path, "ca")[0]


@pytest.fixture
def server(model: ModelServer, ca: str) -> Iterator[SqlServerStandin]:
    folder = Path(ca).parent
    pair = (str(folder / "server.crt"), str(folder / "server.key"))
    with SqlServerStandin(model, certificate=pair) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "token of ours"
    made.write_text(f"{TOKEN}\n")
    return made


@pytest.fixture
def where(server: SqlServerStandin, ca: str, file: Path) -> ServerLogin:
    given = login(server.port, encrypt="true", authorities=ca, token_file=str(file))
    return replace(given, user=APP, password=Secret(""))


def without_token(error: WracklineError) -> WracklineError:
    """Hand an error on whose texts have neither token."""
    assert TOKEN not in str(error) + error.hint
    assert OTHER not in str(error) + error.hint
    return error


@pytest.mark.parametrize("encrypt", ["true", "strict"])
def test_a_token_s_user_enters_its_database_directly(
    where: ServerLogin, server: SqlServerStandin, encrypt: str
) -> None:
    session = connect(replace(where, encrypt=encrypt), database="shop")
    assert session.values("SELECT DB_NAME() AS name, SUSER_SNAME() AS user_name") == [("shop", APP)]
    session.close()
    assert not any(one.startswith("USE") for one in server.requests), "in master nobody may know it"


def test_the_driver_s_own_connect_sends_the_same_token(server: SqlServerStandin, ca: str) -> None:
    made = pytds.connect(
        "localhost",
        "shop",
        port=server.port,
        cafile=ca,
        validate_host=False,
        autocommit=True,
        access_token_callable=lambda: TOKEN,
    )
    cursor = made.cursor()
    cursor.execute("SELECT SUSER_SNAME() AS name")
    assert cursor.fetchall() == [(APP,)]
    made.close()
    with pytest.raises(pytds.OperationalError, match="token-identified principal"):
        pytds.connect(
            "localhost", port=server.port, cafile=ca, validate_host=False, access_token_callable=lambda: OTHER
        )


def test_the_longest_token_arrives(where: ServerLogin, model: ModelServer, file: Path) -> None:
    longest = "a" * MOST_CHARACTERS
    model.issue_token(longest, APP)
    file.write_text(longest)
    named = replace(where, application="w" * 128, user="u" * 128, host="localhost")
    connect(named, database="shop").close()


def test_the_file_is_read_at_each_login(where: ServerLogin, model: ModelServer, file: Path) -> None:
    connect(where, database="shop").close()
    model.advance(hours=2)
    error = without_token(refused(where, database="shop"))
    assert (error.code, type(error)) == ("sqlserver.token_expired", Transient)
    assert str(file) in error.sentence
    model.issue_token(OTHER, APP)
    file.write_text(OTHER)
    connect(where, database="shop").close()


def test_another_token_is_refused_by_its_file_s_name(where: ServerLogin, file: Path) -> None:
    file.write_text(OTHER)
    error = without_token(refused(where, database="shop"))
    assert (error.code, type(error)) == ("sqlserver.token_refused", OperatorNeeded)
    assert str(file) in error.sentence
    assert "18456" in error.sentence
    assert f"CREATE USER [{APP}] FROM EXTERNAL PROVIDER;" in error.hint


def test_a_server_that_repeats_the_token_is_not_quoted(
    where: ServerLogin, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeating = ServerError(4060, f"Cannot open database for {TOKEN}")

    def refuse(*_: object, **__: object) -> None:
        raise repeating

    monkeypatch.setattr("wrackline.control.local.sqlserver_standin.front.connection.user_of", refuse)
    error = without_token(refused(where, database="shop"))
    assert (error.code, "***" in error.sentence) == ("sqlserver.database_missing", True)


@pytest.mark.parametrize("more", [{"encrypt": "false"}, {"trusts_any": True}])
def test_a_token_only_goes_to_a_server_that_proved_its_name(
    where: ServerLogin, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(driver, "read_token", lambda _: pytest.fail("it was read"))
    monkeypatch.setattr("socket.create_connection", lambda *_: pytest.fail("a connection was opened"))
    error = refused(replace(where, **more))
    assert (error.code, type(error)) == ("sqlserver.token_unprotected", OperatorNeeded)
    assert "driver.encrypt = 'true'" in error.hint


def test_an_impostor_gets_no_token(where: ServerLogin, model: ModelServer, tmp_path: Path) -> None:
    folder = tmp_path / "impostor"
    folder.mkdir()
    pair = issue("sql", by=issue("another", authority=True), hosts=("127.0.0.1",)).write(folder, "server")
    tokens: list[object] = []
    model.tokens = type("Watched", (dict,), {"__contains__": lambda _, one: tokens.append(one)})()
    with SqlServerStandin(model, certificate=pair) as impostor:
        error = refused(replace(where, port=impostor.port))
    assert (error.code, tokens) == ("sqlserver.tls_refused", [])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        ("", "empty"),
        (" \n", "empty"),
        (f'{{"accessToken": "{TOKEN}"}}', "quotes or blanks"),
        (f"{TOKEN} {OTHER}", "quotes or blanks"),
        (f"\ufeff{TOKEN}", "quotes or blanks"),
        ("a" * (MOST_CHARACTERS + 1), f"more than {MOST_CHARACTERS}"),
    ],
)
def test_a_file_without_a_token_is_named(file: Path, content: str | None, reason: str) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(OperatorNeeded) as caught:
        read_token(str(file))
    error = without_token(caught.value)
    assert error.code == "sqlserver.token_unusable"
    assert reason in error.sentence
    assert shlex.split(error.hint)[-3:] == ["mv", f"{file}.new", str(file)]
    frame = caught.value.__traceback__
    while frame is not None and frame.tb_frame.f_globals is vars(access_token):
        assert TOKEN not in repr(frame.tb_frame.f_locals)
        frame = frame.tb_next


def test_a_server_that_wants_a_new_token_gets_it_on_a_new_connection(
    where: ServerLogin, model: ModelServer
) -> None:
    """A server may look at a token again in mid session (dotnet/SqlClient issue 3245)."""
    session = connect(where, database="shop")
    text = "Login failed for user '<token-identified principal>'. Token is expired."
    model.plan("DB_NAME", ServerError(18456, text, severity=14, state=233))
    with pytest.raises(Transient, match="new login") as first:
        session.values(NAME)
    assert first.value.code == "sqlserver.server_lost"
    with pytest.raises(Transient, match="has ended"):
        session.values(NAME)


@pytest.mark.parametrize(
    ("content", "hours", "expected"),
    [
        (TOKEN, 0, None),
        (OTHER, 0, "sqlserver.token_refused"),
        (TOKEN, 2, "sqlserver.token_expired"),
        ("", 0, "sqlserver.token_unusable"),
    ],
)
def test_a_check_names_each_fault_of_a_token(
    server: SqlServerStandin,
    model: ModelServer,
    ca: str,
    file: Path,
    content: str,
    hours: int,
    expected: str | None,
) -> None:
    file.write_text(content)
    model.advance(hours=hours)
    given = given_of(server.port, "shop") | {
        "database.user": APP,
        "driver.accessTokenFile": str(file),
        "driver.encrypt": "true",
        "driver.serverCertificate": ca,
    }
    del given["database.password"]
    around = Surroundings(lambda: 0.0, lambda: 0, SqlServerRegistry().register, 6_000)
    source = PLUGIN.open(read_settings(given), around)
    [partition] = source.partitions()
    found = {one.id: one for one in source.check(partition, ())}
    source.close()
    assert not any(TOKEN in repr(one) or OTHER in repr(one) for one in found.values())
    assert {one for one in found if "token" in one} == ({expected} if expected else set())
    if expected is not None:
        assert found[expected].connects
        assert str(file) in found[expected].description


class FakeSpnego(types.ModuleType):
    """Stands for pyspnego: the calls that python-tds makes, and nothing else."""

    def __init__(self, fails: Exception | None = None) -> None:
        super().__init__("spnego")
        self.fails = fails
        self.asked: dict[str, Any] = {}

    def client(self, **asked: Any) -> "FakeExchange":
        if self.fails is not None:
            raise self.fails
        self.asked = asked
        return FakeExchange(asked["username"], asked["password"] or PASSWORD)


class FakeExchange:
    """The client's side of the stand-in's exchange."""

    def __init__(self, user: str, password: str) -> None:
        self.user, self.password = user, password

    def step(self, message: bytes | None = None) -> bytes | None:
        return self.user.encode() if message is None else response_to(message, self.password)


Install = Callable[[FakeSpnego], FakeSpnego]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    def installed(made: FakeSpnego) -> FakeSpnego:
        monkeypatch.setitem(sys.modules, "spnego", made)
        return made

    return installed


def test_the_fake_exchange_passes_the_driver_s_own_class(install: Install) -> None:
    install(FakeSpnego())
    exchange = pytds.login.SpnegoAuth(username=APP, password=PASSWORD)
    assert exchange.create_packet() == APP.encode()
    assert exchange.handle_next(b"challenge") == response_to(b"challenge", PASSWORD)


def of_domain(where: ServerLogin, scheme: str, **more: Any) -> ServerLogin:
    given = {"domain": "CORP", "password": Secret(PASSWORD), **more}
    made = replace(where, token_file=None, user="reader@CORP.EXAMPLE", scheme=scheme, **given)
    assert made.account == "CORP\\reader", "as SQL Server knows it"
    return made


@pytest.mark.parametrize(
    ("scheme", "user", "password", "protocol"),
    [
        (NTLM, "CORP\\reader", PASSWORD, "ntlm"),
        (KERBEROS, "reader@CORP.EXAMPLE", PASSWORD, "kerberos"),
        (KERBEROS, "reader@CORP.EXAMPLE", "", "kerberos"),
    ],
)
@pytest.mark.parametrize("encrypt", ["true", "strict", "false"])
def test_a_user_of_a_domain_logs_in(  # noqa: PLR0917
    where: ServerLogin,
    model: ModelServer,
    install: Install,
    scheme: str,
    user: str,
    password: str,
    protocol: str,
    encrypt: str,
) -> None:
    model.create_login(user, PASSWORD, administrator=True)
    spnego = install(FakeSpnego())
    made = of_domain(where, scheme, password=Secret(password), encrypt=encrypt)
    session = connect(made, database="shop")
    assert session.values("SELECT SUSER_SNAME() AS name") == [(user,)]
    session.close()
    assert spnego.asked == {
        "username": user,
        "password": password or None,  # a ticket's
        "hostname": f"127.0.0.1:{where.port}",
        "service": "MSSQLSvc",
        "protocol": protocol,
    }


def test_a_user_of_a_domain_with_another_password_is_refused(
    where: ServerLogin, model: ModelServer, install: Install
) -> None:
    model.create_login("CORP\\reader", "another")
    install(FakeSpnego())
    error = refused(of_domain(where, NTLM))
    assert error.code == "sqlserver.login_refused"
    assert "driver.domain" in error.hint


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The accounts of a domain, as the acceptor of pyspnego reads them."""
    pytest.importorskip("spnego", reason="pyspnego is not installed: pip install -e '.[sqlserver-ntlm]'")
    made = tmp_path / "accounts"
    made.write_text(f"CORP:reader:{PASSWORD}\nCORP:stranger:{PASSWORD}\n")
    monkeypatch.setenv("NTLM_USER_FILE", str(made))
    return made


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize("encrypt", ["true", "strict", "false"])
def test_ntlm_itself_lets_a_user_of_a_domain_in(where: ServerLogin, model: ModelServer, encrypt: str) -> None:
    model.create_login("CORP\\reader", "not this one", administrator=True)
    session = connect(of_domain(where, NTLM, encrypt=encrypt), database="shop")
    assert session.values("SELECT SUSER_SNAME() AS name") == [("CORP\\reader",)]
    session.close()


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(
    ("user", "more"),
    [
        ("reader@CORP.EXAMPLE", {"password": Secret("another")}),
        ("reader@CORP.EXAMPLE", {"domain": "ELSEWHERE"}),
        ("nobody@CORP.EXAMPLE", {}),
        ("stranger@CORP.EXAMPLE", {}),
    ],
    ids=["another password", "another domain", "no account", "an account without a login here"],
)
def test_ntlm_itself_keeps_others_out(
    where: ServerLogin, model: ModelServer, user: str, more: dict[str, Any]
) -> None:
    model.create_login("CORP\\reader", "not this one", administrator=True)
    error = refused(replace(of_domain(where, NTLM), user=user, **more))
    assert (error.code, type(error)) == ("sqlserver.login_refused", OperatorNeeded)
    assert "driver.domain" in error.hint


@pytest.mark.parametrize(("scheme", "extra"), [(NTLM, "sqlserver-ntlm"), (KERBEROS, "sqlserver-kerberos")])
def test_a_package_that_is_not_installed_is_named_by_its_extra(
    where: ServerLogin, monkeypatch: pytest.MonkeyPatch, install: Install, scheme: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, "spnego", None)  # as if nothing of this name were there
    error = refused(of_domain(where, scheme))
    assert (error.code, type(error)) == ("sqlserver.integrated_missing", OperatorNeeded)
    assert f"'.[{extra}]'" in error.hint
    install(FakeSpnego(ImportError("GSSAPIProxy requires the Python gssapi library")))
    assert refused(of_domain(where, scheme)).code == "sqlserver.integrated_missing"


@pytest.mark.parametrize(("scheme", "fix"), [(NTLM, "database.password"), (KERBEROS, "kinit reader@CORP")])
def test_an_exchange_that_can_t_begin_says_why(
    where: ServerLogin, install: Install, scheme: str, fix: str
) -> None:
    install(FakeSpnego(RuntimeError(f"No credentials for {PASSWORD}\n were found")))
    made = of_domain(where, scheme, redactor=Redactor((Secret(PASSWORD),)))
    error = refused(made)
    assert (error.code, type(error)) == ("sqlserver.integrated_failed", OperatorNeeded)
    assert error.sentence.endswith("No credentials for *** were found")
    assert fix in error.hint


def test_a_fix_is_run_as_the_administrator_and_not_with_the_pipeline_s_own_identity(
    server: SqlServerStandin, model: ModelServer, ca: str, file: Path
) -> None:
    model.create_login("boss", "p", administrator=True)
    plain = given_of(server.port, "shop") | {"driver.encrypt": "true", "driver.serverCertificate": ca}
    domain = {"driver.integratedSecurity": "true", "driver.domain": "CORP"}
    for given in ({"driver.accessTokenFile": str(file)}, domain):
        settings = {**plain, **given}
        if "driver.accessTokenFile" in given:
            del settings["database.password"]
        connector = SqlServerConnector(read_settings(settings), "shop")
        session = connector.connect_as("boss", Secret("p"), None, None)
        assert session.values("SELECT SUSER_SNAME() AS name") == [("boss",)]
        session.close()
