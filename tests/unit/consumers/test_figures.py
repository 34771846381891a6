"""A consumer's figures: added up from what is committed, served as metrics and as one document."""

import re
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.batch.report import BatchReport, Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts, LatestChange
from wrackline.consumers.contract.plan import Applied, NewestChange
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome
from wrackline.consumers.kafka.retention import NEAR, SOON_GONE, retained_ratio
from wrackline.consumers.kafka.topic_offsets import OFFSETS_GONE, Ends
from wrackline.consumers.observe import metric_names
from wrackline.consumers.observe.figures import ConsumerFigures, EarlierTable
from wrackline.consumers.observe.metrics import families
from wrackline.consumers.observe.offset_poll import OffsetPoll, OffsetQuestions
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.consumers.observe.status import table_documents
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.language.exposition import text
from wrackline.schemas.minutes.slo_terms import SloTerms

TOPIC, OTHER = "s.d.p.orders", "s.d.p.items"
BUSY = Transient("test.busy", "busy", "wait")
APPLIED = Applied(newest=NewestChange("0a", 1, 2))


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def figures(clock: Clock) -> ConsumerFigures:
    return ConsumerFigures("s", clock)


def batch(
    end: int, operations: dict[str, int], latest: LatestChange | None = None, start: int = 0
) -> BatchReport:
    read = BatchRange(TOPIC, {0: start, 1: 0}, {0: end, 1: 0})
    return BatchReport(
        read,
        APPLIED,
        BatchCounts(operations, latest, {"ADD_COLUMN": 1}),
        {Step.READ: 0.5, Step.APPLY: 1.5},
        1300,
        2000,
    )


def served(figures: ConsumerFigures) -> dict[str, float]:
    """Each line without the server and, of the one table, without its name."""
    lines = (line for line in text(families(figures)).splitlines() if not line.startswith("#"))
    values = (line.rpartition(" ") for line in lines)
    return {
        re.sub(r'server="s",?|table="d\.p\.orders",?', "", name): float(value) for name, _, value in values
    }


def test_what_is_committed_is_counted_and_how_late_it_was(figures: ConsumerFigures, clock: Clock) -> None:
    figures.take_ends({TOPIC: {0: 7, 1: 0}})
    figures.batch(batch(5, {"c": 3, "r": 1}, LatestChange("0a", 1000, 1200)))
    figures.batch(batch(5, {}, start=5))  # nothing new: no batch
    clock.seconds += 4
    found = served(figures)
    assert found['wrackline_consume_events_total{operation="c"}'] == 3
    assert found['wrackline_consume_events_total{operation="r"}'] == 1
    assert found["wrackline_consume_batches_total{}"] == 1
    assert found['wrackline_consume_step_seconds_total{step="apply"}'] == 1.5
    assert found["wrackline_consume_batch_seconds_sum{}"] == 2
    stages = [
        found[f'wrackline_consume_lag_milliseconds{{stage="{at}"}}'] for at in ("publish", "wait", "merge")
    ]
    assert stages == [200, 100, 700]
    assert found["wrackline_consume_offsets_behind{}"] == 2
    assert found["wrackline_consume_behind_seconds{}"] == 4
    assert found['wrackline_consume_offset{partition="0"}'] == 5
    assert found["wrackline_consume_last_merge_timestamp_seconds{}"] == 2
    figures.batch(batch(7, {"d": 2}))
    assert served(figures)["wrackline_consume_offsets_behind{}"] == 0
    assert served(figures)["wrackline_consume_behind_seconds{}"] == 0


def test_a_busy_table_that_keeps_up_is_not_behind_for_long(figures: ConsumerFigures, clock: Clock) -> None:
    for end in range(2, 20, 2):
        figures.take_ends({TOPIC: {0: end, 1: 0}})
        figures.batch(batch(end - 1, {"u": 1}))
        clock.seconds += 1
    assert served(figures)["wrackline_consume_behind_seconds{}"] <= 2
    for end in range(20, 40):  # it merges no more
        figures.take_ends({TOPIC: {0: end, 1: 0}})
        clock.seconds += 1
    assert served(figures)["wrackline_consume_behind_seconds{}"] >= 20


def test_failures_and_upkeep_are_counted_by_table(figures: ConsumerFigures) -> None:
    figures.stands(TOPIC, TableRetryState(BUSY, 1))
    figures.stands(TOPIC, TableRetryState(BUSY, 2))
    figures.stands(OTHER, TableRetryState(BUSY, 1, stopped=True))
    figures.went(BUSY)
    went = {UpkeepRemoval.TOMBSTONES: 3, UpkeepRemoval.FILES: 4}
    figures.tended(UpkeepOutcome(TOPIC, 1.5, None, UpkeepResult(went, 7)))
    figures.tended(UpkeepOutcome(TOPIC, 0.5, None, UpkeepResult({UpkeepRemoval.FILES: 5}, 2)))
    figures.tended(UpkeepOutcome(TOPIC, 1.0, BUSY))
    found = served(figures)
    assert found['wrackline_consume_failures_total{code="test.busy"}'] == 2
    assert found['wrackline_consume_table_standing{standing="waiting"}'] == 1
    assert found['wrackline_consume_table_standing{table="d.p.items",standing="stopped"}'] == 1
    assert found['wrackline_consume_tables{standing="stopped"}'] == 1
    assert (found["wrackline_consume_running{}"], found["wrackline_consume_outages_total{}"]) == (0, 1)
    assert found['wrackline_consume_upkeeps_total{outcome="failed"}'] == 1
    assert found["wrackline_consume_upkeep_seconds_total{}"] == 3
    assert found['wrackline_consume_upkeep_removed_total{what="files"}'] == 9
    assert found['wrackline_consume_upkeep_removed_total{what="tombstones"}'] == 3
    assert found["wrackline_consume_incomplete_rows{}"] == 2, "an upkeep that failed has not counted"
    figures.went(None)
    figures.stands(TOPIC, TableRetryState())
    found = served(figures)
    assert found['wrackline_consume_table_standing{standing="going"}'] == 1
    assert found["wrackline_consume_running{}"] == 1
    assert found['wrackline_consume_failures_total{code="test.busy"}'] == 2


def test_every_declared_metric_has_its_family_and_its_labels(figures: ConsumerFigures) -> None:
    figures.take_ends({TOPIC: {0: 7, 1: 0}})
    figures.batch(batch(5, {"c": 3}, LatestChange("0a", 1000, 1200)))
    figures.stands(TOPIC, TableRetryState(BUSY, 1))
    figures.tended(UpkeepOutcome(TOPIC, 2.0, None, UpkeepResult({UpkeepRemoval.FILES: 1}, 0)))
    figures.retention_risks({TOPIC: {0: 1, 1: 0}})
    figures.published(SourceProgress(1_000, frozenset({"d.p.orders"}), frozenset()), {TOPIC: {0: 5, 1: 0}})
    slo = SloFigures(SloTerms(5, 99.0, 30), figures)
    slo.look(source_rests=False, whole=True)
    found = {family.name: family for family in families(figures, slo)}
    assert list(found) == [metric.name for metric in metric_names.METRICS]
    for metric in metric_names.METRICS:
        samples = found[metric.name].samples
        assert samples, metric.name
        assert {"server", *metric.labels} == samples[0].labels.keys() - {"le"}


def test_two_flows_into_one_table_are_distinguished() -> None:
    feeds = ConsumerFigures("")
    for flow in ("new", "old"):
        feeds.batch(replace(batch(5, {}), read=BatchRange(f"{flow}.d.p.orders", {0: 0}, {0: 5})))
    assert served(feeds)['wrackline_consume_batches_total{server="",table="old.d.p.orders"}'] == 1
    assert table_documents(feeds).keys() == {"new.d.p.orders", "old.d.p.orders"}


def test_the_document_is_what_status_expects(figures: ConsumerFigures) -> None:
    figures.take_ends({TOPIC: {0: 7, 1: 0}, OTHER: {0: 3}})
    figures.batch(batch(5, {"c": 3}, LatestChange("0a", 1000, 1200)))
    figures.stands(TOPIC, TableRetryState(OperatorNeeded("test.ask", "broken", "fix it"), 1, stopped=True))
    told = orjson.loads(orjson.dumps(table_documents(figures)))
    orders = told["d.p.orders"]
    assert (orders["standing"], orders["behind"], orders["seq"]) == ("stopped", 2, "0a")
    assert orders["error"] == {
        "code": "test.ask", "kind": "OperatorNeeded", "sentence": "broken", "hint": "fix it"
    }  # fmt: skip
    assert orders["lag_ms"] == {"publish": 200, "wait": 100, "merge": 700, "whole": 1000}
    items = told["d.p.items"]
    assert (items["behind"], items["offsets"], items["lag_ms"]) == (None, None, None)
    assert table_documents(figures, {OTHER}).keys() == {"d.p.items"}


def test_only_what_has_changed_is_looked_at_again(figures: ConsumerFigures) -> None:
    ends: Ends = {TOPIC: {0: 7, 1: 0}, OTHER: {0: 3}}
    figures.take_ends(ends)
    assert figures.take_changed() == {TOPIC, OTHER}
    figures.take_ends(ends)
    assert figures.take_changed() == frozenset(), "an idle table costs nothing"
    figures.batch(batch(5, {"c": 3}, LatestChange("0a", 1000, 1200)))
    assert figures.take_changed() == {TOPIC}
    figures.take_ends({TOPIC: {0: 7, 1: 0}, OTHER: {0: 4}})
    assert figures.take_changed() == {OTHER}
    figures.stands(OTHER, TableRetryState(OperatorNeeded("test.ask", "broken", "fix it"), 1, stopped=True))
    assert figures.take_changed() == {OTHER}


def test_a_table_is_warned_of_once_before_its_events_go(figures: ConsumerFigures, clock: Clock) -> None:
    firsts: dict[str, dict[int, int]] = {TOPIC: {0: 0, 1: 0}}
    warned: list[WracklineError] = []
    ends: Ends = {TOPIC: {0: 100, 1: 0}}
    look = OffsetPoll(
        OffsetQuestions(lambda: ends, lambda _: firsts, lambda _: {}),
        "server.<table>",
        figures,
        warned.append,
        clock,
    )
    figures.batch(batch(50, {"c": 1}))

    def after(first: int) -> list[str]:
        firsts[TOPIC][0] = first
        clock.seconds += 60
        assert look() == ends
        return [error.code for error in warned]

    assert after(0) == []  # nothing was dropped yet
    assert after(20) == []
    assert after(45) == after(47) == [SOON_GONE.code]
    assert "50 offsets behind" in warned[0].sentence
    figures.batch(batch(100, {"c": 1}))
    assert after(48) == [SOON_GONE.code]  # it has caught up
    ends = {TOPIC: {0: 200, 1: 0}}
    assert after(99) == [SOON_GONE.code] * 2
    figures.stands(
        TOPIC, TableRetryState(OFFSETS_GONE(topic=TOPIC, partition=0, first=1, applied=1, table="t"), 1)
    )
    assert after(150) == [SOON_GONE.code] * 2  # too late, and reported otherwise


offsets = st.integers(0, 50)


@given(first=offsets, kept=offsets, merged=offsets)
def test_what_is_left_is_a_part_of_what_is_kept(first: int, kept: int, merged: int) -> None:
    applied = first + min(merged, kept)
    left = retained_ratio({0: applied}, {0: first}, {0: first + kept})
    assert (left is None) == (first == 0 or applied == first + kept)
    if left is not None:
        assert left * kept == pytest.approx(applied - first)
        assert NEAR < 1


def test_a_partition_that_is_lost_has_nothing_left() -> None:
    assert retained_ratio({0: 3, 1: 9}, {0: 5, 1: 1}, {0: 9, 1: 10}) == 0


def test_a_stopwatch_takes_each_step_and_when_it_ended() -> None:
    ticks, moments = iter([0.0, 1.0, 3.0, 7.0]), iter([10, 30, 70])
    watch = Stopwatch(lambda: next(ticks), lambda: next(moments))
    for step in (Step.ASK, Step.READ, Step.APPLY):
        watch.lap(step)
    made = watch.account(BatchRange(TOPIC, {0: 0}, {0: 1}), APPLIED, BatchCounts())
    assert made.seconds == {Step.ASK: 1.0, Step.READ: 2.0, Step.APPLY: 4.0}
    assert (made.read_ms, made.merged_ms) == (10, 70)


@pytest.mark.parametrize(
    ("naming", "said"),
    [
        (Naming.WRACKLINE, "no topic shop.<database>.<schema>.<table>,"),
        (Naming.DEBEZIUM, "no topic shop.<schema or database>.<table>,"),
    ],
)
def test_no_topic_at_all_is_said_once_until_one_comes(naming: Naming, said: str) -> None:
    found: Ends = {}
    warned: list[WracklineError] = []
    sought = naming.form("shop")
    look = OffsetPoll(
        OffsetQuestions(lambda: found, lambda _: {}, lambda _: {}),
        sought,
        ConsumerFigures("shop"),
        warned.append,
    )
    look()
    look()
    assert [error.code for error in warned] == ["consume.no_topics"]
    assert look.nothing is warned[0]
    assert said in str(look.nothing)
    found = {"shop.shop.public.orders": {0: 1}}
    look()
    assert look.nothing is None, "a table that comes later is merged"


def test_events_held_behind_an_open_transaction_are_reported_if_they_stay_held(
    figures: ConsumerFigures, clock: Clock
) -> None:
    ends, written, warned = {TOPIC: {0: 5, 1: 9}}, {TOPIC: {0: 8, 1: 9}}, list[WracklineError]()
    look = OffsetPoll(
        OffsetQuestions(lambda: ends, lambda _: {}, lambda _: written),
        "s.<table>",
        figures,
        warned.append,
        clock,
    )

    def told() -> tuple[int, float]:
        table = table_documents(figures)["d.p.orders"]
        return table["held"], table["held_s"]

    look()
    assert told() == (0, 0), "a transaction that is open for a moment is not reported"
    for seconds in (0, 10):
        clock.seconds += 10
        look()
        assert told() == (3, seconds)
    assert [error.code for error in warned] == ["consume.held"]
    ends = {TOPIC: {0: 8, 1: 9}}
    clock.seconds += 10
    look()
    assert told() == (0, 0)


def complete(figures: ConsumerFigures, table: str = "d.p.orders") -> tuple[bool, int | None]:
    found = table_documents(figures)[table]
    return found["current"], found["complete_ms"]


def test_a_stuck_table_grows_stale_though_the_lag_of_its_newest_change_stays_good(clock: Clock) -> None:
    now = [1_000]
    figures = ConsumerFigures("s", clock, lambda: now[0])
    whole = frozenset({"d.p.orders"})
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.batch(batch(5, {"c": 3}, LatestChange("0a", 1000, 1200)))
    for at_ms, end in ((1_000, 5), (61_000, 9), (121_000, 12)):
        now[0] = at_ms + 500
        figures.published(SourceProgress(at_ms, whole, frozenset()), {TOPIC: {0: end, 1: 0}})
    assert complete(figures) == (False, 1_000)
    assert served(figures)["wrackline_freshness_seconds{}"] == 120.5
    assert table_documents(figures)["d.p.orders"]["lag_ms"]["whole"] < 2_000
    figures.take_changed()
    figures.batch(batch(9, {"c": 3}))
    assert complete(figures) == (False, 61_000)
    figures.batch(batch(12, {"c": 3}))
    assert complete(figures) == (True, None), "the half says the moment for all that are current"
    assert served(figures)["wrackline_freshness_seconds{}"] == 0.5


def test_an_idle_table_stays_fresh_and_is_not_written_again(figures: ConsumerFigures) -> None:
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.batch(batch(5, {"c": 3}))
    for at_ms in range(1_000, 9_000, 1_000):
        progress = SourceProgress(at_ms, frozenset({"d.p.orders"}), frozenset())
        figures.published(progress, {TOPIC: {0: 5, 1: 0}})
        assert complete(figures) == (True, None)
        assert figures.through_ms == at_ms
        assert figures.take_changed() == ({TOPIC} if at_ms == 1_000 else set())


def test_a_table_that_lacks_rows_keeps_its_moment_and_one_that_is_gone_has_none(
    figures: ConsumerFigures,
) -> None:
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.batch(batch(5, {"c": 3}))
    orders, nothing = frozenset({"d.p.orders"}), frozenset[str]()
    ends = {TOPIC: {0: 5, 1: 0}}
    figures.published(SourceProgress(1_000, orders, nothing), ends)
    figures.take_changed()
    figures.published(SourceProgress(2_000, nothing, orders), ends)
    assert complete(figures) == (False, 1_000)
    assert figures.take_changed() == {TOPIC}
    figures.published(SourceProgress(3_000, orders, nothing), {TOPIC: {0: 5}})
    assert complete(figures) == (False, 1_000), "the end of one partition is not known"
    figures.published(SourceProgress(4_000, nothing, nothing), ends)
    assert complete(figures) == (False, None)


def test_a_table_that_is_read_again_is_not_complete_until_all_of_its_rows_are_merged(
    figures: ConsumerFigures,
) -> None:
    """The read begins with a truncate, so what was complete through a moment may be empty now."""
    orders, nothing = frozenset({"d.p.orders"}), frozenset[str]()

    def source_says(at_ms: int, end: int, *, reads: bool) -> None:
        progress = SourceProgress(at_ms, nothing if reads else orders, orders if reads else nothing)
        figures.published(progress, {TOPIC: {0: end, 1: 0}})

    def lacks() -> bool:
        found: bool = table_documents(figures)["d.p.orders"]["lacks"]
        return found

    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.batch(batch(5, {"c": 5}))
    source_says(1_000, 5, reads=False)
    source_says(2_000, 9, reads=False)
    assert (complete(figures), lacks()) == ((False, 1_000), False)
    source_says(3_000, 10, reads=True)
    figures.batch(batch(10, {"t": 1}))
    assert (complete(figures), lacks()) == ((False, 1_000), True), "the copy is empty"
    source_says(4_000, 15, reads=False)
    figures.batch(batch(12, {"r": 2}))
    assert (complete(figures), lacks()) == ((False, 1_000), True), "rows are in Kafka, and not in the copy"
    figures.batch(batch(15, {"r": 3}))
    assert (complete(figures), lacks()) == ((True, None), False)


def test_a_table_that_lacked_rows_before_a_restart_lacks_them_after_it(figures: ConsumerFigures) -> None:
    orders = frozenset({"d.p.orders"})
    figures.remember({"d.p.orders": EarlierTable(700, 300, lacks=True)})
    assert figures.moments() == {"d.p.orders": (700, 300)}
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.published(SourceProgress(700, orders, frozenset()), {TOPIC: {0: 5, 1: 0}})
    found = table_documents(figures)["d.p.orders"]
    assert (found["current"], found["lacks"], found["complete_since_ms"]) == (False, True, 300)
    figures.batch(batch(5, {"r": 5}))
    found = table_documents(figures)["d.p.orders"]
    assert (found["current"], found["lacks"], found["complete_since_ms"]) == (True, False, 300)


def test_a_table_that_was_stuck_before_a_restart_is_as_stale_after_it(figures: ConsumerFigures) -> None:
    figures.remember({"d.p.orders": EarlierTable(700, 300)})
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.published(SourceProgress(9_000, frozenset({"d.p.orders"}), frozenset()), {TOPIC: {0: 5, 1: 0}})
    assert complete(figures) == (False, 700)


def test_a_topic_whose_ends_nobody_can_say_now_is_not_taken_for_complete(figures: ConsumerFigures) -> None:
    figures.take_ends({TOPIC: {0: 5, 1: 0}, OTHER: {0: 9}})
    figures.batch(batch(5, {"c": 5}))
    figures.take_ends({OTHER: {0: 9}})
    every = frozenset({"d.p.orders", "d.p.items"})
    figures.published(SourceProgress(1_000, every, frozenset()), {OTHER: {0: 9}})
    assert table_documents(figures)["d.p.orders"]["current"] is False


def test_a_table_that_lacks_rows_is_not_current_when_a_clock_is_set_back(
    figures: ConsumerFigures,
) -> None:
    name, nothing = frozenset({"d.p.orders"}), frozenset[str]()
    figures.take_ends({TOPIC: {0: 5, 1: 0}})
    figures.batch(batch(5, {"c": 5}))
    figures.published(SourceProgress(9_000, name, nothing), {TOPIC: {0: 5, 1: 0}})
    assert table_documents(figures)["d.p.orders"]["current"] is True
    figures.published(SourceProgress(1_000, nothing, name), {TOPIC: {0: 8, 1: 0}})
    assert table_documents(figures)["d.p.orders"]["current"] is False
    assert table_documents(figures)["d.p.orders"]["complete_ms"] is None
