"""Boards in a worker's memory: a copy has all that was reported, and its version changes with it."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

from tests.fixtures.certificates import issue
from wrackline.control.runtime.board import board_follower
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_summary import PipelineHistory, summarise
from wrackline.control.runtime.ground.times import ClockSteps
from wrackline.producers.kafka.client import Client
from wrackline.schemas.kafka.board_records import Board, BoardKey, Document, Half, HalfBoard, encode
from wrackline.schemas.kafka.column_maps import ColumnMap
from wrackline.schemas.kafka.past.error_days import ErrorCount, ErrorDay

SOURCE = BoardKey("shop", Half.SOURCE)
ORDERS = SOURCE._replace(table="shop.public.orders")
COUNT = BoardKey("shop", Half.TARGET, errors=ErrorDay(115, "kafka.unreachable"))
RUNS: Document = {"state": "running"}


class HandedBoards(BoardFollower):
    """Boards whose records are handed over."""

    def hand(self, key: BoardKey, value: bytes) -> None:
        self._board.apply(key.encode(), value, 1)


def test_a_copy_of_a_board_has_its_maps_and_its_version() -> None:
    with closing(HandedBoards()) as boards:
        boards.hand(SOURCE, encode(RUNS, 1))
        boards.hand(ORDERS, encode({"state": "streaming"}, 1))
        first = boards.version("shop")
        boards.hand(ORDERS._replace(since_ms=1), ColumnMap("shop.public.orders", ()).encode())
        boards.hand(ORDERS, encode({"state": "streaming", "rows": 7}, 1))
        second = boards.version("shop")
        assert (second.states, second.all > first.all) == (first.states, True)
        with boards.held("shop", past=True) as halves:
            source = halves[Half.SOURCE]
        assert [one.since_ms for one in source.maps.of("shop.public.orders")] == [1]
        assert (source.states, source.version) == (second.states, second.all)
        boards.hand(ORDERS, encode({"state": "failed"}, 1))
        assert source.tables["shop.public.orders"]["state"] == "streaming", "a copy stays"
        assert boards.version("shop").states > second.states
        assert boards.version("other") == (0, 0)


def test_a_summary_is_of_the_states_that_are_there_now() -> None:
    made, history = Board(), PipelineHistory()

    def halves() -> dict[Half, HalfBoard]:
        return {half: replace(made.half("shop", half)) for half in Half}

    made.apply(ORDERS.encode(), encode({"state": "streaming", "events": {"c": 1}}, 1), 1)
    history.add(summarise(halves(), 1_000))
    made.apply(ORDERS.encode(), encode({"state": "streaming", "events": {"c": 2}}, 1), 1)
    assert history.newest(halves(), 2_000).at_ms == 1_000, "figures are some seconds old"
    made.apply(ORDERS.encode(), encode({"state": "queued", "events": {"c": 2}}, 1), 1)
    found = history.newest(halves(), 2_000)
    assert (found.at_ms, found.reading) == (2_000, 1)
    made.apply(SOURCE.encode(), encode({"state": "failed"}, 1), 1)
    assert history.newest(halves(), 3_000).states[Half.SOURCE] is not None
    assert history.newest(halves(), 6_000).at_ms == 6_000


@pytest.mark.parametrize("step_ms", [3_600_000, -3_600_000])
def test_a_clock_that_is_set_makes_no_half_silent_and_none_heard_for_ever(step_ms: int) -> None:
    wall_ms, steady_s = 10_000_000_000, 50.0
    with closing(HandedBoards(ClockSteps(lambda: wall_ms, lambda: steady_s))) as boards:

        def is_silent() -> bool:
            with boards.held("shop") as halves:
                assert halves[Half.TARGET].heard_ms == 0, "it was never heard"
                return halves[Half.SOURCE].is_silent(wall_ms)

        boards._board.apply(SOURCE.encode(), encode(RUNS, 1), wall_ms)
        boards._board.apply(COUNT.encode(), ErrorCount(1, 1, 1, "Transient", "x").encode(), wall_ms)
        wall_ms, steady_s = wall_ms + step_ms, steady_s + 1.0
        assert not is_silent()
        wall_ms, steady_s = wall_ms + 14_500, steady_s + 14.5
        assert is_silent(), "it says nothing any more"


def test_a_history_begins_again_where_the_clock_was_set_back() -> None:
    board, history = Board(), PipelineHistory()
    halves = {half: board.half("shop", half) for half in Half}
    for at_ms in range(100_000_000, 100_200_000, 2_000):
        history.add(summarise(halves, at_ms))
    before = len(history.samples())
    assert history.newest(halves, 100_150_000).at_ms == 100_150_000, "the last one is of later"
    assert history.is_due(100_150_000)
    history.add(summarise(halves, 100_150_000))
    moments = [one.at_ms for one in history.samples()]
    assert moments == sorted(set(moments))
    assert (moments[-1], len(moments) < before) == (100_150_000, True)
    assert [one.at_ms for one in history.minutes()] == [100_000_000, 100_060_000, 100_120_000]
    history.add(summarise(halves, 1_000_000))
    assert [one.at_ms for one in history.samples()] == [1_000_000]


def test_a_kafka_whose_authority_is_away_for_a_moment_is_followed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: Queue[str] = Queue()

    def consumer(settings: Any) -> Consumer:
        try:
            made = Consumer(settings)
        except KafkaException:
            tries.put("no file")
            raise
        tries.put("made")
        return made

    monkeypatch.setattr(board_follower, "Consumer", consumer)
    kafka = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "ssl"}
    client = Client({**kafka, "ssl.ca.location": str(tmp_path / "ca.crt")}, 1_000)
    with closing(BoardFollower()) as boards:
        boards.follow_lines("lines", client)
        assert tries.get(timeout=30) == "no file"
        issue("authority", authority=True).write(tmp_path, "ca")
        assert "made" in iter(lambda: tries.get(timeout=30), None)
