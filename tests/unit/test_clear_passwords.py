"""A false server without TLS that asks for the password in clear gets none; the error says what to do.

Over TLS with any certificate MySQL's own ways of logging in send it; what is written for users says so.
"""

import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.fixtures.certificates import issue
from tests.unit.test_house import ROOT
from wrackline.consumers.targets.postgres.connect import Server as Target
from wrackline.control.explain import all_settings
from wrackline.control.installed import Installed
from wrackline.producers.sources.mysql.connect import Server as MySql
from wrackline.producers.sources.mysql.refusals import IN_CLEAR
from wrackline.producers.sources.postgres.connect import Server as Postgres
from wrackline.schemas import pipeline
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.secret_refs import Allowed, Resolver
from wrackline.schemas.settings import Values

CANARY = "c4n4ry-hunter2"
COMMON = {
    "name": "x",
    "topic.prefix": "x",
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "schema.registry.url": "http://127.0.0.1:1",
}


def settings(kind: str, given: dict[str, str]) -> Values:
    return pipeline.check(
        {**COMMON, "connector.class": kind, **given}, Installed(), Resolver(Allowed(), {})
    ).good()


def reach(prefix: str, port: int, **more: str) -> dict[str, str]:
    given = {"hostname": "127.0.0.1", "port": str(port), "user": "cdc", "password": CANARY, **more}
    return {f"{prefix}.{name}": value for name, value in given.items()}


def mysql_packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


def greeting(method: bytes, more: int = 0) -> bytes:
    """What a MySQL says first."""
    able = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000 | 0x200000 | more
    begun = b"\x0a8.0.99\0\x01\0\0\0" + b"12345678\0" + struct.pack("<HBHH", able & 0xFFFF, 45, 2, able >> 16)
    return mysql_packet(0, begun + b"\x15" + bytes(10) + b"123456789012\0" + method + b"\0")


def of_mysql(method: bytes) -> Callable[[socket.socket], bytes]:
    """Greet without TLS, then switch to this way of logging in; return what the client sends."""

    def talk(wire: socket.socket) -> bytes:
        wire.sendall(greeting(b"caching_sha2_password"))
        said = wire.recv(4096)
        wire.sendall(mysql_packet(said[3] + 1, b"\xfe" + method + b"\0" + b"1" * 20 + b"\0"))
        return said + wire.recv(4096)

    return talk


def over_tls(method: bytes, folder: Path) -> Callable[[socket.socket], bytes]:
    """Greet with TLS and a certificate of nobody, and ask for the password itself; return what comes."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*issue("nobody", hosts=("127.0.0.1",)).write(folder, "nobody"))

    def talk(wire: socket.socket) -> bytes:
        wire.sendall(greeting(method, 0x800))
        wire.recv(36)
        try:
            with context.wrap_socket(wire, server_side=True) as inner:
                said = inner.recv(4096)
                inner.sendall(mysql_packet(said[3] + 1, b"\x01\x04"))
                return said + inner.recv(4096)
        except OSError:  # it has seen the certificate
            return b""

    return talk


def of_postgres(wire: socket.socket) -> bytes:
    """Ask for a cleartext password at once; return what the client sends."""
    said = wire.recv(4096)
    if struct.unpack(">I", said[4:8]) == (80877103,):  # SSLRequest
        wire.sendall(b"N")
        said = wire.recv(4096)
    wire.sendall(b"R" + struct.pack(">II", 8, 3))
    return said + wire.recv(4096)


@contextmanager
def false_server(talk: Callable[[socket.socket], bytes]) -> Iterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            wire, _ = listener.accept()
            with wire:
                heard.append(talk(wire))

        listener.settimeout(10)
        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], heard
        thread.join()


def refused(connect: Callable[[], object]) -> WracklineError:
    with pytest.raises(OperatorNeeded) as caught:
        connect()
    assert CANARY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
@pytest.mark.parametrize("method", [b"mysql_clear_password", b"mysql_old_password", b"dialog"])
def test_a_false_mysql_gets_no_password(method: bytes, mode: str) -> None:
    with false_server(of_mysql(method)) as (port, heard):
        server = MySql(settings("mysql", reach("database", port, **{"ssl.mode": mode})))
        assert refused(server.connect).code == "mysql.password_in_clear"
    assert CANARY.encode() not in heard[0]


def test_mysql_gets_it_where_a_setting_allows_that() -> None:
    with false_server(of_mysql(b"mysql_clear_password")) as (port, heard):
        more = {"ssl.mode": "disabled", "password.clear.allowed": "true"}
        with pytest.raises(WracklineError):
            MySql(settings("mysql", reach("database", port, **more))).connect()
    assert CANARY.encode() in heard[0]


@pytest.mark.parametrize("method", [b"caching_sha2_password", b"sha256_password"])
@pytest.mark.parametrize(
    ("mode", "gets"),
    [("verify_identity", False), ("verify_ca", False), ("required", True), ("preferred", True)],
)
def test_a_false_mysql_with_tls_gets_it_where_any_certificate_is_taken(
    tmp_path: Path, method: bytes, mode: str, *, gets: bool
) -> None:
    with false_server(over_tls(method, tmp_path)) as (port, heard):
        server = MySql(settings("mysql", reach("database", port, **{"ssl.mode": mode})))
        with pytest.raises(WracklineError):
            server.connect()
    assert (CANARY.encode() + b"\0" in heard[0]) is gets


def test_where_any_certificate_is_taken_is_said() -> None:
    texts = [
        one.doc for one in all_settings() if one.name == "database.ssl.mode" and "required" in one.recommended
    ]
    for text in (*texts, IN_CLEAR.hint, (ROOT / "docs/mysql.md").read_text()):
        said = ("required", "preferred", "any certificate", "caching_sha2_password", "sha256_password")
        assert all(word in text for word in said)
    assert len(texts) == 2


@pytest.mark.parametrize("mode", ["disable", "prefer"])
def test_a_false_postgresql_gets_no_password(mode: str) -> None:
    with false_server(of_postgres) as (port, heard):
        server = Postgres(settings("postgres", reach("database", port, dbname="d", sslmode=mode)))
        error = refused(server.connect)
    assert error.code == "pg.login_refused"
    assert "verify-full" in error.hint
    assert CANARY.encode() not in heard[0]


def test_postgresql_gets_it_where_a_setting_allows_that() -> None:
    with false_server(of_postgres) as (port, heard):
        more = {"dbname": "d", "sslmode": "disable", "password.clear.allowed": "true"}
        with pytest.raises(WracklineError):
            Postgres(settings("postgres", reach("database", port, **more))).connect()
    assert CANARY.encode() in heard[0]


def test_a_false_target_gets_no_password() -> None:
    with false_server(of_postgres) as (port, heard):
        given = {"target.kind": "postgres", **reach("target", port, dbname="d", sslmode="disable")}
        source = reach("database", port, dbname="d")
        assert refused(Target(settings("postgres", {**source, **given})).connect).code == (
            "pg_target.password_in_clear"
        )
    assert CANARY.encode() not in heard[0]
