"""The log-in over a real socket: nobody comes in beside it, whichever way a request is written."""

import asyncio
import base64
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

import pytest
from starlette.types import Message

from tests.unit.control.rest_users import PASSWORD, bearer, private, written
from tests.unit.corpus.worker import Heard, Worker, exchange, request, working
from wrackline.control.runtime.rest.access import passwords
from wrackline.control.runtime.rest.access.failed_logins import FAILURES
from wrackline.control.runtime.rest.access.login import Login
from wrackline.control.runtime.rest.access.sessions import Sessions
from wrackline.control.runtime.rest.access.users_file import UsersFile
from wrackline.control.runtime.rest.server.rest_settings import RestSettings

SIGNAL = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
JSON = {"Content-Type": "application/json"}
NOBODY = {"Authorization": ""}
CANARY = "c4n4ry-password"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture
def worker(users: Path) -> Iterator[Worker]:
    with working(RestSettings(0, users=users)) as one:
        yield one


def asked(worker: Worker, ask: str, who: Mapping[str, str], body: bytes = b"") -> Heard:
    return exchange(worker.port, request(ask, {**JSON, **who}, body))


def basic(name: str, password: str) -> Mapping[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def test_a_web_socket_is_closed_before_it_is_open(users: Path) -> None:
    """A-LOGIN-14."""
    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    async def reached(*_: object) -> None:
        raise AssertionError("nobody logged in")

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    login = Login(reached, UsersFile(users), print, Sessions(lambda: b"s", secure=False))
    asyncio.run(login({"type": "websocket", "path": "/health", "headers": []}, receive, keep))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_known_user_is_served(worker: Worker) -> None:
    assert asked(worker, "GET /connectors", basic("ann", PASSWORD)).document == ["orders", "shop"]
    assert asked(worker, "PUT /connectors/shop/pause", basic("ann", PASSWORD)).status == 202
    assert asked(worker, "GET /connectors", bearer("viewer")).document == ["orders", "shop"]
    assert asked(worker, "GET /nothing", bearer("viewer")).status == 404
    assert asked(worker, "HEAD /connectors", bearer("viewer")).status == 405
    assert worker.told == []


def test_a_failure_is_reported_without_what_was_sent(worker: Worker) -> None:
    asked(worker, "GET /connectors", basic("ann", CANARY))
    asked(worker, "GET /connectors", basic(CANARY, CANARY))
    asked(worker, "GET /connectors", {"Authorization": f"Bearer {CANARY}"})
    told = [str(one) for one in worker.told]
    assert [one.split(" failed")[0] for one in told] == [
        "[rest.login_failed] a log-in from 127.0.0.1 as ann",
        "[rest.login_failed] a log-in from 127.0.0.1 as somebody unknown",
        "[rest.login_failed] a log-in from 127.0.0.1 as somebody with a token",
    ]
    assert CANARY not in "".join(told)


def test_a_token_is_good_through_its_last_day(worker: Worker, users: Path) -> None:
    """A-LOGIN-09."""
    for until, status in (("2026-01-31", 401), ("9999-12-31", 200)):
        one = f'{{ sha256 = "{passwords.digest("t")}", until = {until} }}'
        private(users, f'[users.bob]\nrole = "viewer"\ntokens = [{one}]\n')
        assert asked(worker, "GET /connectors", {"Authorization": "Bearer t"}).status == status


def test_a_file_with_a_fault_accepts_nobody_and_is_reported_once(worker: Worker, users: Path) -> None:
    """A-LOGIN-10."""
    assert asked(worker, "GET /connectors", bearer("admin")).status == 200
    private(users, "[users")
    for _ in range(2):
        heard = asked(worker, "GET /connectors", bearer("admin"))
        assert (heard.status, heard.document["code"]) == (503, "rest.login_closed")
        assert str(users) not in heard.body.decode()
    assert [one.code for one in worker.told] == ["rest.bad_users"]
    assert asked(worker, "GET /health", NOBODY).status == 200
    written(users.parent)
    assert asked(worker, "GET /connectors", bearer("admin")).status == 200


@dataclass
class Tries:
    """Passwords that are tried, each of them only when it is let."""

    let: Event = field(default_factory=Event)
    count: int = 0
    most: int = 0
    _now: int = 0
    _lock: Lock = field(default_factory=Lock)

    def is_password(self, tried: str, kept: str) -> bool:
        """Stand for the slow one."""
        with self._lock:
            self._now += 1
            self.count += 1
            self.most = max(self.most, self._now)
        assert self.let.wait(30)
        with self._lock:
            self._now -= 1
        return tried == PASSWORD and kept != passwords.NOBODYS


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Tries:
    made = Tries()
    monkeypatch.setattr(passwords, "is_password", made.is_password)
    return made


def test_a_password_that_was_right_is_not_tried_again_until_it_changes(
    worker: Worker, users: Path, tries: Tries
) -> None:
    tries.let.set()
    for _ in range(3):
        assert asked(worker, "GET /connectors", basic("ann", PASSWORD)).status == 200
    assert tries.count == 1
    written(users.parent, ann=passwords.hash_password("another password"))
    asked(worker, "GET /connectors", basic("ann", PASSWORD))
    assert tries.count == 2


def test_a_page_that_asks_much_at_once_has_its_password_tried_twice_at_most(
    worker: Worker, tries: Tries
) -> None:
    tries.let.set()
    with ThreadPoolExecutor(20) as pool:
        asking = [pool.submit(asked, worker, "GET /", basic("ann", PASSWORD)) for _ in range(20)]
        assert {one.result().status for one in asking} == {200}
    assert tries.count <= 2


@pytest.mark.parametrize("name", ["ann", "viewer", "nobody", ""])
def test_an_unknown_name_costs_a_try_as_any_other(worker: Worker, tries: Tries, name: str) -> None:
    """A-LOGIN-04."""
    tries.let.set()
    assert asked(worker, "GET /connectors", basic(name, "wrong password")).status == 401
    assert tries.count == 1


def test_few_passwords_are_tried_at_once_and_few_wait(worker: Worker, tries: Tries) -> None:
    """A-LOGIN-07."""
    strangers = [basic(f"nobody{number}", "wrong password") for number in range(50)]
    with ThreadPoolExecutor(50) as pool:
        asking = [pool.submit(asked, worker, "GET /", who) for who in strangers]
        busy = [one for one in asking if not tries.let.is_set() and _answered(asking, 18)]
        assert busy
        assert asked(worker, "GET /", bearer("viewer")).status == 200, "tokens do not wait"
        tries.let.set()
        heard = [one.result() for one in asking]
    assert sorted(one.status for one in heard) == [401] * 32 + [503] * 18
    assert all("retry-after: 1\r\n" in one.head for one in heard if one.status == 503)
    assert tries.most == 2


def _answered(asking: list[Future[Heard]], count: int) -> bool:
    """Wait until so many are answered."""
    done = Event()
    for one in asking:
        one.add_done_callback(lambda _: done.set() if sum(each.done() for each in asking) >= count else None)
    return done.wait(30)


def test_a_user_with_too_many_failed_logins_waits_and_others_do_not(worker: Worker, tries: Tries) -> None:
    """A-LOGIN-05."""
    tries.let.set()
    assert asked(worker, "GET /", basic("viewer", "wrong password")).status == 401
    for _ in range(FAILURES):
        assert asked(worker, "GET /", basic("ann", "wrong password")).status == 401
    heard = asked(worker, "GET /", basic("ann", PASSWORD))
    assert (heard.status, heard.document["code"]) == (429, "rest.login_too_often")
    assert "retry-after: 60\r\n" in heard.head
    assert tries.count == 1 + FAILURES
    assert len(worker.told) == 1 + FAILURES, "and it fills no log"
    assert asked(worker, "GET /", bearer("viewer")).status == 200
    assert asked(worker, "GET /", basic("viewer", "wrong password")).status == 401


def test_a_user_who_logged_in_before_is_not_locked_out_by_failed_guesses(
    worker: Worker, tries: Tries
) -> None:
    tries.let.set()
    assert asked(worker, "GET /", basic("ann", PASSWORD)).status == 200
    for _ in range(FAILURES + 1):
        asked(worker, "GET /", basic("ann", "wrong password"))
    assert asked(worker, "GET /", basic("ann", PASSWORD)).status == 200


def test_guessed_tokens_are_logged_up_to_a_bound(worker: Worker) -> None:
    statuses = [asked(worker, "GET /", {"Authorization": "Bearer x"}).status for _ in range(FAILURES + 3)]
    assert statuses == [401] * FAILURES + [429] * 3
    assert len(worker.told) == FAILURES
    assert asked(worker, "GET /", bearer("viewer")).status == 200


def test_without_users_no_login_is_needed() -> None:
    with working() as worker:
        assert asked(worker, "PUT /connectors/shop/pause", NOBODY).status == 202
