"""Looks at a pipeline by REST: one at a time, bounded, and no other path waits for them."""

import asyncio
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Event, Lock
from typing import Any

import orjson
import pytest

from tests.unit.console.made_promise import STUCK, report
from wrackline.control.runtime.rest.routes import answer_cache, view_routes
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.schemas.errors import OperatorNeeded, Transient

MANY = 8
AWAY = OperatorNeeded("test.away", "it is away", "fetch it")


class Looks:
    """Five pipelines; a look continues until it may end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end, self.looks = Event(), Event()
        self.wrong: Exception | None = None
        self._lock = Lock()

    def names(self) -> Sequence[str]:
        return ["shop", "a", "b", "c", "d"]

    def status(self, name: str) -> PipelineStatus:
        self._look(name)
        return PipelineStatus(name, {}, {"databases": {}}, None)

    def slo(self, name: str) -> SloReport | None:
        self._look(f"{name}, promised")
        return report()

    def assess(self, name: str, *, probe: bool) -> Mapping[str, Any]:
        self._look(f"{name}, tried" if probe else f"{name}!")
        return {"ok": False, "findings": [{"id": "pg.slot_lost"}]}

    def _look(self, what: str) -> None:
        with self._lock:
            self.begun.append(what)
        self.looks.set()
        assert self.may_end.wait(60)
        if self.wrong is not None:
            raise self.wrong


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Asking:
    """Asks over a real socket, as many as like at once."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(self, path: str, method: str = "GET") -> tuple[int, Any]:
        connection = HTTPConnection(HOST, self.port, timeout=60)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, orjson.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture
def made() -> Iterator[Looks]:
    one = Looks()
    yield one
    one.may_end.set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ask(made: Looks, clock: Clock) -> Iterator[Asking]:
    with open_endpoint(
        RestSettings(0), [view_routes.routes(made, AnswerCache(clock=clock))], tell=print
    ) as door:
        yield Asking(door.port)


@pytest.fixture
def hasty(made: Looks) -> Iterator[Asking]:
    """A client that waits for nothing."""
    with open_endpoint(
        RestSettings(0), [view_routes.routes(made, AnswerCache(patience=0))], tell=print
    ) as door:
        yield Asking(door.port)


def test_requests_during_a_look_get_the_same_answer(made: Looks, ask: Asking) -> None:
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(ask, f"/connectors/shop/{('tables', 'lag')[n % 2]}") for n in range(MANY)]
        assert made.looks.wait(60)
        assert ask("/health")[0] == 200, "nobody else waits"
        made.may_end.set()
        assert [one.result()[0] for one in asked] == [200] * MANY
    assert made.begun == ["shop"]


def test_an_answer_is_good_for_a_while(made: Looks, ask: Asking, clock: Clock) -> None:
    made.may_end.set()
    for now, begun in ((0, 1), (1, 1), (2, 2), (3, 2), (4, 3)):
        clock.now = now
        assert ask("/connectors/shop/tables")[0] == 200
        assert len(made.begun) == begun
    for now, begun in ((10, 4), (39, 4), (40, 5)):
        clock.now = now
        status, told = ask("/connectors/shop/assessment")
        assert (status, told["pipeline"], told["ok"]) == (200, "shop", False)
        assert told["findings"][0]["id"] == "pg.slot_lost"
        assert len(made.begun) == begun


def test_a_promise_is_looked_at_once_for_all_of_its_tables(made: Looks, ask: Asking) -> None:
    made.may_end.set()
    status, told = ask("/connectors/shop/slo")
    assert (status, told["pipeline"], len(told["tables"])) == (200, "shop", 2)
    assert [one["table"] for one in ask(f"/connectors/shop/slo?table={STUCK}")[1]["tables"]] == [STUCK]
    assert made.begun == ["shop, promised"]
    assert ask("/connectors/other/slo")[0] == 404


def test_a_trial_is_a_look_of_its_own(made: Looks, ask: Asking) -> None:
    made.may_end.set()
    assert ask("/connectors/shop/assessment")[0] == 200
    assert ask("/connectors/shop/assessment", "POST")[0] == 200
    assert made.begun == ["shop!", "shop, tried"]


def test_an_error_is_reported_and_not_kept(made: Looks, ask: Asking) -> None:
    made.may_end.set()
    made.wrong = AWAY
    status, told = ask("/connectors/shop/tables")
    assert (status, told["code"], told["hint"]) == (409, "test.away", "fetch it")
    made.wrong = None
    assert ask("/connectors/shop/tables")[0] == 200


def test_what_takes_long_continues_and_is_heard_later(made: Looks, hasty: Asking) -> None:
    status, told = hasty("/connectors/shop/assessment")
    assert (status, told["code"]) == (503, "rest.still_looking")
    assert hasty("/connectors/shop/assessment")[0] == 503
    made.may_end.set()
    while hasty("/connectors/shop/assessment")[0] == 503:
        pass
    assert made.begun == ["shop!"]


def test_no_more_than_some_are_looked_at_at_once(
    made: Looks, hasty: Asking, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        assert hasty(f"/connectors/{name}/lag")[1]["code"] == "rest.still_looking"
    assert hasty("/connectors/shop/lag")[1]["code"] == "rest.busy"
    assert hasty("/connectors/a/tables")[1]["code"] == "rest.still_looking", "one that is under way is joined"
    assert sorted(made.begun) == ["a", "b", "c", "d"]
    monkeypatch.setattr(answer_cache, "_WAITING", 0)
    assert ask("/connectors/shop/lag")[1]["code"] == "rest.busy", "a client that waits takes a connection"


class RowValues:
    """An answer that has values of rows."""


@pytest.mark.parametrize("longest", [0, 0.01])
def test_an_answer_leaves_the_memory_after_its_time_though_nobody_asks_again(longest: float) -> None:
    async def ask() -> None:
        answers, gone = AnswerCache(longest=longest), asyncio.Event()
        weakref.finalize(await answers.answer("q", RowValues, 0), gone.set)
        await asyncio.wait_for(gone.wait(), 20)

    asyncio.run(ask())


def test_an_answer_that_comes_too_late_leaves_the_memory_as_well() -> None:
    async def ask() -> None:
        answers, may_end, gone = AnswerCache(patience=0, longest=0), Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def look() -> RowValues:
            assert may_end.wait(60)
            found = RowValues()
            weakref.finalize(found, loop.call_soon_threadsafe, gone.set)
            return found

        with pytest.raises(Transient, match=r"rest\.still_looking"):
            await answers.answer("q", look, 0)
        may_end.set()
        await asyncio.wait_for(gone.wait(), 20)

    asyncio.run(ask())


def test_a_pipeline_that_is_not_there_is_not_looked_at(made: Looks, ask: Asking) -> None:
    for path in ("tables", "lag", "assessment"):
        status, told = ask(f"/connectors/nobody/{path}")
        assert (status, told["code"]) == (404, "rest.no_connector")
    assert not made.begun
