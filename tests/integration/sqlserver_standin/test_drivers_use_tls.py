"""TLS inside TDS for the log-in alone and for all, TLS around TDS (TDS 8), and clients that refuse."""

from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.certificates import issue
from tests.integration.sqlserver_standin.drivers import DRIVERS

TDS, FREETDS, ODBC, RUST = DRIVERS


def asks(connection: Any) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute("SELECT COUNT(*) AS n FROM dbo.many")
    found = [tuple(row) for row in cursor.fetchall()]
    connection.close()
    return found


@pytest.mark.parametrize("login_only", [True, False])
def test_python_tds_reads(tls_port: tuple[str, int], authority: Path, login_only: bool) -> None:  # noqa: FBT001
    pytest.importorskip("OpenSSL", reason="python-tds needs pyOpenSSL for TLS")
    _, port = tls_port
    ca = str(authority / "ca.crt")
    made = TDS.connect(port, cafile=ca, validate_host=False, enc_login_only=login_only)
    assert asks(made) == [(20_000,)]


def test_python_tds_refuses_another_authority(tls_port: tuple[str, int], tmp_path: Path) -> None:
    pytest.importorskip("OpenSSL", reason="python-tds needs pyOpenSSL for TLS")
    other, _ = issue("another", authority=True).write(tmp_path, "other")
    with pytest.raises(Exception, match="certificate verify failed"):
        TDS.connect(tls_port[1], cafile=other, validate_host=False)


@pytest.mark.parametrize("encryption", ["request", "require"])
def test_pymssql_reads(tls_port: tuple[str, int], encryption: str) -> None:
    assert asks(FREETDS.connect(tls_port[1], encryption=encryption)) == [(20_000,)]


def test_mssql_python_reads(tls_port: tuple[str, int]) -> None:
    assert asks(ODBC.connect(tls_port[1], Encrypt="yes", TrustServerCertificate="yes")) == [(20_000,)]


def test_mssql_tds_reads(tls_port: tuple[str, int]) -> None:
    assert asks(RUST.connect(tls_port[1], Encrypt="yes", TrustServerCertificate="yes")) == [(20_000,)]


def test_mssql_tds_reads_with_tls_around_tds(tls_port: tuple[str, int], authority: Path) -> None:
    certificate = str(authority / "server.crt")
    assert asks(RUST.connect(tls_port[1], Encrypt="strict", ServerCertificate=certificate)) == [(20_000,)]


def test_mssql_python_reads_with_tls_around_tds(tls_port: tuple[str, int], authority: Path) -> None:
    certificate = str(authority / "server.crt")
    assert asks(ODBC.connect(tls_port[1], Encrypt="strict", ServerCertificate=certificate)) == [(20_000,)]


def test_a_client_without_tls_is_only_let_in_where_that_is_said(tls_port: tuple[str, int]) -> None:
    said, port = tls_port
    if said == "OFF":
        assert asks(FREETDS.connect(port, encryption="off")) == [(20_000,)]
    else:
        with pytest.raises(Exception, match="connect"):
            FREETDS.connect(port, encryption="off")


def test_a_client_that_demands_tls_is_told_that_there_is_none(plain_port: int) -> None:
    with pytest.raises(Exception, match="connect"):
        FREETDS.connect(plain_port, encryption="require")
