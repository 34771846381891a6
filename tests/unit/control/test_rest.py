"""Requests over HTTP: what is answered, and what never reaches a pipeline; over a real socket."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from http.client import HTTPConnection
from socket import SO_RCVBUF, SOL_SOCKET, create_connection, socket
from threading import Semaphore
from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from wrackline.control.runtime.rest.routes import request_routes
from wrackline.control.runtime.rest.server import serving as rest_serving
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint, open_endpoint
from wrackline.control.runtime.rest.server.listener import PORT_TAKEN
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.rest.server.serving import _TimedConnection
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka import signals

AWAY = define("test.kafka_away", Transient, "{who} does not answer", hint="wait")
SIGNAL = {"type": "execute-snapshot", "data": {"data-collections": ["public.orders"]}}
JSON = {"Content-Type": "application/json"}


class Desk:
    """A pipeline of which only what was asked is kept."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.away = False

    def send(self, body: bytes) -> None:
        if self.away:
            raise AWAY(who="Kafka")
        self.bodies.append(body)

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"id": one, "database": "shop", "state": "running"} for one in ("one", "two", "3f/own/1", "ä 'x'")
        ]


class Client:
    """Sends as curl would."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = JSON
    ) -> tuple[int, Any]:
        connection = HTTPConnection(HOST, self.port, timeout=10)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, orjson.loads(answer.read() or b"null")
        finally:
            connection.close()


@pytest.fixture
def desk() -> Desk:
    return Desk()


def served(desk: Desk, port: int = 0) -> AbstractContextManager[RestEndpoint]:
    return open_endpoint(RestSettings(port), [request_routes.routes({"shop": desk})], tell=print)


@pytest.fixture
def client(desk: Desk) -> Iterator[Client]:
    with served(desk) as door:
        yield Client(door.port)


def test_a_request_reaches_its_pipeline_and_has_an_id(client: Client, desk: Desk) -> None:
    body = orjson.dumps({"id": "mine", **SIGNAL})
    assert client.ask("POST", "/connectors/shop/requests", body) == (202, {"id": "mine"})
    assert [orjson.loads(one) for one in desk.bodies] == [{"id": "mine", **SIGNAL}]
    status, given = client.ask("POST", "/connectors/shop/requests", orjson.dumps(SIGNAL))
    assert status == 202
    assert orjson.loads(desk.bodies[1]) == {"id": given["id"], **SIGNAL}, "the id it was answered with"


def test_what_a_request_leaves_open_is_said_with_its_id(client: Client) -> None:
    status, told = client.ask("POST", "/connectors/shop/requests", b'{"type":"execute-snapshot","data":{}}')
    assert (status, told["warning"]["code"]) == (202, "signal.nothing_to_do")


def test_receipts_are_listed_for_all_requests_or_for_one(client: Client) -> None:
    status, every = client.ask("GET", "/connectors/shop/requests")
    assert (status, [one["id"] for one in every["requests"]]) == (200, ["one", "two", "3f/own/1", "ä 'x'"])
    status, one = client.ask("GET", "/connectors/shop/requests/one")
    assert status == 200
    assert one == {"id": "one", "receipts": [{"id": "one", "database": "shop", "state": "running"}]}


@pytest.mark.parametrize("path", ["3f/own/1", "3f%2Fown%2F1", "%C3%A4%20%27x%27"])
def test_a_receipt_is_found_whatever_the_id_is_made_of(client: Client, path: str) -> None:
    status, told = client.ask("GET", f"/connectors/shop/requests/{path}")
    assert (status, [one["id"] for one in told["receipts"]]) == (200, [unquote(path)])


@pytest.mark.parametrize(
    ("asked", "body", "headers", "status", "code"),
    [
        ("POST /connectors/none/requests", orjson.dumps(SIGNAL), JSON, 404, "rest.no_connector"),
        ("GET /connectors/shop/requests/none", None, JSON, 404, "rest.no_request"),
        ("POST /connectors/shop/requests", b"{", JSON, 400, "signal.not_json"),
        ("POST /connectors/shop/requests", b'{"type":"drop"}', JSON, 400, "signal.unknown_type"),
        ("POST /connectors/shop/requests", b"x" * (signals.SIZE_MAX + 9), JSON, 413, "signal.too_large"),
        ("POST /connectors/shop/requests", orjson.dumps(SIGNAL), {}, 415, "rest.not_json"),
        ("DELETE /connectors/shop/requests", None, JSON, 405, None),
        ("GET /connectors/shop", None, JSON, 404, None),
    ],
)
def test_what_is_wrong_is_said_as_kafka_connect_says_it(
    client: Client,
    desk: Desk,
    asked: str,
    body: bytes | None,
    headers: Mapping[str, str],
    status: int,
    code: str | None,
) -> None:
    method, path = asked.split()
    answered, told = client.ask(method, path, body, headers)
    assert (answered, told["error_code"], told.get("code")) == (status, status, code)
    assert told["message"]
    assert not desk.bodies


def test_a_kafka_that_is_away_is_for_another_try(client: Client, desk: Desk) -> None:
    desk.away = True
    status, told = client.ask("POST", "/connectors/shop/requests", orjson.dumps(SIGNAL))
    assert (status, told["code"]) == (503, "test.kafka_away")


def test_a_page_that_names_another_host_is_not_heard(client: Client, desk: Desk) -> None:
    """A-HOST-09."""
    connection = HTTPConnection(HOST, client.port, timeout=10)
    evil = {**JSON, "Host": "evil.example"}
    connection.request("POST", "/connectors/shop/requests", orjson.dumps(SIGNAL), evil)
    assert connection.getresponse().status == 400
    connection.close()
    assert not desk.bodies


def test_a_port_that_is_taken_is_said(desk: Desk) -> None:
    with socket() as other:
        other.bind((HOST, 0))
        other.listen()
        taken = served(desk, other.getsockname()[1])
        with pytest.raises(OperatorNeeded) as told, taken:
            pass
    assert told.value.code == PORT_TAKEN.code


def test_it_ends_with_its_block(desk: Desk) -> None:
    with served(desk) as door:
        assert Client(door.port).ask("GET", "/health")[0] == 200
    with pytest.raises(ConnectionRefusedError):
        Client(door.port).ask("GET", "/health")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /conn",
        (
            b"POST /connectors/shop/requests HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        ),
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /conn",
    ],
)
def test_a_client_that_never_ends_its_request_keeps_nobody_out(
    desk: Desk, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_serving, "_ASK_S", 0.2)
    with served(desk) as door, ExitStack() as held:
        for _ in range(100):
            one = held.enter_context(create_connection((HOST, door.port)))
            one.sendall(begun)
        heard_at_last(door.port)


def heard_at_last(port: int) -> None:
    """Ask until there is room for us; whether the worker is there, it says all the time."""
    deadline = time.monotonic() + 20
    while (status := first_word(port)) != 200:
        assert (status, time.monotonic() < deadline) == (503, True)
        assert first_word(port, "/health") == 200
        time.sleep(0.02)


def test_a_client_that_does_not_read_keeps_nobody_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_serving, "_READ_S", 2.0)
    monkeypatch.setattr(rest_serving, "_OF_ONE", 3)
    stuck = counted_pauses(monkeypatch)
    asks = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40
    with served(desk) as door, ExitStack() as held:
        for _ in range(3):
            one = held.enter_context(socket())
            one.setsockopt(SOL_SOCKET, SO_RCVBUF, 1024)
            one.connect((HOST, door.port))
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.send(asks)
        assert [stuck.acquire(timeout=20) for _ in range(3)] == [True] * 3
        assert first_word(door.port) == 503
        heard_at_last(door.port)


def counted_pauses(monkeypatch: pytest.MonkeyPatch) -> Semaphore:
    """Count the connections that have to wait for their client to read."""
    pauses, pause = Semaphore(0), _TimedConnection.pause_writing

    def counted(connection: _TimedConnection) -> None:
        pause(connection)
        pauses.release()

    monkeypatch.setattr(_TimedConnection, "pause_writing", counted)
    return pauses


def first_word(port: int, path: str = "/openapi.json") -> int:
    """The status of an answer, whatever its body is."""
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_request_that_is_cut_off_has_no_effect_and_fills_no_log(
    client: Client, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    body = orjson.dumps(SIGNAL)
    head = (
        f"POST /connectors/shop/requests HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body) + 1}\r\n"
    )
    with create_connection((HOST, client.port)) as one:
        one.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
    for _ in range(5):  # what came before these is over
        assert client.ask("GET", "/health")[0] == 200
    assert (desk.bodies, [record.getMessage() for record in caplog.records]) == ([], [])


def test_an_unforeseen_error_is_answered_as_all_others_are(
    client: Client, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-SECRET-11."""

    def receipts() -> Sequence[Mapping[str, Any]]:
        raise KeyError("canary")

    monkeypatch.setattr(desk, "receipts", receipts)
    status, told = client.ask("GET", "/connectors/shop/requests")
    assert (status, told) == (500, {"error_code": 500, "message": "HTTP 500 internal error"})


def test_fifty_at_once_are_all_heard(client: Client, desk: Desk) -> None:
    with ThreadPoolExecutor(50) as pool:
        asked = [
            pool.submit(client.ask, "POST", "/connectors/shop/requests", orjson.dumps(SIGNAL))
            for _ in range(50)
        ]
        assert [one.result()[0] for one in asked] == [202] * 50
    assert len(desk.bodies) == 50
