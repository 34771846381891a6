"""Databases that do not answer keep none of the others waiting: heartbeats, looks at logs, questions."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import cast

import pytest

from tests.fakes.source import FenceMark
from tests.unit.producers.test_lanes_sessions import wait_for
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Position
from wrackline.producers.observe.log_lag_poller import poll_logs
from wrackline.producers.task import background
from wrackline.producers.task.background import Crew, ask_each
from wrackline.producers.task.heartbeat_loop import run_heartbeats
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.tables.table import SourcePartition

AWAY = define("test.hung_away", Transient, "{database} is away", hint="wait")
REFUSED = define("test.login_refused", OperatorNeeded, "{database} lets nobody in", hint="see to it")
HANGS, *OTHERS = PARTITIONS = [SourcePartition("server", name) for name in ("a", "b", "c")]


class Server:
    """Databases, of which the first answers only when it may."""

    def __init__(self, partitions: Sequence[SourcePartition] = PARTITIONS, hang: int = 1) -> None:
        self.answers, self.all, self.hanging = threading.Event(), partitions, partitions[:hang]
        self.asked: Counter[SourcePartition] = Counter()
        self.at_once: Counter[SourcePartition] = Counter()
        self.most_at_once = 0

    def ask(self, partition: SourcePartition) -> None:
        self.asked[partition] += 1
        self.at_once[partition] += 1
        self.most_at_once = max(self.most_at_once, self.at_once[partition])
        if partition in self.hanging:
            assert self.answers.wait(20)
        self.at_once[partition] -= 1

    def answer(self, partition: SourcePartition) -> str:
        self.ask(partition)
        return partition.database

    # what a source is

    def partitions(self) -> list[SourcePartition]:
        return list(self.all)

    def beat(self, partition: SourcePartition) -> None:
        self.ask(partition)

    def log_end(self, partition: SourcePartition) -> Mark:
        self.ask(partition)
        return FenceMark("end", 1)


class Watcher:
    def confirmed(self, partition: SourcePartition) -> Position | None:
        raise AssertionError(f"nobody asks for what is kept of {partition}")

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        raise AssertionError(f"{log} of {partition}")

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        """It is asked for."""


@contextmanager
def beats(server: Server) -> Iterator[None]:
    with run_heartbeats(
        cast("Source", server),
        server.all,
        lambda _: 0.0,
        0.001,
        clock=time.monotonic,
        tell=lambda error: pytest.fail(str(error)),
    ):
        yield


@contextmanager
def looks(server: Server) -> Iterator[None]:
    with poll_logs(cast("Source", server), Watcher(), lambda: 0, every=0.001):
        yield


@pytest.mark.parametrize("rounds", [beats, looks])
def test_the_others_are_asked_again_and_again(
    rounds: Callable[[Server], AbstractContextManager[None]],
) -> None:
    server = Server()
    with rounds(server):
        wait_for(lambda: min(server.asked[one] for one in OTHERS) >= 5 and server.asked[HANGS] > 0)
        assert server.asked[HANGS] == 1
        server.answers.set()
    assert server.most_at_once == 1, "each is asked by one thread at a time"


def test_a_log_that_an_operator_must_see_to_is_asked_seldom() -> None:
    """A log-in with a refused password each second locks the account on some servers."""

    class Refusing(Server):
        def log_end(self, partition: SourcePartition) -> Mark:
            super().log_end(partition)
            if partition == HANGS:
                raise REFUSED(database=partition.database)
            return FenceMark("end", 1)

    server = Refusing(hang=0)
    with looks(server):
        wait_for(lambda: min(server.asked[one] for one in OTHERS) >= 50)
        asked = server.asked[HANGS]
    assert 1 <= asked <= 3, "of each 31 looks the first"


class Refused(Server):
    """Its question about all logs is refused; then it `rests` for so many looks, if it does at all."""

    def __init__(self, rests: int) -> None:
        super().__init__(hang=0)
        self.rests, self.resting, self.looks = rests, 0, list[int]()
        self.turn = 0

    @property
    def survey_s(self) -> float | None:
        self.turn += 1
        self.resting = max(0, self.resting - 1)
        return None if self.resting else 5.0

    def log_ends(self) -> dict[SourcePartition, Mark]:
        self.looks.append(self.turn)
        self.resting = self.rests
        raise REFUSED(database="all of them")

    def log_states(self) -> dict[SourcePartition, None]:
        return {}


@pytest.mark.parametrize(("rests", "least"), [(0, 30), (20, 20)], ids=["it does not rest", "it rests itself"])
def test_a_refused_question_about_all_logs_is_asked_again_as_soon_as_it_may_be(
    rests: int, least: int
) -> None:
    """It is asked at each fifth look, and meanwhile no log is asked about by itself."""
    server = Refused(rests)
    with looks(server):
        wait_for(lambda: len(server.looks) >= 3)
    apart = [later - before for before, later in pairwise(server.looks)]
    assert all(least <= turns < 4 * 30 for turns in apart), apart
    assert (server.asked[HANGS] > 0) == (rests > 0)


TWENTY = [SourcePartition("server", str(number)) for number in range(20)]


@pytest.mark.parametrize("rounds", [beats, looks])
def test_the_others_are_asked_though_more_hang_than_there_are_threads(
    rounds: Callable[[Server], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_SILENCE_S", 0.05)
    server = Server(TWENTY, hang=19)
    with rounds(server):
        wait_for(lambda: server.asked[TWENTY[19]] >= 5)
        assert max(server.asked[one] for one in server.hanging) == 1
        server.answers.set()


def test_answers_are_there_without_the_one_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_SILENCE_S", 0.1)
    server = Server()
    answers = ask_each(server.answer, PARTITIONS, "ask")
    assert [answer.done() for answer in answers.values()] == [False, True, True]
    assert [answers[one].result() for one in OTHERS] == ["b", "c"]
    server.answers.set()
    assert answers[HANGS].result(10) == "a"


def test_an_error_is_the_answer_of_one_and_the_only_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "_SILENCE_S", 0.0)
    server = Server()
    timer = threading.Timer(0.1, server.answers.set)
    timer.start()
    assert ask_each(server.answer, [HANGS], "ask")[HANGS].result(0) == "a"

    def refuse(partition: SourcePartition) -> str:
        raise AWAY(database=partition.database)

    with pytest.raises(Transient):
        ask_each(refuse, [HANGS], "ask")[HANGS].result(0)


def test_a_call_that_breaks_its_thread_leaves_the_next_one_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: broken.append(str(told.exc_value)))
    calls: list[int] = []

    def call(number: int) -> None:
        calls.append(number)
        if len(calls) == 1:
            raise ValueError("a fault of ours")

    crew = Crew(call, "calls")
    crew.begin(1)
    wait_for(lambda: len(broken) == 1)

    def called_again() -> bool:
        crew.begin(1)
        return len(calls) >= 3

    wait_for(called_again)
    crew.close(10)


def test_threads_are_few_however_many_are_asked() -> None:
    names, lock = set[str](), threading.Lock()

    def ask(number: int) -> int:
        with lock:
            names.add(str(threading.get_ident()))
        time.sleep(0.001)
        return number

    answers = ask_each(ask, range(100), "ask")
    assert sum(answer.result() for answer in answers.values()) == 4950
    assert len(names) <= 8
