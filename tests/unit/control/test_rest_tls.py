"""TLS of a worker's REST: which clients are refused, which keep nobody out, and new certificates."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.certificates import Pair, issue
from tests.unit.control.rest_users import bearer, written
from tests.unit.corpus.worker import Worker, exchange, request, working
from wrackline.control.runtime.rest.server import serving
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.control.runtime.rest.server.tls import client_tls, server_tls
from wrackline.schemas.errors import OperatorNeeded

HOSTS = ("127.0.0.1", "localhost")


class Files:
    """An authority, and certificates of it, as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = issue("authority", authority=True)
        self.ca = Path(self.authority.write(folder, "ca")[0])

    def made(self, name: str, by: Pair | None = None, **of: Any) -> tuple[Path, Path]:
        """Make one for this machine, and name its two files."""
        certificate, key = issue(name, by=by or self.authority, hosts=HOSTS, **of).write(self.folder, name)
        return Path(certificate), Path(key)

    def settings(self, **of: Any) -> RestSettings:
        """A worker that shows its certificate."""
        certificate, key = self.made("server")
        return replace(RestSettings(0, certificate=certificate, key=key, worker_ca=self.ca), **of)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def worker(files: Files) -> Iterator[Worker]:
    with working(files.settings()) as one:
        yield one


def client(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)


def status(port: int, context: ssl.SSLContext) -> int:
    connection = HTTPSConnection("localhost", port, timeout=20, context=context)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    finally:
        connection.close()


def serial(port: int, context: ssl.SSLContext) -> str:
    """The number of the certificate that is shown to the next client that connects."""
    with (
        socket.create_connection((LOOPBACK, port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secured,
    ):
        shown = secured.getpeercert()
    assert shown is not None
    return str(shown["serialNumber"])


def test_a_client_that_trusts_the_authority_is_served(worker: Worker, files: Files) -> None:
    assert status(worker.port, client(files.ca)) == 200


def test_a_client_that_trusts_another_authority_disconnects(worker: Worker, files: Files) -> None:
    other = Path(issue("other", authority=True).write(files.folder, "other")[0])
    with pytest.raises(ssl.SSLCertVerificationError):
        status(worker.port, client(other))
    assert status(worker.port, client(files.ca)) == 200


def test_an_expired_certificate_is_trusted_by_nobody(files: Files) -> None:
    certificate, key = files.made("old", days=-3)
    shows = RestSettings(0, certificate=certificate, key=key)
    with working(shows) as worker, pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        status(worker.port, client(files.ca))


def test_what_is_older_than_tls_1_2_is_not_spoken(worker: Worker, files: Files) -> None:
    """A-TLS-07."""
    context = client(files.ca)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        status(worker.port, context)


@pytest.mark.parametrize(
    "sent", [request("GET /health", {}, b""), b"\0" * 100, b"\x16\x03\x01\xff\xff" + b"x" * 99]
)
def test_what_is_no_tls_gets_no_answer_and_harms_nobody(worker: Worker, files: Files, sent: bytes) -> None:
    heard = exchange(worker.port, sent)
    assert (heard.status, b"healthy" in heard.body) == (0, False)
    assert status(worker.port, client(files.ca)) == 200
    assert worker.told == []


def test_a_log_in_goes_through_tls(files: Files) -> None:
    with working(files.settings(users=written(files.folder))) as worker:
        connection = HTTPSConnection("localhost", worker.port, timeout=20, context=client(files.ca))
        for headers, expected in ((bearer("viewer"), 200), ({}, 401)):
            connection.request("GET", "/connectors", headers=dict(headers))
            answer = connection.getresponse()
            answer.read()
            assert answer.status == expected
        connection.close()


def test_a_client_that_stalls_in_the_handshake_keeps_nobody_out(worker: Worker, files: Files) -> None:
    with ExitStack() as held:
        for _ in range(50):
            held.enter_context(socket.create_connection((LOOPBACK, worker.port))).sendall(b"\x16\x03\x01\x02")
        assert status(worker.port, client(files.ca)) == 200


def test_many_stalled_clients_are_disconnected(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_ASK_S", 1.0)
    with working(files.settings()) as worker, ExitStack() as held:
        stalled = [held.enter_context(socket.create_connection((LOOPBACK, worker.port))) for _ in range(250)]
        for one in stalled:
            one.settimeout(30)
        assert [_ends(one) for one in stalled] == [True] * 250
        assert status(worker.port, client(files.ca)) == 200


def _ends(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def test_only_a_client_with_a_trusted_certificate_is_served_where_one_is_required(files: Files) -> None:
    settings = files.settings(client_ca=files.ca)
    with working(settings) as worker:
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            status(worker.port, client(files.ca))
        stranger = client(files.ca)
        stranger.load_cert_chain(*files.made("stranger", by=issue("other", authority=True)))
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            status(worker.port, stranger)
        ours = client_tls(settings)
        assert ours is not None
        assert status(worker.port, ours) == 200


def test_other_workers_are_asked_as_this_one_is(files: Files) -> None:
    assert client_tls(RestSettings(0)) is None
    ours = client_tls(files.settings())
    assert ours is not None
    assert (ours.verify_mode, ours.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert ours.minimum_version is ssl.TLSVersion.TLSv1_2
    assert len(ours.get_ca_certs()) == 1, "the authority that was named, and no other"


def test_a_certificate_that_is_replaced_is_shown_to_the_next(worker: Worker, files: Files) -> None:
    """A-TLS-08."""
    first = serial(worker.port, client(files.ca))
    files.made("server")
    assert serial(worker.port, client(files.ca)) != first
    assert worker.told == []


def test_a_file_with_a_fault_is_reported_once_and_the_earlier_one_stays(worker: Worker, files: Files) -> None:
    context = client(files.ca)
    first = serial(worker.port, context)
    certificate, key = files.folder / "server.crt", files.folder / "server.key"
    whole = {file: file.read_bytes() for file in (certificate, key)}
    others = [file.read_bytes() for file in files.made("other")]
    faults = ((certificate, others[0]), (key, others[1]), (certificate, b"none"), (key, b"none"))
    for told, (file, content) in enumerate(faults, 1):
        file.write_bytes(content)
        for _ in range(3):
            assert serial(worker.port, context) == first
        assert [one.code for one in worker.told] == ["rest.bad_certificate"] * told
        file.write_bytes(whole[file])
        assert serial(worker.port, context) == first
    key.unlink()
    assert serial(worker.port, context) == first
    assert worker.told[-1].code == "rest.file_unreadable"


def test_what_is_of_no_use_is_said_before_anybody_is_heard(files: Files) -> None:
    good = files.settings()
    assert good.certificate is not None
    assert good.key is not None
    locked = issue("locked", by=files.authority).write(files.folder, "locked", password="c4n4ry")
    open_key = files.made("open")[1]
    open_key.chmod(0o644)
    empty = files.folder / "empty.pem"
    empty.touch(mode=0o600)
    faults: tuple[tuple[dict[str, Any], str], ...] = (
        ({"key": Path(locked[1]), "certificate": Path(locked[0])}, "rest.bad_certificate"),
        ({"key": files.made("another")[1]}, "rest.bad_certificate"),
        ({"certificate": empty}, "rest.bad_certificate"),
        ({"certificate": files.folder / "none"}, "rest.bad_certificate"),
        ({"key": files.folder / "none"}, "rest.file_unreadable"),
        ({"key": open_key}, "rest.file_open"),
        ({"client_ca": empty}, "rest.bad_certificate"),
    )
    for wrong, code in faults:
        with pytest.raises(OperatorNeeded) as told:
            server_tls(replace(good, **wrong))
        assert told.value.code == code, wrong


def test_key_and_certificate_may_be_in_one_file(files: Files) -> None:
    certificate, key = files.made("both")
    both = files.folder / "both.pem"
    both.touch(mode=0o600)
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    with working(RestSettings(0, certificate=both)) as worker:
        assert status(worker.port, client(files.ca)) == 200


def test_it_ends_while_a_client_is_connected(files: Files) -> None:
    with working(files.settings()) as worker, socket.create_connection((LOOPBACK, worker.port)) as stalled:
        secured = client(files.ca).wrap_socket(stalled, server_hostname="localhost")
        secured.sendall(b"GET /health HTTP/1.1\r\n")
    assert "rest" not in {thread.name for thread in threading.enumerate()}
    secured.close()
