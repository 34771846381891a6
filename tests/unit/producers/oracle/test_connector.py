"""How sessions are opened: parameters of the driver, containers, nodes, silence."""

import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.fixtures.certificates import issue
from wrackline.producers.sources.oracle.config import SETTINGS
from wrackline.producers.sources.oracle.connect import connector
from wrackline.producers.sources.oracle.connect.connector import OracleConnector, OracleNode
from wrackline.producers.sources.oracle.connect.quoting import identifier, literal, table_name
from wrackline.producers.sources.oracle.connect.session import FORMATS
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import TableId

GIVEN = {
    "name": "shop",
    "connector.class": "oracle",
    "kafka.bootstrap.servers": "broker:9092",
    "schema.registry.url": "http://registry:8081",
    "topic.prefix": "shop1",
    "database.hostname": "db.example",
    "database.user": "c##wrackline",
    "database.password": "geheim",
    "database.dbname": "orclcdb",
}


def settings(**more: str) -> Values:
    given = {**GIVEN, **{name.replace("__", "."): text for name, text in more.items()}}
    read = SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))
    assert read.values is not None, read.problems
    return read.values


class FakeError(Exception):
    """The driver's."""


class FakeCursor:
    arraysize = prefetchrows = rowcount = 0

    def __init__(self, ran: list[str]) -> None:
        self._ran = ran

    def execute(self, statement: str, parameters: dict[str, Any], *, fetch_lobs: bool) -> None:
        assert parameters == {}
        assert not fetch_lobs
        self._ran.append(statement)
        if "ABSENT" in statement:
            raise FakeError(statement)

    def var(self, typ: type, size: int, arraysize: int) -> object:
        raise NotImplementedError((typ, size, arraysize))

    def fetchmany(self, _size: int) -> Sequence[tuple[Any, ...]]:
        return ()

    def close(self) -> None:
        """Do nothing."""


class FakeConnection:
    call_timeout = 0
    outputtypehandler: Callable[[Any, Any], object] | None = None

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.closed = Event()

    def cursor(self) -> FakeCursor:
        return FakeCursor(self.ran)

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        self.closed.set()


class FakeDriver:
    Error: type[Exception] = FakeError

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.made: list[FakeConnection] = []
        self.waits = Event()
        self.waits.set()
        self.failure: Exception | None = None

    def connect(self, **parameters: Any) -> FakeConnection:
        self.asked.append(parameters)
        self.waits.wait(10)
        if self.failure is not None:
            raise self.failure
        self.made.append(FakeConnection())
        return self.made[-1]


@pytest.fixture
def driver() -> Iterator[FakeDriver]:
    made = FakeDriver()
    yield made
    made.waits.set()


def test_a_session_is_opened_with_the_names_of_the_driver(driver: FakeDriver) -> None:
    made = OracleConnector(settings(driver__oracle__jdbc__ReadTimeout="5000"), driver)
    made.connect()
    assert driver.asked == [
        {
            "host": "db.example",
            "port": 1521,
            "service_name": "orclcdb",
            "user": "c##wrackline",
            "password": "geheim",
            "tcp_connect_timeout": 30.0,
            "expire_time": 2,
            "program": "wrackline-shop1",
        }
    ]
    assert driver.made[0].call_timeout == 5000
    assert driver.made[0].ran == [FORMATS]
    assert (made.user, made.database) == ("c##wrackline", "ORCLCDB")


def test_python_oracledb_takes_these_parameters() -> None:
    oracledb = pytest.importorskip("oracledb")
    connector_of = OracleConnector(settings(database__ssl__mode="verify_ca"), FakeDriver())
    assert oracledb.AUTH_MODE_SYSDBA == 2
    params = oracledb.ConnectParams(**connector_of._parameters(OracleNode("h", 2484)), user="u", mode=2)
    assert (params.protocol, params.host, params.port, params.ssl_server_dn_match) == (
        "tcps",
        "h",
        2484,
        False,
    )
    assert (params.expire_time, params.tcp_connect_timeout) == (2, 30.0)


def test_a_pluggable_database_is_entered_from_the_root(driver: FakeDriver) -> None:
    made = OracleConnector(settings(database__pdb__name="shop"), driver)
    made.connect_root()
    made.connect()
    root, entered = driver.made
    assert root.ran == [FORMATS]
    assert entered.ran == [FORMATS, 'ALTER SESSION SET CONTAINER = "SHOP"', FORMATS]
    assert made.database == "SHOP"


def test_a_session_that_cannot_enter_is_closed(driver: FakeDriver) -> None:
    with pytest.raises(Transient):
        OracleConnector(settings(database__pdb__name="absent"), driver).connect()
    assert driver.made[0].closed.is_set()


def test_each_node_of_a_cluster_has_an_address(driver: FakeDriver) -> None:
    alone = OracleConnector(settings(), driver)
    assert alone.nodes == [OracleNode("db.example", 1521)]
    made = OracleConnector(settings(rac__nodes="n1,n2:1522,[fe80::1]:1523,n4/ORCL4"), driver)
    assert made.nodes == [
        OracleNode("n1", 1521),
        OracleNode("n2", 1522),
        OracleNode("fe80::1", 1523),
        OracleNode("n4", 1521),
    ]
    made.connect_node(made.nodes[1])
    assert (driver.asked[0]["host"], driver.asked[0]["port"]) == ("n2", 1522)


def test_an_administrator_logs_in_to_the_root(driver: FakeDriver) -> None:
    made = OracleConnector(settings(database__pdb__name="shop"), driver)
    made.connect_admin("sys", Secret("other"), port=1522)
    asked = driver.asked[0]
    assert (asked["user"], asked["password"], asked["host"], asked["port"], asked["mode"]) == (
        *("sys", "other", "db.example", 1522, 2),
    )
    assert driver.made[0].ran == [FORMATS]
    made.connect_admin("system", Secret("other"))
    assert "mode" not in driver.asked[1]


def test_a_log_in_that_takes_too_long_is_given_up(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.waits.clear()
    made = OracleConnector(settings(), driver)
    monkeypatch.setattr(made, "_login_s", 0.05)
    began = time.monotonic()
    with pytest.raises(Transient, match=r"oracle.unreachable"):
        made.connect()
    assert time.monotonic() - began < 5
    driver.waits.set()
    for _ in range(500):
        if driver.made:
            break
        time.sleep(0.01)
    assert driver.made[0].closed.wait(5)  # what came late is not left open


def test_an_error_shows_no_password(driver: FakeDriver) -> None:
    driver.failure = FakeError("no log-in with geheim")
    with pytest.raises(Transient) as caught:
        OracleConnector(settings(), driver).connect()
    assert "geheim" not in str(caught.value)
    assert "geheim" not in repr(vars(OracleConnector(settings(), driver)))


def test_without_the_driver_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "oracledb", None)
    with pytest.raises(OperatorNeeded, match=r"oracle.driver_missing") as caught:
        OracleConnector(settings()).connect()
    assert ".[oracle]" in caught.value.hint


def test_tls_trusts_the_authorities_that_are_named(driver: FakeDriver, tmp_path: Path) -> None:
    file, _key = issue("authority", authority=True).write(tmp_path, "ca")
    more = {
        "database__ssl__mode": "verify_identity",
        "database__ssl__ca": file,
        "database__ssl__server__dn": "CN=shop",
        "database__ssl__wallet": str(tmp_path),
        "database__ssl__wallet__password": "wallet-geheim",
    }
    OracleConnector(settings(**more), driver).connect()
    asked = driver.asked[0]
    assert (asked["protocol"], asked["ssl_server_dn_match"]) == ("tcps", True)
    assert asked["ssl_server_cert_dn"] == "CN=shop"
    assert (asked["wallet_location"], asked["wallet_password"]) == (str(tmp_path), "wallet-geheim")
    assert asked["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert len(asked["ssl_context"].get_ca_certs()) == 1


def test_authorities_that_cannot_be_read_need_an_operator(driver: FakeDriver, tmp_path: Path) -> None:
    more = {"database__ssl__mode": "verify_ca", "database__ssl__ca": str(tmp_path / "none.pem")}
    with pytest.raises(OperatorNeeded, match=r"oracle.certificate_refused"):
        OracleConnector(settings(**more), driver).connect()


def test_names_and_texts_are_quoted() -> None:
    assert table_name(TableId("ORCL", "SHOP", "Order lines")) == '"SHOP"."Order lines"'
    assert literal("O'Neil") == "'O''Neil'"
    for name in ("", 'a"b', "a\0b"):
        with pytest.raises(OperatorNeeded, match=r"oracle.name_unquotable"):
            identifier(name)


def test_the_module_is_imported_only_to_log_in() -> None:
    assert not hasattr(connector, "oracledb")


def test_the_real_driver_says_why_there_is_no_connection() -> None:
    pytest.importorskip("oracledb")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = str(closed.getsockname()[1])
        made = OracleConnector(settings(database__hostname="127.0.0.1", database__port=port))
        with pytest.raises(Transient, match=r"oracle.unreachable") as caught:
            made.connect()
    assert "refused" in caught.value.sentence


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the driver does not close the socket that failed
def test_a_server_that_says_nothing_is_given_up_with_the_real_driver() -> None:
    pytest.importorskip("oracledb")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = str(silent.getsockname()[1])
        more = {"driver__oracle__net__CONNECT_TIMEOUT": "1000"}
        made = OracleConnector(settings(database__hostname="127.0.0.1", database__port=port, **more))
        with pytest.raises(Transient, match=r"the log-in took longer than 2 s"):
            made.connect()
        silent.accept()[0].close()  # so that the log-in that was given up ends
        for thread in threading.enumerate():
            if thread.name == "log-in":
                thread.join(10)
    gc.collect()
