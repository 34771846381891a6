"""Protected connections to a real server: what is let in, what is refused, and that no secret is shown."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.certificates import Pair, issue
from tests.integration.postgres.majors import MAJORS, major_of
from tests.integration.postgres.world import settings_of
from wrackline.control.local.stack.postgres import postgres as make_server
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.producers.sources.postgres.check.check import check
from wrackline.producers.sources.postgres.config import SETTINGS
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.schemas.errors import OperatorNeeded, WracklineError

CANARY = "c4n4ry'hunter2 \\x"
HBA = """
host    all postgres  127.0.0.1/32 trust
hostssl all by_cert   127.0.0.1/32 cert
hostssl all by_scram  127.0.0.1/32 scram-sha-256
"""


@dataclass
class Guarded:
    """A server that lets nobody in without TLS but the superuser, and the files to get in with."""

    server: PostgresServer
    folder: Path
    authority: Pair

    def settings(self, user: str, **more: str) -> dict[str, str]:
        return {
            "database.user": user,
            "database.sslmode": "verify-full",
            "database.sslrootcert": str(self.folder / "ca.crt"),
            **{f"database.{name}": value for name, value in more.items()},
        }

    def connect(self, user: str, **more: str) -> None:
        """Open both kinds of connection; both must be protected."""
        server = PgServer(settings_of(self.server.dsn, **self.settings(user, **more)))
        with server.connect() as connection:
            protected = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            assert protected.fetchone() == (True,)
        stream = server.replicate()
        assert stream.ssl_in_use
        stream.finish()

    def refused(self, user: str, **more: str) -> WracklineError:
        """Return why both kinds of connection are refused, having looked for the secret in it."""
        server = PgServer(settings_of(self.server.dsn, **self.settings(user, **more)))
        with pytest.raises(WracklineError) as ordinary:
            server.connect()
        with pytest.raises(WracklineError) as replication:
            server.replicate()
        assert ordinary.value.code == replication.value.code
        assert "hunter2" not in repr(server)
        for error in (ordinary.value, replication.value):
            assert error.__context__ is error.__cause__ is None  # the driver's frames know the password
            ours = traceback.walk_tb(error.__traceback__.tb_next if error.__traceback__ else None)
            frames = traceback.StackSummary.extract(ours, capture_locals=True).format()
            assert any("connect.py" in frame for frame in frames)
            assert "hunter2" not in "".join([repr(error), str(error), *frames])
        return ordinary.value

    def present(self, pair: Pair) -> None:
        """Let the server show another certificate from now on."""
        pair.write(self.folder, "server")
        with psycopg.connect(self.server.dsn, autocommit=True) as admin:
            admin.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="module", params=MAJORS)
def guarded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Guarded]:
    """A server with TLS, for this module."""
    folder = tmp_path_factory.mktemp("tls")
    authority = issue("test authority", authority=True)
    authority.write(folder, "ca")
    certificate, key = issue("db", by=authority, hosts=("127.0.0.1",)).write(folder, "server")
    issue("by_cert", by=authority).write(folder, "client")
    issue("by_cert", by=authority).write(folder, "locked", password="hunter2-key")
    issue("somebody", by=authority).write(folder, "other")
    issue("another authority", authority=True).write(folder, "wrong_ca")
    hba = folder / "pg_hba.conf"
    hba.write_text(HBA)
    tls = {
        "ssl": "on",
        "ssl_cert_file": certificate,
        "ssl_key_file": key,
        "ssl_ca_file": str(folder / "ca.crt"),
        "hba_file": str(hba),
    }
    server = make_server(folder / "pg", major_of(request), settings=tls)
    server.process.start()
    made = Guarded(server, folder, authority)
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("CREATE ROLE by_cert LOGIN REPLICATION")
        literal = sql.Literal(CANARY)
        admin.execute(sql.SQL("CREATE ROLE by_scram LOGIN REPLICATION PASSWORD {}").format(literal))
    yield made
    server.process.stop()


@pytest.fixture
def presented(guarded: Guarded) -> Iterator[Guarded]:
    """The same server, which shows its good certificate again after the test."""
    yield guarded
    guarded.present(issue("db", by=guarded.authority, hosts=("127.0.0.1",)))


def client(guarded: Guarded, name: str) -> dict[str, str]:
    return {"sslcert": str(guarded.folder / f"{name}.crt"), "sslkey": str(guarded.folder / f"{name}.key")}


def test_full_verification_is_the_default() -> None:
    """A-TLS-01."""
    [setting] = [one for one in SETTINGS.settings if one.name == "database.sslmode"]
    assert setting.default == "verify-full"


def test_the_right_authority_and_password_are_accepted(guarded: Guarded) -> None:
    guarded.connect("by_scram", password=CANARY)


def test_a_client_certificate_is_accepted(guarded: Guarded) -> None:
    guarded.connect("by_cert", **client(guarded, "client"))
    guarded.connect("by_cert", **client(guarded, "locked"), sslpassword="hunter2-key")


@pytest.mark.parametrize(
    ("more", "fix"),
    [
        ({"sslrootcert": "wrong_ca.crt"}, "database.sslrootcert"),
        ({"sslrootcert": "missing.crt"}, "database.sslrootcert"),
        ({"hostname": "localhost"}, "database.hostname"),
        ({"sslmode": "disable"}, "database.sslmode"),
    ],
)
def test_what_is_not_verified_is_refused(guarded: Guarded, more: dict[str, str], fix: str) -> None:
    if "sslrootcert" in more:
        more = {"sslrootcert": str(guarded.folder / more["sslrootcert"])}
    refused = guarded.refused("by_scram", password=CANARY, **more)
    assert (refused.code, type(refused)) == ("pg.tls_refused", OperatorNeeded)
    assert fix in refused.hint
    assert "openssl s_client -starttls postgres" in refused.hint


@pytest.mark.parametrize("shown", ["expired", "self-signed", "another host's"])
def test_a_server_that_shows_a_wrong_certificate_is_refused(presented: Guarded, shown: str) -> None:
    """A-TLS-03."""
    match shown:
        case "expired":
            pair = issue("db", by=presented.authority, hosts=("127.0.0.1",), days=-1)
        case "self-signed":
            pair = issue("db", hosts=("127.0.0.1",))
        case _:
            pair = issue("db", by=presented.authority, hosts=("db.example", "192.0.2.1"))
    presented.present(pair)
    refused = presented.refused("by_scram", password=CANARY)
    assert (refused.code, type(refused)) == ("pg.tls_refused", OperatorNeeded)


def test_a_server_without_tls_is_refused(guarded: Guarded, postgres: PostgresServer) -> None:
    """A-TLS-04."""
    settings = settings_of(postgres.dsn, **guarded.settings("postgres", password=CANARY))
    with pytest.raises(OperatorNeeded, match=r"pg\.tls_refused.*does not support SSL") as caught:
        PgServer(settings).connect()
    assert "hunter2" not in str(caught.value)


def test_a_wrong_password_is_refused_and_shown_nowhere(guarded: Guarded) -> None:
    """A-SECRET-15."""
    refused = guarded.refused("by_scram", password=f"{CANARY}-wrong")
    assert (refused.code, type(refused)) == ("pg.login_refused", OperatorNeeded)
    assert "database.password" in refused.hint
    assert guarded.refused("by_scram").code == "pg.login_refused"  # none at all


@pytest.mark.parametrize(("name", "code"), [(None, "pg.tls_refused"), ("other", "pg.login_refused")])
def test_a_missing_or_foreign_client_certificate_is_refused(
    guarded: Guarded, name: str | None, code: str
) -> None:
    """A-TLS-05."""
    refused = guarded.refused("by_cert", **({} if name is None else client(guarded, name)))
    assert (refused.code, type(refused)) == (code, OperatorNeeded)
    assert "database.sslcert" in refused.hint


def test_a_key_that_does_not_open_is_refused(guarded: Guarded) -> None:
    refused = guarded.refused("by_cert", **client(guarded, "locked"), sslpassword="hunter2-wrong")
    assert (refused.code, type(refused)) == ("pg.tls_refused", OperatorNeeded)


def test_a_refusal_is_a_finding_without_the_secret(guarded: Guarded) -> None:
    settings = settings_of(guarded.server.dsn, **guarded.settings("by_scram", password=f"{CANARY}-wrong"))
    [finding] = check(PgServer(settings), settings, [])
    assert finding.id == "pg.login_refused"
    assert "hunter2" not in repr(finding)
