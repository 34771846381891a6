"""The board: its records and their fold, and which of them a half writes."""

from collections.abc import Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from bench.ours.boards import pipeline
from wrackline.control.runtime.board.board_changes import BoardChanges, HalfLook, Record
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_reader import BoardRecord, fold_records
from wrackline.schemas.kafka import board_records
from wrackline.schemas.kafka.board_records import (
    MINUTES,
    SILENT_S,
    Board,
    BoardFull,
    BoardKey,
    Document,
    Half,
    HalfState,
    encode,
    parse_key,
)
from wrackline.schemas.kafka.column_maps import ColumnMap, ColumnStep
from wrackline.schemas.minutes.minute_records import HalfDay

SOURCE = BoardKey("shop", Half.SOURCE)
ORDERS = SOURCE._replace(table="shop.public.orders")
RUNS: Document = {"state": "running", "events": 3}
STREAMS: Document = {"state": "streaming"}


def board(*records: tuple[BoardKey, Document | None, int]) -> Board:
    made = Board()
    for key, document, at_ms in records:
        made.apply(key.encode(), None if document is None else encode(document, at_ms), at_ms)
    return made


@pytest.mark.parametrize("key", [SOURCE, ORDERS, BoardKey('a "b"\n', Half.TARGET, "d.s.täble")])
def test_a_key_is_read_as_it_was_written(key: BoardKey) -> None:
    assert parse_key(key.encode()) == key


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b"{}"),
        (b'["shop"]', b"{}"),
        (b'["shop","moon"]', b"{}"),
        (b'["shop","source","a","b"]', b"{}"),
        (b'["shop","source",7]', b"{}"),
        (SOURCE.encode(), b"no JSON"),
        (SOURCE.encode(), b"[]"),
        (SOURCE.encode(), orjson.dumps({"version": 2, "at_ms": 1, "state": "running"})),
        (SOURCE.encode(), orjson.dumps({"version": 1, "at_ms": -1, "state": "running"})),
        (SOURCE.encode(), orjson.dumps({"version": 1, "at_ms": 1, "state": "dancing"})),
        (SOURCE.encode(), orjson.dumps({"version": 1, "at_ms": 1})),
    ],
)
def test_what_another_program_wrote_is_refused_and_changes_nothing(key: bytes, value: bytes) -> None:
    made = board((SOURCE, RUNS, 10))
    with pytest.raises((ValueError, KeyError, TypeError)):
        made.apply(key, value, 20)
    assert made.half("shop", Half.SOURCE).heard_ms == 10
    assert made.half("shop", Half.SOURCE).report["events"] == 3


def test_the_newest_record_of_each_key_counts() -> None:
    made = board(
        (SOURCE, RUNS, 1),
        (ORDERS, {"state": "streaming"}, 2),
        (SOURCE, {**RUNS, "events": 4}, 3),
        (ORDERS, None, 4),
        (BoardKey("shop", Half.TARGET, "t"), {"behind": 1}, 5),
    )
    half = made.half("shop", Half.SOURCE)
    assert (half.report["events"], half.tables, half.heard_ms) == (4, {}, 4)
    assert made.half("shop", Half.TARGET).tables["t"]["behind"] == 1
    made.forget("shop")
    assert made.half("shop", Half.SOURCE).state is None


def test_a_state_that_changes_is_told_from_figures_that_do() -> None:
    made = board((SOURCE, RUNS, 1), (ORDERS, {"state": "streaming", "rows": 1}, 2))
    half = made.half("shop", Half.SOURCE)

    def take(key: BoardKey, document: Document | None) -> tuple[bool, bool]:
        """Whether the state is another one, and whether anything is."""
        before = half.states, half.version
        made.apply(key.encode(), None if document is None else encode(document, 3), 3)
        return half.states != before[0], half.version != before[1]

    reason = {"code": "c", "sentence": "", "hint": ""}
    assert take(ORDERS, {"state": "streaming", "rows": 9}) == (False, True)
    assert take(SOURCE, {**RUNS, "events": 4}) == (False, True)
    assert take(ORDERS, {"state": "streaming", "reason": reason}) == (True, True)
    assert take(ORDERS, {"state": "queued"}) == (True, True)
    assert take(ORDERS, None) == (True, True)
    assert take(ORDERS, {"state": "queued"}) == (True, True)
    assert take(SOURCE, {"state": "recovering"}) == (True, True)
    assert take(SOURCE, {"state": "recovering", "error": reason}) == (True, True)
    before = half.version
    made.forget("shop")
    made.apply(SOURCE.encode(), encode(RUNS, 4), 4)
    assert made.half("shop", Half.SOURCE).version > before, "or a page would take it for the old one"


@pytest.mark.parametrize("state", HalfState)
def test_a_half_that_runs_and_says_nothing_is_silent(state: HalfState) -> None:
    half = board((SOURCE, {"state": state.value}, 0)).half("shop", Half.SOURCE)
    late = int(SILENT_S * 1000)
    ended = state in {HalfState.COMPLETED, HalfState.STOPPED, HalfState.FAILED}
    assert (half.is_silent(late), half.runs(late)) == (False, not ended)
    assert (half.is_silent(late + 1), half.runs(late + 1)) == (not ended, False)


def keys(records: Sequence[Record]) -> list[tuple[str | None, bool]]:
    return [(parse_key(key).table, value is not None) for key, value in records]


def test_only_what_differs_is_written_and_a_sign_of_life() -> None:
    changes = BoardChanges("shop", Half.SOURCE)
    tables: dict[str, Document | None] = {"a": {"rows": 1}, "b": {"rows": 2}}
    assert keys(changes.due(HalfLook(RUNS, tables), 0.0, 0, whole=True)) == [
        ("a", True), ("b", True), (None, True),
    ]  # fmt: skip
    assert changes.due(HalfLook(RUNS, {"a": {"rows": 1}}), 4.9, 0, whole=False) == []
    assert keys(changes.due(HalfLook(RUNS, {"a": {"rows": 3}}), 4.9, 0, whole=False)) == [("a", True)]
    assert keys(changes.due(HalfLook(RUNS, {}), 5.0, 0, whole=False)) == [(None, True)]
    assert changes.due(HalfLook(RUNS, {}), 6.0, 0, whole=False) == []
    assert keys(changes.due(HalfLook({**RUNS, "events": 9}, {"b": None}), 7.0, 0, whole=False)) == [
        ("b", False), (None, True),
    ]  # fmt: skip
    assert changes.due(HalfLook({**RUNS, "events": 9}, {"b": None}), 8.0, 0, whole=False) == []


def test_tables_of_an_earlier_process_go_where_they_no_longer_exist() -> None:
    changes = BoardChanges("shop", Half.SOURCE)
    changes.reported_before(
        [SOURCE, ORDERS, ORDERS._replace(table="gone"), BoardKey("shop", Half.TARGET, "its")]
    )
    found = keys(changes.due(HalfLook(RUNS, {"shop.public.orders": {"rows": 1}}), 0.0, 0, whole=True))
    assert found == [("shop.public.orders", True), ("gone", False), (None, True)]


def test_a_half_is_kept_up_to_a_number_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_records, "MOST_TABLES", 2)
    second_task = SOURCE._replace(table="b", task=1)
    made = board((ORDERS, STREAMS, 1), (second_task, STREAMS, 1))
    more = SOURCE._replace(table="c", task=2)
    with pytest.raises(BoardFull, match="2 tables"):
        made.apply(more.encode(), encode(STREAMS, 2), 2)
    assert [len(one.tables) for one in made.tasks("shop", Half.SOURCE).values()] == [1, 1, 0]
    made.apply(ORDERS.encode(), encode({**STREAMS, "rows": 7}, 3), 3)
    assert made.half("shop", Half.SOURCE).tables["shop.public.orders"]["rows"] == 7
    made.apply(second_task.encode(), None, 4)
    made.apply(more.encode(), encode(STREAMS, 5), 5)


def test_a_half_is_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_records, "MOST_BYTES", 10_000)
    made, long = board((SOURCE, RUNS, 1)), encode({"x": "x" * 9_000, **STREAMS}, 2)
    for _ in range(3):
        made.apply(ORDERS.encode(), long, 2)
    with pytest.raises(BoardFull, match="10,000 bytes"):
        made.apply(SOURCE._replace(table="b").encode(), long, 3)
    assert list(made.half("shop", Half.SOURCE).tables) == ["shop.public.orders"]
    made.apply(BoardKey("other", Half.SOURCE, "b").encode(), long, 3)
    made.apply(ORDERS.encode(), encode(STREAMS, 4), 4)
    made.apply(SOURCE._replace(table="b").encode(), long, 5)
    made.forget("shop")
    made.apply(ORDERS.encode(), long, 6)


@pytest.mark.parametrize(("letters", "value"), [(5_000, 10), (5, 9 << 20)])
def test_a_record_has_a_bound(letters: int, value: int) -> None:
    with pytest.raises(BoardFull):
        Board().apply(
            SOURCE._replace(table="x" * letters).encode(), encode({"x": "x" * value, **STREAMS}, 1), 1
        )


def test_maps_of_a_task_that_writes_none_are_refused() -> None:
    value = ColumnMap("shop.orders", [ColumnStep("a", "a", "text")]).encode()
    with pytest.raises(ValueError, match="as the first"):
        Board().apply(BoardKey("shop", Half.SOURCE, "t", 5, task=1).encode(), value, 6)


def test_a_follower_passes_over_what_is_too_much_and_reports_it_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(board_records, "MOST_TABLES", 3)
    with closing(BoardFollower()) as follower:
        follower.follow("shop", pipeline("shop").good())
        topics, reader = follower._followed["shop"]

        def take(key: BoardKey, document: Document = STREAMS) -> None:
            record = SimpleNamespace(
                key=key.encode,
                value=lambda: encode(document, 1),
                topic=lambda: topics.board,
                offset=lambda: 0,
            )
            follower.take(reader, cast("Any", record), 1)

        for number in range(9):
            take(SOURCE._replace(table=f"t{number}"))
            take(SOURCE._replace(pipeline=f"p{number}"))
        take(SOURCE, RUNS)
        with follower.held("shop") as halves:
            assert (len(halves[Half.SOURCE].tables), halves[Half.SOURCE].state) == (3, HalfState.RUNNING)
        assert follower._board.tasks("p0", Half.SOURCE) == {}, "of a pipeline that is not followed"
    assert sum("[board.full] the board of shop" in one.getMessage() for one in caplog.records) == 1


def test_a_command_passes_over_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_records, "MOST_TABLES", 1)
    keys = (ORDERS, SOURCE._replace(table="b"))
    made = fold_records(BoardRecord(key.encode(), encode(STREAMS, 1), 1) for key in keys)
    assert list(made.half("shop", Half.SOURCE).tables) == ["shop.public.orders"]


def test_what_may_be_lost_is_written_again() -> None:
    changes = BoardChanges("shop", Half.SOURCE)
    look = HalfLook(RUNS, {"a": {"rows": 1}})
    changes.due(look, 0.0, 0, whole=True)
    changes.lost()
    assert keys(changes.due(look, 1.0, 0, whole=True)) == [("a", True), (None, True)]
    assert keys(changes.due(HalfLook(RUNS, {"a": None}), 2.0, 0, whole=False)) == [("a", False)]
    changes.lost()
    found = keys(changes.due(HalfLook(RUNS, {}), 3.0, 0, whole=True))
    assert found == [("a", False), (None, True)], "also that a table is gone"
    assert changes.due(HalfLook(RUNS, {}), 4.0, 0, whole=True) == []


def test_a_half_that_starts_takes_no_table_from_the_board_before_it_knows_its_tables() -> None:
    changes = BoardChanges("shop", Half.SOURCE)
    changes.reported_before([BoardKey("shop", Half.SOURCE, "gone")])
    assert keys(changes.due(HalfLook(RUNS, {}, knows_all=False), 0.0, 0, whole=True)) == [(None, True)]
    assert keys(changes.due(HalfLook(RUNS, {}), 1.0, 0, whole=True)) == [("gone", False)]


def test_a_follower_hands_out_the_past_where_somebody_asks_for_it() -> None:
    follower = BoardFollower()
    board, day_ms = follower._board, 1_764_028_800_000
    value = ColumnMap("shop.orders", [ColumnStep("a", "a", "text")]).encode()
    board.apply(BoardKey("shop", Half.TARGET, "t", 5).encode(), value, day_ms)
    minutes = HalfDay(looked=7).encode()
    board.apply(BoardKey("shop", Half.TARGET, "", day_ms, MINUTES).encode(), minutes, day_ms)
    with follower.held("shop", past=True) as halves:
        assert halves[Half.TARGET].maps.tables() == ["t"]
        assert list(halves[Half.TARGET].minutes.half.values()) == [HalfDay(looked=7)]
    with follower.held("shop") as halves:
        assert halves[Half.TARGET].maps.tables() == [], "a look each two seconds copies no past"


@pytest.mark.parametrize(
    "value", [b"{}", b'{"version":1,"looked":"!","late":"","planned":""}', b'{"version":1,"looked":7}', b"[]"]
)
def test_minutes_that_cannot_be_read_are_refused(value: bytes) -> None:
    key = BoardKey("shop", Half.TARGET, "", 1_764_028_800_000, MINUTES)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Board().apply(key.encode(), value, key.since_ms or 0)
    with pytest.raises(ValueError, match="future"):
        Board().apply(key.encode(), HalfDay().encode(), 0)
