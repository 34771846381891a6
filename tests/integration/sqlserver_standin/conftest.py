"""The stand-in, served in a process of its own, and connections of each driver to it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.certificates import issue
from tests.integration.sqlserver_standin.drivers import DRIVERS, SqlDriver

Serve = Callable[..., int]


@contextmanager
def _served(*arguments: str) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.integration.sqlserver_standin.serving", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.stdout.close()
        assert process.wait() == 0


@pytest.fixture(scope="session")
def plain_port() -> Iterator[int]:
    """A server without TLS."""
    with _served("NOT_SUPPORTED") as port:
        yield port


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority's certificate, `ca.crt`, and a server's, `server.crt` and `server.key`."""
    folder = tmp_path_factory.mktemp("certificates")
    ca = issue("authority", authority=True)
    ca.write(folder, "ca")
    issue("localhost", by=ca, hosts=("localhost", "127.0.0.1")).write(folder, "server")
    return folder


@pytest.fixture(scope="session", params=["OFF", "ON", "REQUIRED"])
def tls_port(request: pytest.FixtureRequest, authority: Path) -> Iterator[tuple[str, int]]:
    """A server with TLS: for the log-in alone if the client wants no more, or for all."""
    files = (str(authority / "server.crt"), str(authority / "server.key"))
    with _served(request.param, *files) as port:
        yield request.param, port


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> SqlDriver:
    """Each of the drivers."""
    found: SqlDriver = request.param
    return found


@pytest.fixture
def connection(driver: SqlDriver, plain_port: int) -> Iterator[Any]:
    """A connection without TLS."""
    made = driver.connect(plain_port)
    yield made
    made.close()
