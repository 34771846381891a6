"""How often each error came on each day: what is counted, written, read back, refused and forgotten."""

from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from tests.unit.control.test_lineage import values
from wrackline.control.runtime.board import board_reader
from wrackline.control.runtime.board.board_changes import BoardChanges, HalfLook
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.logs.error_changes import ErrorChanges
from wrackline.producers.kafka import offsets_topic
from wrackline.schemas.kafka.board_records import Board, BoardKey, Half, encode, parse_key
from wrackline.schemas.kafka.past.error_days import (
    DAY_MS,
    LONGEST,
    MOST_CODES,
    MOST_DAYS,
    ErrorCount,
    ErrorDay,
    ErrorDays,
    read_count,
)

TODAY = 20_785
NOON = TODAY * DAY_MS + DAY_MS // 2
KEY = BoardKey("shop", Half.SOURCE, errors=ErrorDay(TODAY, "kafka.unreachable"))
ERROR = {"code": "kafka.unreachable", "kind": "Transient", "sentence": "no answer", "hint": "wait"}


class Clock:
    def __init__(self) -> None:
        self.ms = NOON

    def __call__(self) -> int:
        return self.ms


def line(level: str = "warning", **error: object) -> dict[str, object]:
    return {"level": level, "event": "recovering", "line": "x", "error": {**ERROR, **error}}


def written(changes: ErrorChanges, board: Board) -> dict[tuple[int, str], tuple[int, int, int, str]]:
    """Write what is due, and return what the board has then."""
    for key, value in changes.due():
        board.apply(key, value, changes._now_ms())
    found = board.half("shop", Half.SOURCE).errors.items()
    return {
        (about.day, about.code): (one.count, one.first_ms, one.last_ms, one.sentence) for about, one in found
    }


def test_a_key_is_read_as_it_was_written() -> None:
    assert KEY.encode() == b'["shop","source",20785,"kafka.unreachable"]'
    assert parse_key(KEY.encode()) == KEY


def test_warnings_and_errors_with_a_code_are_counted_by_day() -> None:
    clock, board = Clock(), Board()
    changes = ErrorChanges("shop", Half.SOURCE, clock)
    for one in (line(), line("error", sentence="none yet"), line("info"), {"level": "error", "line": "x"},
                {"level": "error", "error": "x"}, line("critical", code="board.fault")):  # fmt: skip
        changes.hear(one)
        clock.ms += 1
    assert written(changes, board) == {
        (TODAY, "kafka.unreachable"): (2, NOON, NOON + 1, "none yet"),
        (TODAY, "board.fault"): (1, NOON + 5, NOON + 5, "no answer"),
    }
    assert changes.due() == []
    clock.ms += DAY_MS
    changes.hear(line())
    assert set(written(changes, board)) == {
        (TODAY, "kafka.unreachable"), (TODAY, "board.fault"), (TODAY + 1, "kafka.unreachable"),
    }  # fmt: skip


def test_a_new_process_goes_on_counting_and_removes_what_is_too_old() -> None:
    clock, board = Clock(), Board()
    first = ErrorChanges("shop", Half.SOURCE, clock)
    first.hear(line())
    written(first, board)
    clock.ms += 1
    second = ErrorChanges("shop", Half.SOURCE, clock)
    second.hear(line())
    second.recorded(board.half("shop", Half.SOURCE).errors)
    assert written(second, board) == {(TODAY, "kafka.unreachable"): (2, NOON, NOON + 1, "no answer")}
    clock.ms += (MOST_DAYS - 1) * DAY_MS
    assert second.due() == []
    clock.ms += DAY_MS
    assert second.due() == [(KEY.encode(), None)]


def test_what_may_be_lost_is_written_again_and_counts_once() -> None:
    clock, board = Clock(), Board()
    changes = ErrorChanges("shop", Half.SOURCE, clock)
    changes.hear(line())
    changes.due()
    changes.lost()
    assert written(changes, board)[(TODAY, "kafka.unreachable")][0] == 1
    assert changes.due() == []


def test_the_error_that_ends_a_half_counts_once() -> None:
    changes, board = ErrorChanges("shop", Half.SOURCE, Clock()), Board()
    for state, error in (("running", None), ("recovering", ERROR), ("failed", ERROR), ("failed", ERROR)):
        changes.ends({"state": state, "error": error})
    assert written(changes, board)[(TODAY, "kafka.unreachable")][0] == 1


def good(**more: object) -> bytes:
    return orjson.dumps({**orjson.loads(ErrorCount(2, 1, 2, "Transient", "s").encode()), **more})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY.encode(), b"{}"),
        (KEY.encode(), b"[]"),
        (KEY.encode(), good(version=9)),
        (KEY.encode(), good(count=-1)),
        (KEY.encode(), good(count=True)),
        (KEY.encode(), good(last_ms="x")),
        (KEY.encode(), good(last_ms=10**18)),
        (KEY.encode(), good(first_ms=10**18)),
        (KEY.encode(), good(sentence=7)),
        (KEY.encode(), good(sentence="x" * 10_000)),
        (b'["shop","source",-1,"a.b"]', good()),
        (b'["shop","source",true,"a.b"]', good()),
        (b'["shop","source",20788,"a.b"]', good()),
        (b'["shop","source",20785,"a.b",1]', good()),
        (KEY._replace(errors=ErrorDay(TODAY, "x" * 101)).encode(), good()),
    ],
)
def test_what_another_program_wrote_is_refused_and_changes_nothing(key: bytes, value: bytes) -> None:
    board = Board()
    with pytest.raises((ValueError, KeyError, TypeError)):
        board.apply(key, value, NOON)
    assert list(board.half("shop", Half.SOURCE).errors.items()) == []


def test_memory_has_a_bound() -> None:
    board, value = Board(), good()
    for day in range(TODAY - 20, TODAY + 1):
        for code in range(MOST_CODES + 20):
            board.apply(
                BoardKey("shop", Half.SOURCE, errors=ErrorDay(day, f"a.{code}")).encode(), value, NOON
            )
    found = [about.day for about, _ in board.half("shop", Half.SOURCE).errors.items()]
    assert len(found) == MOST_DAYS * MOST_CODES
    assert min(found) == TODAY - MOST_DAYS + 1
    long = ErrorCount(1, 1, 1, "k", "s" * 9_000)
    assert len(read_count(long.encode()).sentence) == LONGEST


def test_a_count_is_no_sign_of_life_and_no_table() -> None:
    board = Board()
    board.apply(KEY.encode(), good(), NOON)
    half = board.half("shop", Half.SOURCE)
    assert (half.heard_ms, half.state, half.tables) == (0, None, {})
    changes = BoardChanges("shop", Half.SOURCE)
    changes.reported_before([KEY, BoardKey("shop", Half.SOURCE, "t")])
    due = changes.due(HalfLook({"state": "running"}, {}), 1.0, NOON, whole=True)
    assert due == [
        (BoardKey("shop", Half.SOURCE, "t").encode(), None),
        (BoardKey("shop", Half.SOURCE).encode(), encode({"state": "running"}, NOON)),
    ]


def test_a_code_and_a_sentence_that_no_record_can_have_are_cut() -> None:
    changes, board = ErrorChanges("shop", Half.SOURCE, Clock()), Board()
    changes.hear(line(code="x" * 200, sentence="half of a pair: \ud800"))
    assert written(changes, board) == {(TODAY, "x" * 100): (1, NOON, NOON, "half of a pair: ?")}


def test_a_count_of_a_clock_that_was_ahead_removes_no_other() -> None:
    clock = Clock()
    changes = ErrorChanges("shop", Half.SOURCE, clock)
    changes.hear(line())
    clock.ms += 30 * DAY_MS
    changes.hear(line())
    clock.ms -= 30 * DAY_MS
    changes.hear(line(code="test.later"))
    assert len(changes.due()) == 3
    changes.lost()
    assert KEY.encode() in dict(changes.due())


def test_days_are_forgotten_by_today_and_their_number_has_a_bound() -> None:
    days, one = ErrorDays(), ErrorCount(1, NOON, NOON, "", "")
    days.take(ErrorDay(TODAY - 3, "a"), one, TODAY)
    days.take(ErrorDay(TODAY + 30, "b"), one, TODAY)
    assert [about.code for about, _ in days.items()] == ["a", "b"]
    days.take(ErrorDay(TODAY, "c"), one, TODAY + MOST_DAYS - 1)
    assert [about.code for about, _ in days.items()] == ["b", "c"]
    for day in range(TODAY, 0, -1000):
        days.take(ErrorDay(day, "d"), one, day)
    assert len({about.day for about, _ in days.items()}) == MOST_DAYS + 1, "whatever the writers' clocks say"


def test_a_record_of_a_clock_that_was_ahead_counts_as_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = now_ms() + 30 * DAY_MS
    of_ahead = KEY._replace(errors=ErrorDay(ahead // DAY_MS, "a.b")).encode()
    half = BoardKey("shop", Half.SOURCE).encode()
    stored = [
        SimpleNamespace(key=of_ahead, value=good(), ms=ahead),
        SimpleNamespace(key=half, value=encode({"state": "running"}, ahead), ms=ahead),
    ]
    monkeypatch.setattr(offsets_topic, "slot_exists", lambda *_: True)
    monkeypatch.setattr(offsets_topic, "read_records", lambda *_, **__: stored)
    [found] = board_reader.read_records(values(), cast("Any", None))
    assert found.key == half
    assert found.at_ms <= now_ms()
