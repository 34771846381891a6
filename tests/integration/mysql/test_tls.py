"""Protected connections to real servers: what is let in, what is refused, and that no secret is shown."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.fixtures.certificates import Pair, issue
from tests.fixtures.tiers import alternatives
from tests.integration.mysql.world import FLAVOURS, run, settings_of
from wrackline.control.local.processes.account import give
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.sources.mysql.check.check import check
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.schemas.errors import OperatorNeeded, WracklineError

pytestmark = pytest.mark.servers

CANARY = "c4n4ry'hunter2 \\x é€"
EDITIONS = {"mariadb": mariadb.pinned_edition, "mysql": mysql.pinned_mysql}
METHOD = {"mariadb": "", "mysql": "WITH caching_sha2_password "}
RELOAD = {"mariadb": "FLUSH SSL", "mysql": "ALTER INSTANCE RELOAD TLS"}


@dataclass
class Guarded:
    """A server with a certificate, and the files to get in with."""

    flavour: str
    server: MysqlServer
    folder: Path
    authority: Pair

    def settings(self, user: str, mode: str = "verify_identity", **more: str) -> dict[str, str]:
        files = {"database.ssl.ca": str(self.folder / "ca.crt")} if mode.startswith("verify") else {}
        return {
            "database.user": user,
            "database.password": CANARY,
            "database.ssl.mode": mode,
            **files,
            **{f"database.{name.replace('_', '.')}": value for name, value in more.items()},
        }

    def protected(self, user: str, mode: str = "verify_identity", **more: str) -> bool:
        """Connect, and say whether that is protected."""
        with MySqlServer(
            settings_of(self.server, **self.settings(user, mode, **more))
        ).connect() as connection:
            [row] = query_dicts(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
            return bool(row["Value"])

    def refused(self, user: str, mode: str = "verify_identity", **more: str) -> WracklineError:
        """Return why we are not let in, having looked for the secret in it."""
        settings = settings_of(self.server, **self.settings(user, mode, **more))
        server = MySqlServer(settings)
        with pytest.raises(WracklineError) as caught:
            server.connect()
        error = caught.value
        assert error.__context__ is error.__cause__ is None  # the driver's frames know the password
        ours = traceback.walk_tb(error.__traceback__.tb_next if error.__traceback__ else None)
        frames = traceback.StackSummary.extract(ours, capture_locals=True).format()
        assert any("connect.py" in frame for frame in frames)
        assert "hunter2" not in "".join([repr(server), repr(error), str(error), *frames])
        assert [one.id for one in check(server, settings, [])] == [error.code]
        return error

    def present(self, pair: Pair) -> None:
        """Let the server show another certificate from now on."""
        pair.write(self.folder, "server")
        give(self.folder, "mysql")
        run(self.server, RELOAD[self.flavour])


@pytest.fixture(scope="module", params=alternatives(FLAVOURS, by="file"))
def guarded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Guarded]:
    """A server with TLS, for this module."""
    folder = tmp_path_factory.mktemp("tls")
    authority = issue("test authority", authority=True)
    authority.write(folder, "ca")
    certificate, key = issue("db", by=authority, hosts=("127.0.0.1",)).write(folder, "server")
    issue("client", by=authority).write(folder, "client")
    issue("client", by=authority).write(folder, "locked", password="hunter2-key")
    issue("another authority", authority=True).write(folder, "wrong_ca")
    give(folder, "mysql")
    edition = EDITIONS[request.param]()
    tls = (f"--ssl-ca={folder / 'ca.crt'}", f"--ssl-cert={certificate}", f"--ssl-key={key}")
    plain = tuple(one for one in edition.settings if one != "--skip-ssl")
    server = binlog_server.server(folder / "data", replace(edition, settings=(*plain, *tls)))
    server.process.start()
    made = Guarded(request.param, server, folder, authority)
    quoted = CANARY.replace("\\", "\\\\").replace("'", "''")
    identified = f"IDENTIFIED {METHOD[request.param]}BY '{quoted}'"
    run(server, f"CREATE USER plain {identified}", f"CREATE USER by_cert {identified} REQUIRE X509")
    yield made
    server.process.stop()


@pytest.fixture
def presented(guarded: Guarded) -> Iterator[Guarded]:
    """The same server, which shows its good certificate again after the test."""
    yield guarded
    guarded.present(issue("db", by=guarded.authority, hosts=("127.0.0.1",)))


def client(guarded: Guarded, name: str) -> dict[str, str]:
    return {"ssl_cert": str(guarded.folder / f"{name}.crt"), "ssl_key": str(guarded.folder / f"{name}.key")}


@pytest.mark.parametrize(
    "mode", ["verify_identity", "verify-full", "verify_ca", "verify-ca", "required", "trust", "preferred"]
)
def test_every_mode_but_one_is_protected(guarded: Guarded, mode: str) -> None:
    run(guarded.server, "FLUSH PRIVILEGES")  # so that MySQL has forgotten the account and asks in full
    assert guarded.protected("plain", mode)


@pytest.mark.parametrize("mode", ["disabled", "disable"])
def test_nothing_is_protected_where_it_is_switched_off(guarded: Guarded, mode: str) -> None:
    assert not guarded.protected("plain", mode, allowPublicKeyRetrieval="true")


@pytest.mark.parametrize("mode", ["verify_identity", "verify_ca"])
def test_another_authority_is_refused(guarded: Guarded, mode: str) -> None:
    """A-TLS-02."""
    error = guarded.refused("plain", mode, ssl_ca=str(guarded.folder / "wrong_ca.crt"))
    assert isinstance(error, OperatorNeeded)
    assert error.code == "mysql.tls_refused"
    assert "database.ssl.ca" in error.hint


def test_a_name_that_is_not_the_hosts_is_refused_unless_only_the_signer_counts(presented: Guarded) -> None:
    presented.present(issue("db", by=presented.authority, hosts=("other.example",)))
    error = presented.refused("plain")
    assert error.code == "mysql.tls_refused"
    assert "database.hostname" in error.hint
    assert presented.protected("plain", "verify_ca")


@pytest.mark.parametrize("mode", ["verify_identity", "verify_ca"])
def test_an_expired_certificate_is_refused(presented: Guarded, mode: str) -> None:
    """A-TLS-03."""
    if presented.flavour == "mysql":
        pytest.skip("it does not let itself be given one")
    presented.present(issue("db", by=presented.authority, hosts=("127.0.0.1",), days=-3))
    error = presented.refused("plain", mode)
    assert error.code == "mysql.tls_refused"
    assert "expired" in error.sentence


def test_a_client_certificate_is_shown_where_it_is_named(guarded: Guarded) -> None:
    error = guarded.refused("by_cert")
    assert error.code == "mysql.login_refused"
    assert guarded.protected("by_cert", **client(guarded, "client"))
    locked = {"ssl_key_password": "hunter2-key"}
    assert guarded.protected("by_cert", **client(guarded, "locked"), **locked)


def test_a_file_that_cannot_be_used_is_named(guarded: Guarded) -> None:
    error = guarded.refused("by_cert", **client(guarded, "locked"), ssl_key_password="hunter2-wrong")
    assert error.code == "mysql.tls_file"
    error = guarded.refused("plain", ssl_ca=str(guarded.folder / "client.key"))
    assert error.code == "mysql.tls_file"


def test_a_wrong_password_is_refused_without_being_shown(guarded: Guarded) -> None:
    """A-SECRET-15."""
    error = guarded.refused("plain", password="hunter2-wrong")
    assert error.code == "mysql.login_refused"
    assert "ALTER USER 'plain'@'%'" in error.hint


def test_the_servers_key_is_taken_only_where_that_was_asked_for(guarded: Guarded) -> None:
    if guarded.flavour == "mariadb":
        pytest.skip("its passwords are not sent")
    run(guarded.server, "FLUSH PRIVILEGES")  # or the server remembers that we were in
    assert guarded.refused("plain", "disabled").code == "mysql.public_key"
    assert not guarded.protected("plain", "disabled", allowPublicKeyRetrieval="true")
    assert not guarded.protected("plain", "disabled")  # it remembers


def test_a_client_that_requires_tls_refuses_a_server_without_it(guarded: Guarded) -> None:
    """A-TLS-04."""
    if guarded.flavour == "mysql":
        pytest.skip("it makes itself a certificate")
    edition = mariadb.pinned_edition()
    bare = binlog_server.server(guarded.folder / "bare", edition)
    bare.process.start()
    try:
        settings = settings_of(bare, **{"database.ssl.mode": "required"})
        with pytest.raises(OperatorNeeded) as caught:
            MySqlServer(settings).connect()
        assert caught.value.code == "mysql.tls_refused"
        MySqlServer(settings_of(bare, **{"database.ssl.mode": "preferred"})).connect().close()
    finally:
        bare.process.stop()


def test_an_account_that_requires_tls_is_reported_as_a_rejected_login(guarded: Guarded) -> None:
    """As is every account of a MariaDB 10.11 that demands it of all."""
    run(guarded.server, "ALTER USER plain REQUIRE SSL")
    try:
        error = guarded.refused("plain", "disabled", allowPublicKeyRetrieval="true")
        assert error.code == "mysql.login_refused"
        assert 'database.ssl.mode = "verify_identity"' in error.hint
    finally:
        run(guarded.server, "ALTER USER plain REQUIRE NONE")


def test_a_server_that_requires_tls_is_reported(guarded: Guarded) -> None:
    run(guarded.server, "SET GLOBAL require_secure_transport = ON")
    try:
        error = guarded.refused("plain", "disabled", allowPublicKeyRetrieval="true")
        assert error.code == "mysql.tls_refused"
        assert "verify_identity" in error.hint
    finally:
        with MySqlServer(
            settings_of(guarded.server, **{"database.ssl.mode": "required"})
        ).connect() as connection:
            query_dicts(connection, "SET GLOBAL require_secure_transport = OFF")
