"""Minutes of freshness on a real Kafka: they outlive every process, and cost what is promised."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.running.world import World, environment, wait_until
from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.control.runtime.board import board_writer
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.target_report import TargetReport
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.slo.slo_report import slo_report
from wrackline.schemas.kafka.board_records import Half, HalfState
from wrackline.schemas.minutes.minute_counts import MinuteCounts
from wrackline.schemas.minutes.minute_records import DAY_MS, MINUTE_MS
from wrackline.schemas.minutes.slo_terms import SloTerms
from wrackline.schemas.settings.settings_registry import Values

TERMS = SloTerms(5, 99.0, 30)
TABLES = ("held", "well")
BEGIN_MS = 20_000 * DAY_MS - 12 * MINUTE_MS  # midnight passes meanwhile


class TargetHalf:
    """A target half without Spark, on the board as a real one, whose clock a test moves."""

    def __init__(self, values: Values, opened: ExitStack, now_ms: int, *, wished: bool = False) -> None:
        self.now_ms = now_ms
        self.figures = ConsumerFigures("s", lambda: 0.0, lambda: self.now_ms)
        standing = HalfStanding(is_wished=lambda: wished)
        self.report = TargetReport("iceberg", self.figures, standing, SloFigures(TERMS, self.figures))
        self.looks = 0
        opened.enter_context(
            board_writer.written_board(values, Half.TARGET, self.look, print, self.report.earlier)
        )
        opened.enter_context(standing.until_its_end())
        wait_until(lambda: self.looks > 0)  # it knows what the earlier process has seen, and nothing newer

    def look(self, scope: LookScope) -> HalfLook:
        found = self.report.look(scope)
        self.looks += scope is not LookScope.STATES
        return found

    def passes(self, minutes: int, *, held: bool = False) -> None:
        """Let minutes pass, each with a look of the writer's own thread at its end."""
        for _ in range(minutes):
            self.figures.take_ends({f"s.{table}": {0: 1} for table in TABLES})
            for table in TABLES:
                read = BatchRange(f"s.{table}", {0: 0}, {0: 1})
                self.figures.batch(BatchReport(read, Applied(), BatchCounts({}, None), {}, 0, 0))
            ends = {"s.held": {0: 2 if held else 1}, "s.well": {0: 1}}
            self.figures.published(SourceProgress(self.now_ms, frozenset(TABLES), frozenset()), ends)
            seen = self.looks + 1  # a look that is under way may have begun before
            wait_until(lambda seen=seen: self.looks > seen)  # type: ignore[misc]
            self.now_ms += MINUTE_MS


@pytest.fixture
def values(world: World, monkeypatch: pytest.MonkeyPatch) -> Values:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    for name in ("FIGURES_S", "_STATES_S"):
        monkeypatch.setattr(board_writer, name, 0.02)
    return good_pipeline(Path(world.file)).good()


def counted(values: Values, now_ms: int, until: Callable[[dict[str, MinuteCounts]], bool]) -> None:
    """Count as another machine does, which knows the topic alone."""
    follower = BoardFollower()
    follower.follow(values.text("name"), values)
    try:

        def found() -> bool:
            with follower.held(values.text("name"), past=True) as halves:
                return until(dict(slo_report(halves[Half.TARGET], TERMS, now_ms).totals.tables))

        wait_until(found)
    finally:
        follower.close()


def test_minutes_outlive_every_process_and_a_held_table_costs_its_own(world: World, values: Values) -> None:
    del world
    with ExitStack() as opened:
        half = TargetHalf(values, opened, BEGIN_MS)
        half.passes(3)
        half.passes(7, held=True)  # complete as of the third minute, and allowed to be five minutes old
        now_ms = half.now_ms
    counted(
        values,
        now_ms,
        lambda found: found == {"held": MinuteCounts(good=8, bad=2), "well": MinuteCounts(good=10)},
    )
    # a half that ends looks once more, in the minute that begins; then nobody ran for five
    with ExitStack() as opened:
        half = TargetHalf(values, opened, now_ms + 6 * MINUTE_MS, wished=True)
        half.passes(2)
        now_ms = half.now_ms
    counted(
        values,
        now_ms,
        # and in the first minute after that, the copies are still older than they may be
        lambda found: found == {"held": MinuteCounts(good=9, bad=9), "well": MinuteCounts(good=12, bad=6)},
    )
    with ExitStack() as opened:  # now somebody had
        half = TargetHalf(values, opened, now_ms + 6 * MINUTE_MS)
        assert half.report.standing.document()["state"] == HalfState.STARTING.value
        half.passes(2)
        now_ms = half.now_ms
    counted(
        values,
        now_ms,
        lambda found: (
            found
            == {
                "held": MinuteCounts(good=11, bad=10, paused=5),
                "well": MinuteCounts(good=14, bad=7, paused=5),
            }
        ),
    )
