"""What lies on the machine for database drivers changes no connection of ours: variables, files, wishes."""

from collections.abc import Callable
from pathlib import Path
from socket import socket

import pytest

from tests.fixtures.false_servers import (
    CANARY,
    false_server,
    greeting,
    mysql_packet,
    of_mysql,
    of_postgres,
    postgres_over_tls,
    reach,
    settings,
)
from wrackline.consumers.targets.postgres.connect import PgTargetServer as Target
from wrackline.producers.sources.mysql.connect.connect import MySqlServer as MySql
from wrackline.producers.sources.postgres.connect.connect import PgServer as Postgres
from wrackline.schemas.errors import WracklineError

LIBPQ = {
    "PGAPPNAME": "theirs",
    "PGCHANNELBINDING": "require",
    "PGCLIENTENCODING": "LATIN1",
    "PGDATABASE": "theirs",
    "PGDATESTYLE": "German",
    "PGGEQO": "off",
    "PGHOST": "192.0.2.1",
    "PGHOSTADDR": "192.0.2.1",
    "PGMAXPROTOCOLVERSION": "3.2",
    "PGMINPROTOCOLVERSION": "3.2",
    "PGOPTIONS": "-c datestyle=German",
    "PGPASSWORD": "theirs",
    "PGPORT": "1",
    "PGREQUIREAUTH": "none",
    "PGSSLCERTMODE": "require",
    "PGSSLMODE": "verify-full",
    "PGSSLNEGOTIATION": "direct",
    "PGTARGETSESSIONATTRS": "standby",
    "PGTZ": "Europe/Berlin",
    "PGUSER": "theirs",
}
MYSQL = {
    "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN": "1",
    "MYSQL_HOST": "192.0.2.1",
    "MYSQL_PWD": "theirs",
    "MYSQL_TCP_PORT": "1",
    "MYSQL_UNIX_PORT": "/nowhere",
}


def a_home(folder: Path) -> None:
    """Files of a home folder that libpq and MySQL's programs read by themselves."""
    (folder / ".pgpass").write_text("*:*:*:*:theirs\n")
    (folder / ".pgpass").chmod(0o600)
    (folder / ".pg_service.conf").write_text("[theirs]\nhostaddr=192.0.2.1\nsslmode=verify-full\n")
    (folder / ".my.cnf").write_text("[client]\nhost=192.0.2.1\npassword=theirs\n")
    (folder / ".postgresql").mkdir()
    for name in ("postgresql.crt", "postgresql.key", "root.crt", "root.crl"):
        (folder / ".postgresql" / name).write_text("theirs\n")
    (folder / ".postgresql" / "postgresql.key").chmod(0o600)


def said_to_postgres(prefix: str, talk: Callable[[socket], bytes], *, sslmode: str, password: bool) -> bytes:
    """Return all that a server hears that asks for the password itself."""
    with false_server(talk) as (port, heard):
        given = reach(prefix, port, dbname="d", sslmode=sslmode, **{"password.clear.allowed": "true"})
        if not password:
            del given[f"{prefix}.password"]
        if prefix == "target":
            given |= {"target.kind": "postgres", **reach("database", 1, dbname="d")}
        made = (Target if prefix == "target" else Postgres)(settings("postgres", given))
        with pytest.raises(WracklineError):
            made.connect()
    return heard[0]


@pytest.mark.parametrize("prefix", ["database", "target"])
@pytest.mark.parametrize("service", [{}, {"PGSERVICE": "theirs"}, {"PGSERVICE": "nobody"}])
def test_libpqs_variables_and_files_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, service: dict[str, str]
) -> None:
    """A-DRIVER-04."""

    def said() -> list[bytes]:
        plain = [
            said_to_postgres(prefix, of_postgres, sslmode="disable", password=one) for one in (True, False)
        ]
        over_tls = postgres_over_tls(tmp_path)
        return [*plain, said_to_postgres(prefix, over_tls, sslmode="prefer", password=True)]

    alone = said()
    assert [CANARY.encode() in one for one in alone] == [True, False, True]
    a_home(tmp_path)
    for name, text in {**LIBPQ, **service, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / ".pg_service.conf"))
    assert said() == alone


def said_to_mysql() -> bytes:
    with false_server(of_mysql(b"mysql_native_password")) as (port, heard), pytest.raises(WracklineError):
        MySql(settings("mysql", reach("database", port, **{"ssl.mode": "disabled"}))).connect()
    return heard[0]


def test_mysqls_variables_and_files_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A-DRIVER-04."""
    alone = said_to_mysql()
    a_home(tmp_path)
    for name, text in {**MYSQL, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, text)
    assert said_to_mysql() == alone


def asks_for(file: Path) -> Callable[[socket], bytes]:
    """Let everybody in, then answer each statement with a request for a file of the client's machine."""

    def talk(wire: socket) -> bytes:
        wire.sendall(greeting(b"mysql_native_password"))
        said = wire.recv(4096)
        wire.sendall(mysql_packet(said[3] + 1, b"\0\0\0\2\0\0\0"))
        heard = b""
        while asked := wire.recv(4096):
            heard += asked
            wire.sendall(mysql_packet(1, b"\xfb" + str(file).encode()))
        return heard

    return talk


def test_a_false_mysql_that_requests_a_file_gets_none(tmp_path: Path) -> None:
    """A-DRIVER-07."""
    file = tmp_path / "secret"
    file.write_text(f"{CANARY}-of-a-file")
    with false_server(asks_for(file)) as (port, heard):
        server = MySql(settings("mysql", reach("database", port, **{"ssl.mode": "disabled"})))
        with pytest.raises(WracklineError) as refused:
            server.connect().query("SELECT 1")
    assert heard[0][4:5] == b"\3", "a statement was sent"
    assert f"{CANARY}-of-a-file".encode() not in heard[0]
    assert str(file) not in str(refused.value)
