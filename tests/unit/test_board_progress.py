"""What the board says to the target half: how far the source half is, and for which tables that counts."""

from typing import Any

from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.control.runtime.board.board_progress import progress_of
from wrackline.control.runtime.board.board_summary import late_ms, summarise
from wrackline.schemas.kafka.board_records import Half, HalfBoard

ERROR = {"code": "test.aside", "sentence": "it does not fit", "hint": "see it"}


def source(*moments: int | None, **tables: dict[str, Any]) -> HalfBoard:
    databases = {f"db{number}": {"through_ms": at_ms, "behind_bytes": 0, "lost_in_s": None}
                 for number, at_ms in enumerate(moments)}  # fmt: skip
    board = HalfBoard({"state": "running", "databases": databases})
    board.tables |= {name: {"reason": None, **table} for name, table in tables.items()}
    return board


def test_only_tables_that_lack_nothing_are_complete() -> None:
    found = progress_of(
        source(
            7_000, 5_000,
            good={"state": "streaming"}, aside={"state": "streaming", "reason": ERROR},
            reading={"state": "snapshotting"}, held={"state": "paused"}, gone={"state": "gone"},
        )
    )  # fmt: skip
    assert found == SourceProgress(5_000, frozenset({"good"}), frozenset({"aside", "reading", "held"}))


def test_nothing_is_known_until_each_database_has_a_moment() -> None:
    assert progress_of(HalfBoard()) is None
    assert progress_of(source(7_000, None)) is None


def test_the_half_says_the_moment_of_current_tables_and_the_others_say_their_own() -> None:
    target = HalfBoard({"state": "running", "through_ms": 9_000})
    late = {"behind_s": 0, "merged_ms": 8_900, "lag_ms": {"whole": 40}, "at_ms": 9_500}
    target.tables |= {
        "current": {**late, "current": True, "complete_ms": None},
        "stuck": {**late, "current": False, "complete_ms": 2_000},
        "old": {**late},
    }
    assert [late_ms(target, name, 10_000) for name in target.tables] == [1_000, 8_000, 40]
    assert late_ms(target, "current", 60_000) == 51_000, "a half that is silent grows stale"
    assert summarise({Half.SOURCE: HalfBoard(), Half.TARGET: target}, 10_000).late_ms == 8_000
