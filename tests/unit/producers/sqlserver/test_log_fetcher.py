"""When a database's thread polls: at once for news, and now and then for who asks all the time."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.unit.producers.test_lanes_sessions import wait_for
from wrackline.producers.sources.sqlserver.poll.following import Following
from wrackline.producers.sources.sqlserver.poll.log_fetcher import ASKED_S, LogFetcher
from wrackline.producers.sources.sqlserver.poll.round_reader import LogPiece

LONG_S = 600.0
NOBODY = Following({}, {})


class Pace:
    """Rests for as long as it is told, and keeps who wants to hear of news."""

    def __init__(self, rest_s: float) -> None:
        self.rest, self.most = rest_s, list[float | None]()
        self.hear: Callable[[], None] = lambda: None

    def begin(self, hear: Callable[[], None]) -> None:
        self.hear = hear

    def rest_s(self, most_s: float | None) -> float:
        self.most.append(most_s)
        return self.rest

    def end(self, hear: Callable[[], None]) -> None:
        assert hear == self.hear


class Log:
    """A log without news; counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def read(self) -> LogPiece:
        self.reads += 1
        return LogPiece(NOBODY, quiet=True, rest_s=7.0)


class Fetched:
    """A fetcher under way."""

    def __init__(self, rest_s: float) -> None:
        self.log, self.pace, self.ended = Log(), Pace(rest_s), threading.Event()
        self.fetcher = LogFetcher(self.log, self.ended.set, self.pace, 1 << 20)
        self.fetcher.start(lambda: None)
        wait_for(lambda: bool(self.pace.most))

    def answers(self) -> int:
        """Take what was handed out to who asked."""
        count = 0
        while (piece := self.fetcher.take()) is not None:
            count += piece.question
        return count


@pytest.fixture
def fetched() -> Iterator[Fetched]:
    made = Fetched(LONG_S)
    yield made
    made.fetcher.close()
    assert made.ended.is_set()


def test_its_place_is_reported_at_the_beginning_and_then_it_rests(fetched: Fetched) -> None:
    wait_for(lambda: fetched.answers() == 1)
    time.sleep(2 * ASKED_S)
    assert (fetched.log.reads, fetched.pace.most) == (1, [7.0])


def test_news_are_polled_for_at_once(fetched: Fetched) -> None:
    began = time.monotonic()
    for reads in range(2, 12):
        fetched.pace.hear()
        wait_for(lambda reads=reads: fetched.log.reads == reads)  # type: ignore[misc]
    assert time.monotonic() - began < 10 * ASKED_S


def test_who_asks_all_the_time_is_answered_some_times_a_second(fetched: Fetched) -> None:
    """A reader of rows does, while it waits for its mark: on a quiet database for up to five minutes."""
    began = time.monotonic()
    while (seconds := time.monotonic() - began) < 5 * ASKED_S:
        fetched.fetcher.ask()
        time.sleep(0.002)
    assert 3 <= fetched.log.reads <= 2 + seconds / ASKED_S
    wait_for(lambda: fetched.answers() >= 1)


def test_a_question_is_not_kept_from_a_log_that_is_polled_more_often_anyway() -> None:
    made = Fetched(0.001)
    wait_for(lambda: made.log.reads > 20)
    made.answers()
    made.fetcher.ask()
    wait_for(lambda: made.answers() == 1)
    made.fetcher.close()
