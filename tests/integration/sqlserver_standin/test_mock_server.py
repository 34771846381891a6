"""Our log-in and reader speak to a server of Microsoft's: the mock that its clients in Rust are tested with.

It takes any log-in and answers a few statements, so it judges the wire alone.  A machine without cargo, or
without a way to fetch its packages, skips this by name; the first build takes minutes.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.producers.sqlserver.test_wire_login import login, refused
from wrackline.control.runtime.spark.cache import folder, hold_lock
from wrackline.producers.sources.sqlserver.wire.login import connect
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import Transient

pytestmark = [pytest.mark.full, pytest.mark.timeout(2400)]

PROGRAM = Path(__file__).parent / "mock_server"
LONG = "a long text, 🌊 " * 40, "a text of one byte each, " * 9, bytes(range(256))
SPLIT = [tuple(LONG)] * 2 + [(None, "", b"")] + [tuple(LONG)]  # in pieces of 1, of 7, nothing, and whole
ONE = "SELECT 1"  # the mock's own statement


@pytest.fixture(scope="session")
def program() -> Path:
    """The mock, built once for this machine."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo: apt-get install cargo, 1.85 or newer")
    place = folder() / "mock_server"
    with hold_lock(folder() / "cargo.lock"):
        place.mkdir(exist_ok=True)
        for name in ("Cargo.toml", "main.rs"):
            if not (place / name).exists() or (place / name).read_bytes() != (PROGRAM / name).read_bytes():
                shutil.copyfile(PROGRAM / name, place / name)
        for command in ("fetch", "build"):
            done = subprocess.run(
                ["cargo", command, "-q"], cwd=place, capture_output=True, text=True, check=False
            )
            if done.returncode and "could not compile `mock-server`" not in done.stderr:
                pytest.skip(f"Microsoft's mock can't be built here: cargo {command}: {done.stderr[-500:]}")
            assert not done.returncode, done.stderr
    return place / "target" / "debug" / "mock-server"


@contextmanager
def served(program: Path, *arguments: str) -> Iterator[int]:
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture
def pair(authority: Path) -> tuple[str, ...]:
    """The server's certificate and key."""
    return tuple(str(authority / name) for name in ("server.crt", "server.key"))


@pytest.fixture(params=["plain", "strict"])
def session(
    request: pytest.FixtureRequest, program: Path, authority: Path, pair: tuple[str, ...]
) -> Iterator[TdsSession]:
    """A session of ours, without TLS and with TLS around TDS."""
    strict = request.param == "strict"
    more: dict[str, Any] = {"encrypt": "strict", "authorities": str(authority / "ca.crt")} if strict else {}
    with served(program, request.param, *(pair if strict else ())) as port:
        made = connect(login(port, **more), database="shop")
        yield made
        made.close()


def test_numbers_and_texts_are_read(session: TdsSession) -> None:
    assert session.values("SELECT numbers;") == [
        (0, -(2**15), -(2**31), -(2**63), ""),
        (255, 2**15 - 1, 2**31 - 1, 2**63 - 1, "größe 日本 🌊"),
        (None, None, None, None, "x"),
    ]


def test_long_values_are_read_wherever_they_are_cut(session: TdsSession) -> None:
    found = session.rows("SELECT long_values;").rows
    rows = [(text and text.decode("utf-16-le"), (narrow or b"").decode(), raw) for text, narrow, raw in found]
    assert rows == SPLIT


@pytest.mark.parametrize("statement", ["SELECT behind_a_message;", "SELECT before_a_message;"])
def test_a_message_among_rows_is_passed_over(session: TdsSession, statement: str) -> None:
    assert session.values(statement) == [(1,)]


def test_an_error_is_said_and_the_session_goes_on(session: TdsSession) -> None:
    with pytest.raises(Transient) as caught:
        session.values("SELECT an_error;")
    assert caught.value.code == "sqlserver.rows_locked"
    with pytest.raises(Transient, match="50000"):
        session.values("SELECT behind_an_error;")
    assert session.values(ONE) == [(1,)]


def test_a_server_sends_us_to_another(program: Path) -> None:
    with (
        served(program, "plain") as port,
        served(program, "redirect", "127.0.0.1", str(port)) as first,
    ):
        made = connect(login(first), database="shop")
        assert made.values(ONE) == [(1,)]
        made.close()


def test_tls_inside_tds_is_not_the_mock_s(program: Path, authority: Path, pair: tuple[str, ...]) -> None:
    """Its handshake has packets of type 4, and python-tds, which logs us in, takes type 18 alone.

    So this kind of TLS is judged by the drivers, which read the stand-in, and not by the mock.
    """
    with served(program, "tls", *pair) as port:
        error = refused(login(port, encrypt="true", authorities=str(authority / "ca.crt")))
    assert "expected PRELOGIN(18) got 4" in error.sentence
