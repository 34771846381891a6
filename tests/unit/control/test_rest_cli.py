"""The command line of REST: what it makes is accepted as a login, and a worker refuses to listen unsafely."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
import requests
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]  # it has none
from typer.testing import CliRunner

from tests.fixtures.certificates import issue
from tests.integration.running.world import free_port
from tests.unit.control.rest_users import private
from tests.unit.control.test_cli import GOOD, wrackline
from wrackline.control.cli import command_line
from wrackline.control.cli.commands import rest_commands
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.rest.access import passwords
from wrackline.schemas.errors import WracklineError

COMMAND = [sys.executable, "-m", "wrackline.control"]
PASSWORD = "c4n4ry ö of a password"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A pipeline that has a Kafka nowhere."""
    file = tmp_path / "shop.toml"
    file.write_text(GOOD.replace('"a:9092"', '"127.0.0.1:1"'))
    return file


@contextmanager
def working(file: Path, *words: str | Path | int) -> Iterator[str]:
    """Run a worker, and give the address that it prints."""
    command = [*COMMAND, "worker", "--json", str(file), *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = (json.loads(line) for line in process.stdout)
            yield next(str(one["requests"]) for one in told if "requests" in one)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_only_a_user_with_a_password_or_a_token_is_accepted_from_outside(
    pipeline: Path, tmp_path: Path
) -> None:
    command = [*COMMAND, "rest", "password"]
    password = subprocess.run(
        command, input=f"{PASSWORD}\r\n".encode(), capture_output=True, check=True
    ).stdout
    token, tokens = made("token").splitlines()
    people = f'[users.ann]\nrole = "admin"\n{password.decode()}\n[users.bob]\nrole = "viewer"\n{tokens}\n'
    authority = issue("authority", authority=True)
    ca, _ = authority.write(tmp_path, "ca")
    certificate, key = issue("w1", by=authority, hosts=("localhost",)).write(tmp_path, "w1")
    port = free_port()
    words = (
        *("--rest-port", port, "--rest-host", EVERYWHERE, "--rest-advertised", f"localhost:{port}"),
        *("--rest-users", private(tmp_path / "users.toml", people)),
        *("--rest-certificate", certificate, "--rest-key", key),
    )
    with working(pipeline, *words) as url:
        assert url == f"https://localhost:{port}/connectors"
        ann = KafkaConnect(url.removesuffix("/connectors"), auth=f"ann:{PASSWORD}", ssl_verify=ca)
        assert ann.list_connectors() == ["shop"]
        assert ann.get_connector_status("shop")["connector"]["worker_id"] == f"localhost:{port}"
        bob = {"Authorization": f"Bearer {token}"}
        assert requests.get(url, headers=bob, verify=ca, timeout=60).json() == ["shop"]
        for who, status in ((bob, 403), ({}, 401)):
            refused = requests.put(f"{url}/shop/pause", headers=who, verify=ca, timeout=60)
            assert refused.status_code == status


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--rest-port", "0", "--rest-host", EVERYWHERE], "rest.no_login"),
        (["--rest-port", "0", "--rest-certificate", "none.pem"], "rest.file_unreadable"),
    ],
)
def test_a_worker_that_may_not_listen_so_does_not_start(pipeline: Path, words: list[str], code: str) -> None:
    said = wrackline("worker", str(pipeline), *words)
    assert said.returncode == Exit.OPERATOR
    told = [json.loads(line) for line in said.stdout.splitlines()]
    assert [one["error"]["code"] for one in told] == [code], "no pipeline was begun"


def test_what_is_said_of_rest_without_a_port_is_a_mistake(pipeline: Path) -> None:
    said = CliRunner().invoke(command_line.app, ["worker", str(pipeline), "--rest-users", "users.toml"])
    assert said.exit_code == Exit.USAGE
    assert "--rest-port" in said.stderr


@pytest.mark.parametrize(
    "given",
    [b"", b"\n", b"short\n", b"x" * 513, b"tab\tin a password\n", b"\xff" * 5, "\u202e".encode() * 20],
)
def test_what_is_no_good_password_is_refused(given: bytes) -> None:
    said = CliRunner().invoke(rest_commands.app, ["password"], input=given)
    assert isinstance(said.exception, WracklineError)
    assert said.exception.code == "rest.bad_password"


def test_what_is_made_is_reported_once_with_what_is_kept_of_it() -> None:
    told = json.loads(made("password", "--random", "--json"))
    assert passwords.is_password(told["given"], told["password"])
    line, kept = made("password", "--random").splitlines()
    assert passwords.is_password(line, kept.removeprefix('password = "').removesuffix('"'))
    told = json.loads(made("token", "--json"))
    assert passwords.digest(told["given"]) == told["sha256"]


def made(*words: str) -> str:
    said = CliRunner().invoke(rest_commands.app, words)
    assert said.exit_code == Exit.OK, said
    return said.stdout


def test_a_terminal_is_asked_twice_and_shows_nothing() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "rest", "password"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as asked:
        assert asked.stderr is not None
        for _ in range(2):
            _until(asked.stderr, b": ")
            os.write(ours, PASSWORD.encode() + b"\n")
        printed = asked.communicate(timeout=60)[0].decode()
    os.close(theirs)
    os.set_blocking(ours, False)
    with suppress(OSError):  # nothing is there
        assert PASSWORD.encode() not in os.read(ours, 1 << 16)
    os.close(ours)
    kept = printed.splitlines()[-1].removeprefix('password = "').removesuffix('"')
    assert passwords.is_password(PASSWORD, kept)


def _until(said: IO[bytes], end: bytes) -> None:
    read = b""
    while not read.endswith(end):
        piece = said.read(1)
        assert piece, read
        read += piece
