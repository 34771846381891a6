"""Lines that are sent to Kafka: how many a second, which of them a reader gets, and who hands them over."""

import io
from contextlib import closing
from itertools import count
from math import inf
from queue import Queue
from threading import Event, Semaphore
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.unit.corpus.worker import exchange, request, working
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.logs import trail_writer
from wrackline.control.runtime.logs.line_rate import LineRate
from wrackline.control.runtime.logs.lines import also_hear, log_to
from wrackline.control.runtime.logs.trail_lines import LineChoice, choose_lines
from wrackline.control.runtime.logs.trail_writer import KEPT, TrailWriter, open_trail
from wrackline.producers.kafka.client import Client


def line(ts_ms: int, level: str = "info", **more: object) -> bytes:
    return orjson.dumps({"ts_ms": ts_ms, "level": level, "event": "e", "line": f"at {ts_ms}", **more})


def test_a_second_of_many_lines_ends_with_their_count() -> None:
    rate = LineRate(most=3)
    sent = [made for number in range(10) for made in rate.admit({"event": "waits", "n": number}, 7.0)]
    assert [one["n"] for one in sent] == [0, 1, 2]
    rate.admit({"event": "other"}, 7.9)
    assert rate.due(7.9) == []
    (left,) = rate.due(8.0)
    assert left["line"] == "… 8 more lines in one second, 7 of them: waits"
    assert rate.due(9.0) == []
    assert rate.admit({"event": "e"}, 9.5) == [{"event": "e"}]


def test_the_count_comes_before_the_first_line_of_a_later_second() -> None:
    rate = LineRate(most=1)
    for _ in range(3):
        rate.admit({"event": "e"}, 1.0)
    assert [one["event"] for one in rate.admit({"event": "next"}, 5.0)] == ["left out", "next"]


@pytest.mark.parametrize(
    ("choice", "times"),
    [
        (LineChoice(), [1, 2, 3, 4]),
        (LineChoice(level="warning"), [2, 3]),
        (LineChoice(level="error"), [3]),
        (LineChoice(since_ms=3), [3, 4]),
        (LineChoice(table="d.s.t"), [2, 4]),
        (LineChoice(limit=2), [3, 4]),
    ],
)
def test_a_reader_gets_the_newest_lines_that_fit(choice: LineChoice, times: list[int]) -> None:
    records = [
        line(1),
        line(2, "warning", table="d.s.t"),
        line(3, "error"),
        line(4, line="d.s.t continues"),
        b"no JSON",
        b"[]",
        orjson.dumps({"ts_ms": "now", "line": "x"}),
        orjson.dumps({"ts_ms": 9, "line": 7}),
    ]
    shown, left_out = choose_lines(records, choice)
    assert [one["ts_ms"] for one in shown] == times
    assert left_out == (2 if choice.limit == 2 else 0)


def test_every_line_of_a_process_is_handed_over_until_the_block_ends() -> None:
    heard: list[object] = []
    printed = io.StringIO()
    log, numbers = log_to(printed, for_programs=True).bind(pipeline="shop"), count()
    with also_hear(lambda record: heard.append((record["event"], record["pipeline"], record["n"]))):
        log.info("running", line="running", n=next(numbers))
        log.debug("not this", line="no", n=next(numbers))
        log.error("stopped", line="stopped", n=next(numbers))
    log.info("after", line="after", n=next(numbers))
    assert heard == [("running", "shop", 0), ("stopped", "shop", 2)]
    assert printed.getvalue().count("\n") == 3


class NoKafka:
    """A client whose Kafka is away."""

    def admin(self) -> dict[str, object]:
        raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))


def test_whatever_a_line_holds_its_logger_goes_on() -> None:
    with open_trail(cast("Client", NoKafka()), "topic", 3) as put:
        for odd in ("\udcff", 1 << 70, object(), {7: "x"}):
            put({"event": "e", "line": "a file", "file": odd})


class Away:
    """A producer whose broker takes nothing until `back`; it says so of each line, in order."""

    def __init__(self) -> None:
        self.back, self.came, self._open = Event(), Queue[bytes](), list[tuple[bytes, Any]]()
        self.refused = Semaphore(0)  # released with each batch that it does not take

    def __len__(self) -> int:
        return len(self._open)

    def produce(self, _: str, line: bytes, *, partition: int, on_delivery: Any) -> None:
        assert partition == 0
        self._open.append((line, on_delivery))

    def poll(self, _: float) -> None:
        done, self._open = self._open, []
        takes = self.back.is_set()
        for line, delivered in done:
            if takes:
                self.came.put(line)
            delivered(None if takes else KafkaError(KafkaError._MSG_TIMED_OUT), None)
        if done and not takes:
            self.refused.release()

    def flush(self, _: float) -> None:
        self.poll(0)


def test_lines_wait_while_kafka_is_away_and_the_newest_are_sent_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, complete, failed = Away(), Event(), Event()

    def prepared(writer: TrailWriter) -> Away:
        if not complete.is_set():
            raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        assert len(writer._waiting) <= KEPT
        failed.set()
        return broker

    monkeypatch.setattr(TrailWriter, "_prepared", prepared)
    monkeypatch.setattr(trail_writer, "_AGAIN_S", 0.01)
    monkeypatch.setattr(trail_writer, "_LOOK_S", 0.01)
    with open_trail(cast("Client", None), "topic", 90, inf) as put:
        for number in range(KEPT + 7):
            put({"event": "write", "n": number})
        complete.set()
        assert failed.wait(30), "no more are kept"
        put({"event": "write", "n": KEPT + 7})
        while broker.refused.acquire(blocking=False):
            pass
        for _ in range(2):  # the first batch may have been made before this line came
            assert broker.refused.acquire(timeout=30)
        broker.back.set()
        numbers = [orjson.loads(broker.came.get(timeout=30))["n"] for _ in range(KEPT)]
    assert numbers == list(range(8, KEPT + 8))
    assert broker.came.empty()


def test_a_line_of_any_length_takes_no_memory_of_the_worker() -> None:
    with closing(BoardFollower()) as follower:
        follower.follow_lines("lines", Client({"bootstrap.servers": "127.0.0.1:1"}, 1_000))
        for length in (10, 1 << 20, 20):
            record = SimpleNamespace(
                key=lambda: None,
                value=lambda n=length: b"x" * n,
                topic=lambda: "lines",
                offset=lambda n=length: n,
            )
            follower.take(cast("Any", None), cast("Any", record), 0)
        assert [len(one) for one in follower.lines("lines")] == [10, 20]
        assert [place for place, _ in follower.numbered_lines("lines")] == [10, 20]


def test_no_write_of_many_is_left_out_of_the_audit() -> None:
    rate = LineRate(most=inf)
    sent = [made for number in range(500) for made in rate.admit({"event": "write", "n": number}, 7.0)]
    assert [one["n"] for one in sent] == list(range(500))


def test_lines_are_answered_by_rest() -> None:
    with working() as worker:
        heard = exchange(worker.port, request("GET /connectors/shop/logs", {}, b""))
        assert (heard.document["sent"], [one["line"] for one in heard.document["lines"]]) == (
            True,
            ["running"],
        )
        for bad in ("level=loud", "limit=0", "limit=5000", "since=x"):
            assert exchange(worker.port, request(f"GET /connectors/shop/logs?{bad}", {}, b"")).status == 400
        assert exchange(worker.port, request("GET /connectors/no/logs", {}, b"")).status == 404
