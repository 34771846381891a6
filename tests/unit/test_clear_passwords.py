"""A false server without TLS that asks for the password in clear gets none; the error says what to do.

Over TLS with any certificate MySQL's own ways of logging in send it; what is written for users says so.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.false_servers import (
    CANARY,
    false_server,
    of_mysql,
    of_postgres,
    over_tls,
    reach,
    settings,
)
from tests.unit.test_house import ROOT
from wrackline.consumers.targets.postgres.connect import PgTargetServer as Target
from wrackline.control.cli.commands.explain import all_settings
from wrackline.producers.sources.mysql.connect.connect import MySqlServer as MySql
from wrackline.producers.sources.mysql.connect.login_refusals import IN_CLEAR
from wrackline.producers.sources.postgres.connect.connect import PgServer as Postgres
from wrackline.schemas.errors import OperatorNeeded, WracklineError


def refused(connect: Callable[[], object]) -> WracklineError:
    with pytest.raises(OperatorNeeded) as caught:
        connect()
    assert CANARY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
@pytest.mark.parametrize("method", [b"mysql_clear_password", b"mysql_old_password", b"dialog"])
def test_a_false_mysql_gets_no_password(method: bytes, mode: str) -> None:
    """A-DRIVER-08."""
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
    """A-DRIVER-08."""
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
    """A-DRIVER-08."""
    with false_server(of_postgres) as (port, heard):
        given = {"target.kind": "postgres", **reach("target", port, dbname="d", sslmode="disable")}
        source = reach("database", port, dbname="d")
        assert refused(Target(settings("postgres", {**source, **given})).connect).code == (
            "pg_target.password_in_clear"
        )
    assert CANARY.encode() not in heard[0]
