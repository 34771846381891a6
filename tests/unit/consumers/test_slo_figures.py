"""The target half's book of minutes and its metrics, over a clock that is an argument."""

from dataclasses import dataclass

from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.observe.figures import ConsumerFigures, EarlierTable
from wrackline.consumers.observe.metrics import families
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.schemas.minutes.minute_counts import MinuteCounts, count_minutes, judged_range
from wrackline.schemas.minutes.minute_records import MINUTE_MS, MinuteLog
from wrackline.schemas.minutes.slo_terms import SloTerms

TERMS = SloTerms(5, 99.0, 30)
BOTH = frozenset({"a", "b"})


@dataclass
class Half:
    """A target half of two tables, process after process, and what it has written."""

    now_ms: int = 20_000 * 1_440 * MINUTE_MS

    def __post_init__(self) -> None:
        self.log = MinuteLog()
        self.starts()

    def starts(self, *, was_wished: bool = False, earlier: dict[str, EarlierTable] | None = None) -> None:
        self.figures = ConsumerFigures("s", lambda: 0.0, lambda: self.now_ms)
        self.figures.remember(earlier or {})
        self.slo = SloFigures(TERMS, self.figures)
        self.slo.open(self.log.copy(), was_wished=was_wished)
        self.figures.take_ends({"s.a": {0: 1}, "s.b": {0: 1}})
        self.merges("a", 1)
        self.merges("b", 1)

    def merges(self, table: str, end: int) -> None:
        read = BatchRange(f"s.{table}", {0: 0}, {0: end})
        self.figures.batch(BatchReport(read, Applied(), BatchCounts({}, None), {}, 0, 0))

    def looks(self, *, rests: bool = False) -> None:
        for table, day_ms, value in self.slo.look(source_rests=rests, whole=False):
            self.log.take(table, day_ms, value)

    def run(self, minutes: int, *, end_of_b: int = 1, rests: bool = False) -> None:
        for _ in range(minutes * 6):
            progress = SourceProgress(self.now_ms, BOTH, frozenset())
            self.figures.published(progress, {"s.a": {0: 1}, "s.b": {0: end_of_b}})
            self.looks(rests=rests)
            self.now_ms += 10_000

    def minutes(self, table: str) -> tuple[float, float]:
        found = {
            (family.name, sample.labels.get("table"), sample.labels.get("good")): sample.value
            for family in families(self.figures, self.slo)
            for sample in family.samples
        }
        name = "wrackline_slo_minutes_total"
        return found[name, table, "true"], found[name, table, "false"]

    def budget(self, table: str) -> float:
        return next(
            sample.value
            for family in families(self.figures, self.slo)
            for sample in family.samples
            if family.name == "wrackline_slo_budget_ratio" and sample.labels["table"] == table
        )


def test_a_stuck_table_burns_its_own_budget_alone() -> None:
    half = Half()
    half.run(3)
    half.run(8, end_of_b=2)
    half.looks()
    assert half.minutes("a") == (11, 0)
    assert half.minutes("b") == (8, 3)
    assert half.budget("a") == 1
    assert half.budget("b") == 1 - 3 / (30 * 1_440 / 100)


def test_minutes_without_a_process_are_in_the_counters_of_the_next_one_unless_they_were_wished() -> None:
    half = Half()
    half.run(3)
    half.now_ms += 10 * MINUTE_MS
    half.starts(earlier={name: EarlierTable(half.now_ms, 0) for name in BOTH})
    half.run(2)
    half.looks()
    assert half.minutes("a") == (3, 10), "the minute that the earlier one had begun, and two of its own"
    half.now_ms += 10 * MINUTE_MS
    half.starts(was_wished=True, earlier={name: EarlierTable(half.now_ms, 0) for name in BOTH})
    half.run(2)
    assert half.budget("a") == 1 - 10 / (30 * 1_440 / 100), "also what the first process has found"


def test_a_source_half_that_rests_because_somebody_wished_it_burns_nothing() -> None:
    half = Half()
    half.run(2)
    for _ in range(20):
        half.looks(rests=True)
        half.now_ms += MINUTE_MS
    judged = judged_range(half.log, TERMS, half.now_ms)
    assert count_minutes(half.log, {"a": 0}, judged).tables["a"] == MinuteCounts(good=2, paused=20)


def test_tables_are_judged_by_what_an_earlier_process_has_seen_until_the_source_half_is_heard() -> None:
    half = Half()
    half.run(1)
    half.starts(earlier={name: EarlierTable(half.now_ms - 6 * MINUTE_MS, 0) for name in BOTH})
    half.looks()
    half.now_ms += MINUTE_MS
    half.looks()
    assert half.minutes("a")[1] == 1


def test_no_more_minutes_are_counted_at_once_than_the_promise_has() -> None:
    half = Half()
    half.run(1)
    half.now_ms += 20_000 * 1_440 * MINUTE_MS  # a clock that was wrong
    half.starts(earlier={name: EarlierTable(half.now_ms, 0) for name in BOTH})
    half.looks()
    assert half.minutes("a") == (0, TERMS.days * 1_440)
