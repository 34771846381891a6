"""Which tables are gone at the source, as the board tells it."""

from typing import Any

import pytest

from wrackline.consumers.drive.departures import GoneTable
from wrackline.control.runtime.board.gone_tables import beginnings, source_news
from wrackline.control.runtime.ground.departure_text import departure_text
from wrackline.schemas.kafka.board_records import SILENT_S, Board, BoardKey, Half, HalfBoard, encode

HOUR = 3_600_000


def half(state: str = "running", **tables: dict[str, Any]) -> HalfBoard:
    board = Board()
    board.apply(BoardKey("shop", Half.SOURCE).encode(), encode({"state": state}, 1), 1)
    for name, table in tables.items():
        board.apply(BoardKey("shop", Half.SOURCE, name).encode(), encode(table, 1), 1)
    return board.half("shop", Half.SOURCE)


def gone(**more: object) -> dict[str, object]:
    return {"state": "gone", **more}


def test_only_a_table_that_was_dropped_or_renamed_is_gone() -> None:
    found = source_news(
        half(
            dropped=gone(dropped=True),
            hidden=gone(),
            unread=gone(renamed_to="back"),
            back={"state": "streaming", "dropped": True},
            aside={"state": "failed", "dropped": True},
        ),
        1,
    )
    assert found.gone == {"dropped": GoneTable()}
    assert found.runs


@pytest.mark.parametrize(("state", "at_ms", "runs"), [("running", 1, True), ("recovering", 1, False)])
def test_a_half_is_heard_while_it_runs(state: str, at_ms: int, *, runs: bool) -> None:
    assert source_news(half(state), at_ms).runs is runs
    assert not source_news(half(state), at_ms + int(SILENT_S * 1000) + 1).runs


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        ({"b": {"state": "snapshotting"}}, GoneTable("b", follows=False, renamed=True)),
        ({"b": {"state": "streaming"}}, GoneTable("b", follows=True, renamed=True)),
        ({}, GoneTable("b", follows=False, renamed=True)),
        (
            {"b": gone(dropped=True, renamed_to="c"), "c": {"state": "streaming"}},
            GoneTable("c", follows=True, renamed=True),
        ),
        ({"b": gone(dropped=True)}, GoneTable(None, follows=True, renamed=True)),
        ({"b": gone()}, GoneTable("b", follows=False, renamed=True)),
        ({"b": gone(dropped=True, renamed_to="a")}, GoneTable("a", follows=False, renamed=True)),
    ],
)
def test_a_renamed_table_is_followed_to_its_last_name(tables: dict[str, Any], found: GoneTable) -> None:
    assert source_news(half(a=gone(dropped=True, renamed_to="b"), **tables), 1).gone["a"] == found


def test_what_an_earlier_process_has_announced_is_read_from_its_own_records() -> None:
    board = Board()
    for name, departure in (("a", {"since_ms": 7, "behavior": "drop"}), ("b", None)):
        key = BoardKey("shop", Half.TARGET, name).encode()
        board.apply(key, encode({"standing": "going", "departure": departure}, 1), 1)
    assert beginnings(board.half("shop", Half.TARGET)) == {"a": (7, "drop")}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"due_ms": 23 * HOUR}, "gone at the source, dropped in 23 h"),
        ({"due_ms": 23 * HOUR, "behavior": "rename"}, "gone at the source, renamed in 23 h"),
        ({"due_ms": 0}, "gone at the source, dropped as soon as all is merged"),
        ({"due_ms": None}, "gone at the source, its copy stays"),
        ({"due_ms": None, "kept": True}, "gone at the source, kept by an operator"),
        ({"became": "dropped"}, "gone at the source, its copy is dropped"),
        ({"became": "absent"}, "gone at the source, the target has no copy"),
        (
            {"became": "t_1", "renamed_to": "d.p.u"},
            "renamed to d.p.u at the source, its copy is now t_1",
        ),
    ],
)
def test_a_departure_is_told_in_one_line(said: dict[str, Any], text: str) -> None:
    nothing = {"due_ms": 0, "behavior": "drop", "renamed_to": None, "kept": False, "became": None}
    assert departure_text({**nothing, **said}, 0).startswith(text)


def test_a_record_that_does_not_plainly_say_so_is_no_word_that_a_table_was_dropped() -> None:
    board = Board()
    key = BoardKey("shop", Half.SOURCE, "a").encode()
    with pytest.raises(TypeError):
        board.apply(key, encode(gone(dropped="no"), 1), 1)
