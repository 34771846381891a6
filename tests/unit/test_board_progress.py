"""What the board says to the target half: how far the source half is, and for which tables that counts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_progress import progress_of, source_progress, source_rests
from wrackline.control.runtime.board.board_summary import late_ms, summarise
from wrackline.control.runtime.ground.times import now_ms
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


class OneBoard:
    """A board that is read to its end, or not yet."""

    def __init__(self, source: HalfBoard) -> None:
        self.source, self.all_read = source, False

    def is_read(self, name: str) -> bool:
        del name
        return self.all_read

    @contextmanager
    def held(self, name: str) -> Iterator[Mapping[Half, HalfBoard]]:
        del name
        yield {Half.SOURCE: self.source, Half.TARGET: HalfBoard()}


def test_a_board_that_is_read_in_part_says_nothing() -> None:
    made = source(5_000, good={"state": "streaming"})
    board = OneBoard(HalfBoard({**made.report, "state": "stopped", "wished": True}, tables=made.tables))
    boards = cast("BoardFollower", board)
    progress, rests = source_progress(boards, "shop"), source_rests(boards, "shop")
    assert (progress(), rests()) == (None, False), "a later record may say something else"
    board.all_read = True
    assert (progress(), rests()) == (SourceProgress(5_000, frozenset({"good"}), frozenset()), True)


def test_a_source_half_rests_once_it_is_silent_after_a_wish() -> None:
    """It may be killed before it reports its end."""
    board = OneBoard(HalfBoard({"state": "running", "wished": True}, heard_ms=now_ms()))
    board.all_read = True
    rests = source_rests(cast("BoardFollower", board), "shop")
    assert not rests(), "it still ends"
    board.source.heard_ms = 0
    assert rests()
    board.source.report = {"state": "running", "wished": False}
    assert not rests()
    board.source.report = {}
    assert not rests()
