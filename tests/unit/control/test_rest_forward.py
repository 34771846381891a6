"""What writes goes to the coordinator and nowhere else, over real sockets; a group of two in memory."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import orjson
import pytest
import requests
from starlette.middleware import Middleware

from tests.contract.group_suite import CONFIG
from tests.fakes.group import FakeGroup
from tests.fixtures.certificates import issue
from tests.unit.control.rest_users import bearer, written
from tests.unit.control.test_rest import Client
from wrackline.control.console.page_frame import HEADERS
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR, GoodSettings
from wrackline.control.runtime.rest.routes import connector_routes, write_routes
from wrackline.control.runtime.rest.server import forward
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.forward import MARK, Forward
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.rest.server.tls import client_tls

Serve = Callable[..., int]
Says = Callable[..., tuple[str, list[bytes]]]
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
ALONE = RestSettings(0)
SHOP = orjson.dumps({"name": "shop", "config": CONFIG})


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as held:

        def serves(
            group: FakeGroup, tls: ssl.SSLContext | None = None, settings: RestSettings = ALONE
        ) -> int:
            routes = (connector_routes.routes(group), write_routes.routes(group))
            hop = Middleware(Forward, elsewhere=group.elsewhere, tls=tls)
            return held.enter_context(open_endpoint(settings, routes, print, [hop])).port

        yield serves


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a coordinator that never comes only as long as it takes to see that it is waited for."""
    monkeypatch.setattr(forward, "_CHOOSING_S", 0.5)


@pytest.fixture
def coordinator() -> FakeGroup:
    return FakeGroup()


@pytest.fixture
def follower() -> FakeGroup:
    return FakeGroup()


@pytest.fixture
def client(serve: Serve, coordinator: FakeGroup, follower: FakeGroup) -> Client:
    follower.coordinator = f"http://{HOST}:{serve(coordinator)}"
    return Client(serve(follower))


@pytest.fixture
def says() -> Iterator[Says]:
    """Something that hears one request whole, and says this; what it heard is kept."""
    with ExitStack() as held:

        def listens(answer: bytes, tls: ssl.SSLContext | None = None) -> tuple[str, list[bytes]]:
            listening = held.enter_context(closing(socket.create_server((HOST, 0))))
            listening.settimeout(10)
            heard: list[bytes] = []

            def once() -> None:
                taken, _ = listening.accept()
                taken.settimeout(10)
                with (
                    suppress(OSError),
                    taken if tls is None else tls.wrap_socket(taken, server_side=True) as taken,
                ):
                    heard.append(taken.recv(1 << 16))
                    if answer:
                        taken.sendall(answer)

            thread = threading.Thread(target=once)
            thread.start()
            held.callback(thread.join, 10)
            return f"{'https' if tls else 'http'}://{HOST}:{listening.getsockname()[1]}", heard

        yield listens


def test_what_writes_is_done_by_the_coordinator_and_answered_as_it_answers(
    client: Client, coordinator: FakeGroup, follower: FakeGroup
) -> None:
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["name"]) == (201, "shop")
    assert client.ask("POST", "/connectors", SHOP)[1]["code"] == "rest.exists"
    assert client.ask("PUT", "/connectors/shop/pause")[0] == 202
    assert client.ask("POST", "/connectors/shop/restart?includeTasks=true&onlyFailed=true")[0] == 202
    assert client.ask("PUT", "/connectors/shop/config", orjson.dumps(CONFIG))[0] == 200
    assert client.ask("DELETE", "/connectors/shop") == (204, None)
    assert coordinator.asked == ["put shop", "pause shop", "put shop", "remove shop"]
    assert not follower.asked


def test_where_a_connector_was_made_is_said_without_a_worker(client: Client) -> None:
    made = requests.post(f"http://{HOST}:{client.port}/connectors", json=orjson.loads(SHOP), timeout=10)
    assert made.headers["Location"] == "/connectors/shop"


def test_a_header_is_sent_on_byte_by_byte(client: Client, coordinator: FakeGroup) -> None:
    url = f"http://{HOST}:{client.port}/connectors/shop/config"
    for value in (b"caf\xc3\xa9", b"\xe9"):  # UTF-8 and Latin-1, as programs send both
        made = requests.put(url, json=CONFIG, headers={"If-Match": value}, timeout=10)
        assert made.status_code == 201, made.text
        coordinator.remove("shop")


def test_what_only_looks_is_answered_here(
    client: Client, coordinator: FakeGroup, follower: FakeGroup
) -> None:
    coordinator.put("theirs", GoodSettings({**CONFIG, "name": "theirs"}, 1), None)
    follower.put("ours", GoodSettings({**CONFIG, "name": "ours"}, 1), None)
    assert client.ask("GET", "/connectors") == (200, ["ours"])
    assert client.ask("GET", "/connectors/ours/status")[0] == 200
    assert client.ask("GET", "/health")[0] == 200


def test_what_came_over_the_hop_is_not_sent_on(client: Client, serve: Serve, coordinator: FakeGroup) -> None:
    coordinator.coordinator = f"http://{HOST}:{client.port}"  # each takes the other for it
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["error_code"], told["code"]) == (409, 409, "rest.no_coordinator")
    own = FakeGroup()
    port = serve(own)
    own.coordinator = f"http://{HOST}:{port}"  # or a worker itself
    assert Client(port).ask("POST", "/connectors", SHOP)[1]["code"] == "rest.no_coordinator"
    assert not own.asked


@pytest.mark.parametrize("chosen", ["the other", "itself", "the other at last"])
def test_a_request_waits_for_the_coordinator_and_is_done_once_and_whole(
    client: Client, coordinator: FakeGroup, follower: FakeGroup, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.setattr(forward, "_CHOOSING_S", 60.0)
    url, chooser = follower.coordinator, coordinator if chosen == "the other at last" else follower
    chooser.coordinator = NO_COORDINATOR()

    def choose() -> None:
        assert chooser.looked.wait(60)
        chooser.coordinator = url if chosen == "the other" else None

    chooses = threading.Thread(target=choose)
    chooses.start()
    status, _ = client.ask("POST", "/connectors", SHOP)
    chooses.join()
    assert status == 201
    done = follower if chosen == "itself" else coordinator
    assert done.asked == ["put shop"]
    assert dict(done.stored_settings("shop")) == {**CONFIG, "name": "shop"}


def test_a_worker_that_loses_the_office_before_it_writes_forwards_the_request(
    client: Client, coordinator: FakeGroup, follower: FakeGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, follower.coordinator = follower.coordinator, None

    def lost(*_: object, **more: object) -> None:
        del more
        follower.coordinator = url
        unknown = NO_COORDINATOR()
        raise unknown

    monkeypatch.setattr(follower, "put", lost)
    status, _ = client.ask("POST", "/connectors", SHOP)
    assert status == 201
    assert coordinator.asked == ["put shop"]
    assert dict(coordinator.stored_settings("shop")) == {**CONFIG, "name": "shop"}


def test_while_the_group_chooses_one_asks_again(client: Client, follower: FakeGroup) -> None:
    follower.coordinator = NO_COORDINATOR()
    status, told = client.ask("DELETE", "/connectors/shop")
    assert (status, told["code"], bool(told["hint"])) == (409, "rest.no_coordinator", True)
    assert client.ask("GET", "/connectors")[0] == 200


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1:1",
        "file:///etc/passwd",
        "127.0.0.1:8083",
        "http://",
        "http://user:c4n4ry@127.0.0.1:1",
        "http://127.0.0.1:0",
        "http://127.0.0.1:99999",
        "http://[::1",
        "http://höst:1",
        "http://" + "a" * 300 + ":1",
    ],
)
def test_an_address_that_is_none_is_not_asked(client: Client, follower: FakeGroup, url: str) -> None:
    follower.coordinator = url
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["code"]) == (409, "rest.coordinator_away")
    assert "c4n4ry" not in str(told)


def test_a_coordinator_that_is_gone_is_said(client: Client, follower: FakeGroup) -> None:
    with socket.create_server((HOST, 0)) as one:
        port = one.getsockname()[1]
    follower.coordinator = f"http://{HOST}:{port}"
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["code"]) == (409, "rest.coordinator_away")


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
def test_one_that_breaks_off_leaves_open_what_it_did(
    client: Client, follower: FakeGroup, says: Says, answer: bytes
) -> None:
    follower.coordinator, _ = says(answer)
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["code"]) == (504, "rest.no_answer")


def test_one_that_never_answers_is_not_waited_for_forever(
    client: Client, follower: FakeGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "_ANSWER_S", 0.2)
    with socket.create_server((HOST, 0)) as silent:  # the system takes the connection, nobody reads
        follower.coordinator = f"http://{HOST}:{silent.getsockname()[1]}"
        status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["code"]) == (504, "rest.no_answer")


def test_one_that_is_frozen_is_not_waited_for_once_another_does_it(
    client: Client, follower: FakeGroup
) -> None:
    with socket.create_server((HOST, 0)) as frozen:
        follower.coordinator = f"http://{HOST}:{frozen.getsockname()[1]}"

        def chooses() -> None:
            taken, _ = frozen.accept()
            taken.recv(1 << 16)
            follower.coordinator = NO_COORDINATOR()
            follower.coordinator = None
            over.wait(60)
            taken.close()

        over = threading.Event()
        thread = threading.Thread(target=chooses)
        thread.start()
        try:
            status, told = client.ask("POST", "/connectors", SHOP)
        finally:
            over.set()
            thread.join(60)
    assert (status, told["code"]) == (504, "rest.no_answer")
    assert not follower.asked, "whether it was done is not known: the client decides"


def test_an_answer_without_end_is_not_kept(
    client: Client,
    follower: FakeGroup,
    says: Says,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forward, "_MOST_ANSWER", 1000)
    follower.coordinator, _ = says(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000)
    status, told = client.ask("POST", "/connectors", SHOP)
    assert (status, told["code"]) == (504, "rest.no_answer")


@pytest.mark.parametrize("elsewhere", [b"http://evil.example/x", b"http://[evil"])
def test_a_redirect_is_not_followed_and_leads_nobody_elsewhere(
    client: Client, follower: FakeGroup, says: Says, elsewhere: bytes
) -> None:
    """A-HOST-07."""
    follower.coordinator, heard = says(
        b"HTTP/1.1 307 Temporary Redirect\r\nLocation: " + elsewhere + b"\r\nSet-Cookie: a=b\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    url = f"http://{HOST}:{client.port}/connectors"
    answer = requests.post(url, json=orjson.loads(SHOP), timeout=10, allow_redirects=False)
    assert answer.status_code == 307
    assert not {"location", "set-cookie"} & {name.lower() for name in answer.headers}
    assert len(heard) == 1


@pytest.mark.parametrize("page", ["/console/?did=pause&done=2&refused=0", "/console/p/a/snapshot?sent=ann-1"])
def test_after_an_action_of_a_page_the_browser_gets_the_page_that_says_what_was_done(
    client: Client, follower: FakeGroup, says: Says, page: str
) -> None:
    follower.coordinator, _ = says(
        b"HTTP/1.1 303 See Other\r\nLocation: " + page.encode() + b"\r\nContent-Length: 0\r\n\r\n"
    )
    url = f"http://{HOST}:{client.port}/console/p/do/pause"
    answer = requests.post(url, data={"chosen:a": "on"}, timeout=10, allow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, page)


def test_a_page_that_the_coordinator_made_may_do_no_more_than_one_made_here(
    client: Client, follower: FakeGroup, says: Says
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    head = f"HTTP/1.1 409 Conflict\r\n{lines}Content-Type: text/html\r\nContent-Length: 2\r\n\r\n"
    follower.coordinator, _ = says(f"{head}no".encode())
    url = f"http://{HOST}:{client.port}/console/p/do/pause"
    answer = requests.post(url, data={"chosen:a": "on"}, timeout=10)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_nothing_goes_over_but_what_is_needed(
    client: Client,
    follower: FakeGroup,
    says: Says,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    follower.coordinator, heard = says(ACCEPTED)
    headers = {
        "Authorization": "Basic me",
        "Cookie": "a=b",
        "Content-Type": "application/json",
        "X-Forwarded-For": "1.2.3.4",
    }
    assert client.ask("PUT", "/connectors/sh%C3%B6p%20/config?x=%2e&y", b"{}", headers)[0] == 202
    head, _, body = heard[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    sent = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert first == "PUT /connectors/sh%C3%B6p%20/config?x=%2e&y HTTP/1.1", "as it came"
    assert body == b"{}"
    assert sent == {
        "content-type": "application/json",
        "authorization": "Basic me",
        "host": follower.coordinator.removeprefix("http://"),
        "content-length": "2",
        MARK.lower(): "1",
        "connection": "close",
    }


def test_a_body_too_large_is_not_sent_on(client: Client, follower: FakeGroup) -> None:
    follower.coordinator = "http://127.0.0.1:1"
    status, told = client.ask("POST", "/connectors", b"x" * ((1 << 20) + 9))
    assert (status, told["code"]) == (413, "rest.too_large")


def test_a_coordinator_behind_tls_proves_its_identity(
    serve: Serve, follower: FakeGroup, says: Says, tmp_path: Path
) -> None:
    authority = issue("authority", authority=True)
    files = issue("worker", by=authority, hosts=(HOST,)).write(tmp_path, "worker")
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(*files)
    trusts = ssl.create_default_context(cafile=authority.write(tmp_path, "authority")[0])
    follower.coordinator, heard = says(ACCEPTED, own)
    assert Client(serve(follower, trusts)).ask("POST", "/connectors", SHOP)[0] == 202
    assert len(heard) == 1
    follower.coordinator, heard = says(ACCEPTED, own)
    status, told = Client(serve(follower)).ask("POST", "/connectors", SHOP)
    assert (status, told["code"], heard) == (409, "rest.coordinator_away", []), "a stranger learns nothing"
    follower.coordinator = "http://127.0.0.1:1"
    status, told = Client(serve(follower, trusts)).ask("POST", "/connectors", SHOP)
    assert (status, "TLS" in told["message"]) == (409, True), "nor is anybody asked in the open"


def test_a_refused_request_is_not_forwarded(client: Client, coordinator: FakeGroup) -> None:
    origin = {"Origin": "http://evil.example", "Content-Type": "application/json"}
    assert client.ask("POST", "/connectors", SHOP, origin)[0] == 403
    assert not coordinator.asked


def test_a_login_and_its_role_are_known_at_the_coordinator_too(
    serve: Serve, coordinator: FakeGroup, follower: FakeGroup, tmp_path: Path
) -> None:
    """A-ROLE-08."""
    authority = issue("authority", authority=True)
    ca = Path(authority.write(tmp_path, "ca")[0])
    shown = map(Path, issue("worker", by=authority, hosts=("localhost", HOST)).write(tmp_path, "worker"))
    certificate, key = shown
    settings = RestSettings(
        0, users=written(tmp_path), certificate=certificate, key=key, client_ca=ca, worker_ca=ca
    )
    port = serve(coordinator, None, settings)
    follower.coordinator = f"https://localhost:{port}"
    asked = serve(follower, client_tls(settings), settings)
    for who, status in (({}, 401), (bearer("operator"), 403), (bearer("admin"), 201)):
        answer = requests.post(
            f"https://localhost:{asked}/connectors",
            SHOP,
            headers={"Content-Type": "application/json", "Origin": f"https://localhost:{asked}", **who},
            verify=str(ca),
            cert=(str(certificate), str(key)),
            timeout=30,
        )
        assert answer.status_code == status, answer.text
        assert (list(coordinator.names()), list(follower.names())) == (["shop"] if status == 201 else [], [])


def test_a_role_is_looked_at_before_anything_is_sent(serve: Serve, says: Says, tmp_path: Path) -> None:
    """A-ROLE-07."""
    url, heard = says(ACCEPTED)
    follower = FakeGroup()
    follower.coordinator = url
    port = serve(follower, settings=RestSettings(0, users=written(tmp_path)))

    def asked(method: str, path: str, role: str) -> requests.Response:
        return requests.request(method, f"http://{HOST}:{port}{path}", headers=bearer(role), timeout=10)

    for method, path in (("PUT", "/connectors/shop/stop"), ("DELETE", "/connectors/shop")):
        refused = asked(method, path, "viewer")
        assert (refused.status_code, refused.json()["code"]) == (403, "rest.not_allowed")
    assert asked("DELETE", "/connectors/shop", "operator").status_code == 403
    assert asked("PUT", "/connectors/shop/nothing", "admin").status_code == 404
    assert not heard
    assert asked("PUT", "/connectors/shop/stop", "operator").status_code == 202
    assert len(heard) == 1
