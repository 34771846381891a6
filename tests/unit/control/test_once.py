"""Requests with an Idempotency-Key: done once, whichever worker is asked, and answered as the first time."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from starlette.types import Message, Scope

from tests.unit.corpus.worker import GOOD, Group, Heard, exchange, request, writing
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.group import config_records
from wrackline.control.runtime.group.config_records import GroupConfig
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.rest.access.roles import Role
from wrackline.control.runtime.rest.model import kept_answers
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR
from wrackline.control.runtime.rest.model.kept_answers import KEPT_MS, AnswersInMemory, KeptAnswer, too_old
from wrackline.control.runtime.rest.routes import request_routes
from wrackline.control.runtime.rest.routes.request_routes import id_of
from wrackline.control.runtime.rest.server import once
from wrackline.control.runtime.services.signalling import NOT_SENT
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.signals import ID_MAX

SIGNAL = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
MADE = orjson.dumps({"name": "other", "config": GOOD | {"topic.prefix": "other1"}})
BACK = b'{"to":"2026-05-01T12:00:00Z"}'


class App:
    """Counts what is done, and answers as it is told."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers, self.done = list(answers), 0
        self.begun = asyncio.Event()
        self.holds: asyncio.Event | None = None

    async def __call__(self, _: Scope, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        self.done += 1
        self.begun.set()
        if self.holds is not None:
            await self.holds.wait()
        status, body = self.answers[min(self.done, len(self.answers)) - 1]
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})


def once_of(app: App, kept: AnswersInMemory, tell: Callable[[WracklineError], None] = print) -> once.Once:
    return once.Once(app, kept, tell)


async def ask(
    wrapped: once.Once, key: str | None = "k1", body: bytes = b"{}", path: str = "/connectors", user: str = ""
) -> tuple[int, Any]:
    headers = [] if key is None else [(b"idempotency-key", key.encode())]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": headers,
    }
    if user:
        scope["user"] = SimpleNamespace(name=user, role=Role[user.partition("-")[0].upper()], data=True)
    said: list[Message] = []
    taken = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(taken)

    async def send(message: Message) -> None:
        said.append(message)

    await wrapped(scope, receive, send)
    whole = b"".join(one.get("body", b"") for one in said)
    again = any(name == b"idempotent-replayed" for name, _ in said[0]["headers"])
    return said[0]["status"], {**orjson.loads(whole or b"{}"), **({"again": True} if again else {})}


def test_the_same_key_gets_the_first_answer_and_does_nothing_twice_on_another_worker_too() -> None:
    app, kept = App((201, b'{"n":1}'), (201, b'{"n":2}')), AnswersInMemory()
    first, second = once_of(app, kept), once_of(app, kept)
    assert asyncio.run(ask(first)) == (201, {"n": 1})
    assert asyncio.run(ask(first)) == asyncio.run(ask(second)) == (201, {"n": 1, "again": True})
    assert app.done == 1
    status, told = asyncio.run(ask(second, body=b'{"other":1}'))
    assert (status, told["code"], app.done) == (422, "rest.key_reused", 1)


@pytest.mark.parametrize(
    "other", [{"key": "k2"}, {"key": None}, {"path": "/connectors/shop/requests"}, {"user": "admin"}]
)
def test_another_key_path_or_user_is_another_request(other: dict[str, Any]) -> None:
    app = App((200, b"{}"))
    wrapped = once_of(app, AnswersInMemory())
    for _ in range(2):
        assert asyncio.run(ask(wrapped))[0] == 200
    asyncio.run(ask(wrapped, **other))
    assert app.done == 2


def test_what_changed_nothing_may_be_corrected_and_sent_again_with_its_key() -> None:
    for status in (400, 409):
        app = App((status, b"{}"), (201, b"{}"))
        wrapped = once_of(app, AnswersInMemory())
        assert asyncio.run(ask(wrapped, body=b'{"bad":1}'))[0] == status
        assert asyncio.run(ask(wrapped, body=b'{"good":1}')) == (201, {})


def test_what_may_have_got_through_is_repeated_as_the_same_request_and_replaced_by_no_other() -> None:
    app, kept = App((503, b"{}"), (503, b"{}"), (201, b"{}")), AnswersInMemory()
    wrapped = once_of(app, kept)
    assert asyncio.run(ask(wrapped))[0] == 503
    ((key, first),) = kept.answers.items()
    status, told = asyncio.run(ask(wrapped, body=b'{"other":1}'))
    assert (status, told["code"], app.done) == (422, "rest.key_reused", 1), "the first may be under way"
    assert asyncio.run(ask(once_of(app, kept))) == (503, {}), "it is done again, by another worker too"
    assert kept.answers == {key: first}, "and its life begins with the first"
    assert asyncio.run(ask(wrapped)) == (201, {})
    assert asyncio.run(ask(wrapped)) == (201, {"again": True})
    assert app.done == 3


def test_a_repeat_after_503_that_is_refused_leaves_the_key_to_the_first() -> None:
    app, kept = App((503, b"{}"), (409, b"{}")), AnswersInMemory()
    wrapped = once_of(app, kept)
    assert asyncio.run(ask(wrapped))[0] == 503
    before = dict(kept.answers)
    assert asyncio.run(ask(wrapped)) == (409, {}), "as if the first had got through"
    assert kept.answers == before
    assert asyncio.run(ask(wrapped, body=b'{"other":1}'))[0] == 422


def test_a_repeat_after_503_that_is_cut_off_is_as_unknown_as_a_first_one() -> None:
    app, kept = App((503, b"{}"), (500, b"{}")), AnswersInMemory()
    wrapped = once_of(app, kept)
    assert [asyncio.run(ask(wrapped))[0] for _ in range(3)] == [503, 500, 409]


def test_a_request_that_a_task_takes_once_is_sent_again_whatever_became_of_the_first() -> None:
    requests = "/connectors/shop/requests"
    app, kept = App((500, b"{}"), (202, b"{}")), AnswersInMemory()
    wrapped = once_of(app, kept)
    assert asyncio.run(ask(wrapped, path=requests))[0] == 500
    assert asyncio.run(ask(wrapped, path=requests, body=b'{"other":1}'))[0] == 422
    assert asyncio.run(ask(wrapped, path=requests)) == (202, {})
    assert asyncio.run(ask(wrapped, path=requests)) == (202, {"again": True})
    assert app.done == 2


def test_what_was_begun_and_has_no_answer_is_not_done_again() -> None:
    app, kept = App((500, b"{}")), AnswersInMemory()
    assert asyncio.run(ask(once_of(app, kept)))[0] == 500
    status, told = asyncio.run(ask(once_of(app, kept)))
    assert (status, told["code"], app.done) == (409, "rest.key_unknown", 1)


def test_an_answer_that_can_t_be_kept_is_given_and_reported_whatever_the_error() -> None:
    class Broken(AnswersInMemory):
        def keep_answer(self, key: str, answer: KeptAnswer | None) -> None:
            if answer is None or answer.status:
                raise RuntimeError("a value of a row")
            super().keep_answer(key, answer)

    told: list[WracklineError] = []
    app, kept = App((201, b'{"n":1}')), Broken()
    assert asyncio.run(ask(once_of(app, kept, told.append))) == (201, {"n": 1})
    assert [one.code for one in told] == ["rest.answer_not_kept"]
    assert "RuntimeError" in told[0].sentence
    assert "value" not in told[0].sentence
    status, again = asyncio.run(ask(once_of(app, kept)))
    assert (status, again["code"], app.done) == (409, "rest.key_unknown", 1)
    assert again["message"].endswith("its answer is not known"), "the worker may be well"


def test_one_user_s_keys_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MOST", 2)
    app, kept = App((200, b"{}")), AnswersInMemory()
    wrapped = once_of(app, kept)
    for number in range(2):
        assert asyncio.run(ask(wrapped, f"k{number}", user="admin-a"))[0] == 200
    assert asyncio.run(ask(wrapped, "k9", user="admin-a"))[1]["code"] == "rest.too_many_keys"
    assert asyncio.run(ask(wrapped, "k9", user="admin-b"))[0] == 200
    assert not any("admin" in one.user for one in kept.answers.values()), "a name is not written"


def test_threads_may_keep_answers_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, meets = AnswersInMemory(), Barrier(2)

    def slow(known: Mapping[str, KeptAnswer], key: str, user: str) -> list[str]:
        with suppress(BrokenBarrierError):
            meets.wait(0.2)  # both are here only if nothing keeps one out
            both.append(key)
        return too_old(known, key, user)

    both: list[str] = []
    monkeypatch.setattr(kept_answers, "too_old", slow)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda key: kept.keep_answer(key, KeptAnswer(now_ms(), "d")), "ab"))
    assert (both, sorted(kept.answers)) == ([], ["a", "b"])


def test_a_repeat_that_comes_while_it_is_done_waits_for_its_sender() -> None:
    async def both() -> tuple[tuple[int, Any], tuple[int, Any], tuple[int, Any]]:
        app = App((201, b"{}"))
        app.holds = asyncio.Event()
        wrapped = once_of(app, AnswersInMemory())
        first = asyncio.create_task(ask(wrapped))
        await app.begun.wait()
        early = await ask(wrapped)
        app.holds.set()
        return early, await first, await ask(wrapped)

    early, first, late = asyncio.run(both())
    assert (early[0], early[1]["code"]) == (409, "rest.key_under_way")
    assert (first, late) == ((201, {}), (201, {"again": True}))


def test_nothing_is_done_where_it_can_t_be_kept_that_it_was_begun() -> None:
    class NoCoordinator(AnswersInMemory):
        def keep_answer(self, key: str, answer: KeptAnswer | None) -> None:
            del key, answer
            away = NO_COORDINATOR()
            raise away

    app = App((201, b"{}"))
    status, told = asyncio.run(ask(once_of(app, NoCoordinator())))
    assert (status, told["code"], app.done) == (409, "rest.no_coordinator", 0), "the hop then tries again"


def test_an_answer_is_given_to_nobody_who_may_not_ask() -> None:
    app, kept = App((201, b'{"n":1}')), AnswersInMemory()
    assert asyncio.run(ask(once_of(app, kept), user="admin"))[0] == 201
    (key,) = kept.answers
    assert asyncio.run(ask(once_of(app, kept), user="viewer"))[0] == 201, "the application decides"
    assert (app.done, list(kept.answers)) == (2, [key])


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201, "a,b"])
def test_a_bad_key_is_refused(key: str) -> None:
    app = App((201, b"{}"))
    status, told = asyncio.run(ask(once_of(app, AnswersInMemory()), key))
    assert (status, told["code"], app.done) == (400, "rest.bad_key", 0)


def test_answers_are_kept_for_a_day_and_so_many_of_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    app, kept = App((201, b'{"a":"' + b"x" * 20_000 + b'"}')), AnswersInMemory()
    asyncio.run(ask(once_of(app, kept)))
    told = asyncio.run(ask(once_of(app, kept)))[1]
    assert told == {"left_out": "the first answer had 20,008 bytes", "again": True}
    monkeypatch.setattr(kept_answers, "MOST", 1)
    assert asyncio.run(ask(once_of(app, kept), "k2"))[1]["code"] == "rest.too_many_keys"
    later = now_ms() + kept_answers.KEPT_MS + 1_000
    for module in (kept_answers, once):
        monkeypatch.setattr(module, "now_ms", lambda: later)
    assert asyncio.run(ask(once_of(app, kept), "k2"))[0] == 201, "the older one makes room"
    assert len(kept.answers) == 1


@pytest.fixture
def worker() -> Iterator[tuple[int, Group]]:
    with writing() as (port, group):
        group.begin_anew()
        yield port, group


def send(port: int, path: str, body: bytes, key: str = "k1") -> Heard:
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    return exchange(port, request(f"POST {path}", headers, body))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/connectors", MADE, 201),
        ("/connectors/shop/requests", SIGNAL, 202),
        ("/connectors/shop/offsets/rewind", BACK, 200),
        ("/connectors/shop/letters/replay?table=shop.public.orders", b"", 200),
    ],
)
def test_each_route_that_makes_something_does_it_once(
    worker: tuple[int, Group], path: str, body: bytes, status: int
) -> None:
    port, group = worker
    first, again = send(port, path, body), send(port, path, body)
    assert (first.status, again.status) == (status, status), first
    assert "idempotent-replayed: true" in again.head.lower()
    if "replay" not in path:
        assert first.document == again.document
        assert (
            len([one for one in group.asked if not one.startswith("preview")]) + len(group.desk.bodies) == 1
        )
    assert send(port, path, body + b" ").status == 422


def test_the_id_of_a_request_for_rows_begins_with_its_key_and_is_nobody_else_s(
    worker: tuple[int, Group],
) -> None:
    port, group = worker
    made = send(port, "/connectors/shop/requests", SIGNAL, "order-7").document["id"]
    assert orjson.loads(group.desk.bodies[0])["id"] == made
    own_id = partial(id_of, "order-7", "shop", "", SIGNAL)
    assert made in {own_id(now_ms()), own_id(now_ms() - KEPT_MS)}, "it may be just after midnight"
    assert own_id(0) == own_id(KEPT_MS - 1)
    others = [
        id_of("order-7", "shop", "bob", SIGNAL, 0),
        id_of("order-7", "other", "", SIGNAL, 0),
        id_of("order-7", "shop", "", SIGNAL + b" ", 0),
        own_id(KEPT_MS),
    ]
    assert len({own_id(0), *others}) == 5, "a task takes an id once, for ever"
    assert all(one.startswith("order-7-") for one in others)
    long = id_of("x" * 200, "shop", "", SIGNAL, 0)
    assert len(long) <= ID_MAX
    own = SIGNAL[:-1] + b',"id":"mine"}'
    assert send(port, "/connectors/shop/requests", own, "order-8").document == {"id": "mine"}


def test_a_request_that_is_repeated_after_midnight_has_the_id_that_it_had_before(
    worker: tuple[int, Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, group = worker
    midnight = (now_ms() // KEPT_MS + 1) * KEPT_MS
    clock = [midnight - 1_000]
    for module in (once, kept_answers, request_routes):
        monkeypatch.setattr(module, "now_ms", lambda: clock[0], raising=False)
    sent: list[bytes] = []

    def lost(body: bytes) -> None:
        sent.append(body)
        if len(sent) < 3:
            late = NOT_SENT(topic="t", seconds=30)
            raise late

    monkeypatch.setattr(group.desk, "send", lost)
    path = "/connectors/shop/requests"
    assert send(port, path, SIGNAL).status == 503
    clock[0] = midnight + 1_000
    assert send(port, path, SIGNAL).status == 503
    clock[0] = midnight + KEPT_MS - 2_000
    heard = send(port, path, SIGNAL)
    assert {orjson.loads(body)["id"] for body in sent} == {heard.document["id"]}
    clock[0] += KEPT_MS
    assert send(port, path, SIGNAL).document["id"] != heard.document["id"], "the key's life is over"


def test_values_of_rows_are_not_kept_with_the_answer(worker: tuple[int, Group]) -> None:
    port, _ = worker
    path = "/connectors/shop/letters/replay"
    first, again = send(port, path, b"").document, send(port, path, b"").document
    assert all("value" in one for one in first["letters"])
    assert all("value" not in one and "key" not in one for one in again["letters"])
    assert len(again["letters"]) == len(first["letters"]) > 0


def test_a_group_s_answer_is_read_as_it_was_written() -> None:
    fold, answer = GroupConfig(), KeptAnswer(7, "d1", 201, "/connectors/shop", '{"n":1}', "u")
    fold.apply(*config_records.answer_record("k", answer))
    assert fold.answers == {"k": answer}
    key, value = config_records.answer_record("k", answer)
    fold.apply(
        key, orjson.dumps({name: one for name, one in orjson.loads(value or b"").items() if name != "user"})
    )
    assert fold.answers == {"k": replace(answer, user="")}, "an older version writes no user"
    fold.apply(*config_records.answer_record("k", None))
    assert fold.answers == {}
    for bad in (b"[]", b"{}", b'{"at_ms":"x","request":"","status":1,"location":"","body":""}'):
        with pytest.raises((ValueError, KeyError, TypeError)):
            fold.apply(b"answer-k", bad)


def test_a_group_s_answer_that_is_too_old_does_not_count_and_is_removed_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[Any] = []
    heard: list[int] = []
    now = now_ms()
    known = {"old": KeptAnswer(now - kept_answers.KEPT_MS, "d", 201), "new": KeptAnswer(now, "d", 201)}
    hands = SimpleNamespace(answers=lambda: known, forget_gone=lambda: None)
    threads = SimpleNamespace(make=lambda *_: SimpleNamespace(start=lambda: None))
    parts = (SimpleNamespace(client=None, id="g"), "kafka-1", hands, None, print, threads)
    crew = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
    monkeypatch.setattr(crew, "write", lambda _name, changes, _heard: written.append(changes))
    monkeypatch.setattr(crew._pen, "hear", lambda: heard.append(len(written)))
    assert (crew.find_answer("old"), crew.find_answer("new")) == (None, known["new"])
    crew.keep_answer("newest", KeptAnswer(now, "d"))
    ((forgotten, kept),) = written
    assert forgotten == (b"answer-old", None)
    assert kept[0] == b"answer-newest"
    crew.keep_answer("old", KeptAnswer(now, "d"))
    assert [key for key, value in written[1] if value is None] == [], "it is replaced"
    crew.tidy()
    assert written[2:] == [[(b"answer-old", None)]], "nobody has to send a key"
    del known["old"]
    crew.tidy()
    assert len(written) == 3, "nothing is written for nothing"
    assert heard == [2, 3], "and the client of an idle coordinator is heard"


def test_there_is_room_again_when_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "MOST", 1)
    with pytest.raises(WracklineError):
        too_old({"a": KeptAnswer(now_ms(), "d")}, "b", "")
    assert too_old({"a": KeptAnswer(now_ms(), "d")}, "a", "") == []
    assert too_old({"a": KeptAnswer(0, "d")}, "b", "") == ["a"]
