"""Dead letters by REST: each request is done, and a client that has to ask again gets the outcome."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from tests.unit.corpus.worker import ALONE, exchange, request
from wrackline.control.runtime.letters.letter_desk import LetterState
from wrackline.control.runtime.letters.letter_work import LetterWork
from wrackline.control.runtime.rest.routes import letter_routes
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.rest.server.endpoint import open_endpoint

REPLAY, DROP = "POST /connectors/shop/letters/replay", "DELETE /connectors/shop/letters/one"


class MadeDesk:
    """Notes what is begun; each piece of work ends when the test says so."""

    def __init__(self) -> None:
        self.letters, self.begun = self, list[Future[LetterState]]()
        self.at_once = True

    def brokers(self, name: str) -> str:
        return name

    def begin(self, name: str, work: LetterWork, by: str) -> Future[LetterState]:
        assert (name, by) == ("shop", "")
        made: Future[LetterState] = Future()
        self.begun.append(made)
        if self.at_once:
            self.end(work)
        return made

    def end(self, work: LetterWork | None = None) -> None:
        """Let the newest work end; its outcome says which it was."""
        done = {"letters": [], "nth": len(self.begun)}
        self.begun[-1].set_result(LetterState(None, work, outcome=done))


@pytest.fixture
def desk() -> MadeDesk:
    return MadeDesk()


@pytest.fixture
def port(desk: MadeDesk) -> Iterator[int]:
    routes: Any = letter_routes.routes(desk, AnswerCache(0.5))  # type: ignore[arg-type]  # all it uses
    with open_endpoint(ALONE, (routes,), print) as door:
        yield door.port


def ask(port: int, what: str) -> tuple[int, Any]:
    heard = exchange(port, request(what, {}, b""))
    return heard.status, heard.document.get("nth", heard.document.get("code"))


@pytest.mark.parametrize("what", [REPLAY, DROP])
def test_a_later_request_is_done_although_an_earlier_one_was_just_answered(
    port: int, desk: MadeDesk, what: str
) -> None:
    assert [ask(port, what) for _ in range(2)] == [(200, 1), (200, 2)], "new letters may have come"
    assert len(desk.begun) == 2


@pytest.mark.parametrize("what", [REPLAY, DROP])
def test_who_was_told_to_ask_again_gets_the_outcome_and_nothing_is_done_twice(
    port: int, desk: MadeDesk, what: str
) -> None:
    desk.at_once = False
    assert ask(port, what) == (503, "rest.still_looking")
    desk.end()
    assert ask(port, what) == (200, 1)
    assert len(desk.begun) == 1
