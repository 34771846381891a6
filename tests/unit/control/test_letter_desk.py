"""The desk for letters: one piece of work at a time, in a process of its own, and its outcome for a while."""

import os
import signal
import socket
from multiprocessing.connection import Connection
from threading import Event

import pytest

from wrackline.control.runtime.letters import letter_desk
from wrackline.control.runtime.letters.letter_desk import LetterDesk
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork, work_on_settings
from wrackline.producers.connect.child import RunningProcess
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.nursery import Nursery
from wrackline.schemas.errors import Transient
from wrackline.schemas.settings.secret_refs import Allowed

LOOK = LetterWork(LetterVerb.LOOK)
FOUND: dict[str, object] = {"groups": [], "letters": [], "done": {}}


def finds(line: socket.socket) -> None:
    Lifeline(line).tell({"answer": FOUND})


def dies(line: socket.socket) -> None:
    assert line
    os.kill(os.getpid(), signal.SIGKILL)


def waits(line: socket.socket) -> None:
    assert line
    Event().wait(60)


@pytest.fixture(scope="module")
def nursery() -> Nursery:
    return Nursery(["wrackline.control.runtime.letters.letter_work"])


def test_an_outcome_is_known_until_it_is_old(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = LetterDesk(lambda _name, _work: nursery.way(finds))
    assert desk.state("shop").outcome is None
    ended = desk.begin("shop", LOOK, "ann").result(30)
    state = desk.state("shop")
    assert ended == state, "another's work may begin between its end and the next look at the desk"
    assert (state.doing, state.outcome, state.by, state.error) == (None, FOUND, "ann", None)
    monkeypatch.setattr(letter_desk, "_KEPT_S", -1)
    assert desk.state("shop").outcome is None, "it has values of rows"


def test_one_piece_of_work_runs_at_a_time(nursery: Nursery) -> None:
    desk = LetterDesk(lambda _name, _work: nursery.way(waits), patience=1.0)
    under_way = desk.begin("shop", LOOK, "")
    assert desk.state("shop").doing is LetterVerb.LOOK
    with pytest.raises(Transient, match=r"letters\.busy"):
        desk.begin("orders", LOOK, "")
    under_way.result(30)
    assert (desk.state("shop").error or {})["code"] == "letters.not_in_time"


def test_a_process_that_dies_is_an_error_and_leaves_the_desk_free(nursery: Nursery) -> None:
    ways = [nursery.way(dies), nursery.way(finds)]
    desk = LetterDesk(lambda _name, _work: ways.pop(0))
    desk.begin("shop", LOOK, "").result(30)
    error = desk.state("shop").error or {}
    assert (error["code"], "-9" in error["sentence"]) == ("letters.not_done", True)
    desk.begin("shop", LOOK, "").result(30)
    assert desk.state("shop").error is None


@pytest.mark.parametrize("why", [OSError, EOFError])
def test_a_process_that_can_not_be_started_is_an_error_that_says_what_to_do(why: type[Exception]) -> None:
    def begin(line: socket.socket, printed: Connection) -> RunningProcess:
        raise why(line, printed)

    desk = LetterDesk(lambda _name, _work: begin)
    desk.begin("shop", LOOK, "").result(30)
    error = desk.state("shop").error or {}
    assert (error["code"], "ulimit" in error["hint"]) == ("worker.no_process", True)
    assert why.__name__ in error["sentence"]


def test_a_pipeline_without_a_target_says_so(nursery: Nursery) -> None:
    given = {"name": "shop", "topic.prefix": "shop"}
    desk = LetterDesk(lambda _name, _work: nursery.way(work_on_settings, given, Allowed(), LOOK))
    desk.begin("shop", LOOK, "").result(30)
    assert desk.state("shop").outcome is None
    assert desk.state("shop").error is not None
