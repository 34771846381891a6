"""Minutes of random histories: the records add up to what somebody counts who remembers every look."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wrackline.schemas.minutes.minute_book import MinuteBook, MinuteSample
from wrackline.schemas.minutes.minute_counts import (
    MinuteCounts,
    MinuteRange,
    budget_left,
    count_minutes,
    judged_range,
)
from wrackline.schemas.minutes.minute_records import DAY_MS, MINUTE_MS, MINUTES, MinuteLog
from wrackline.schemas.minutes.slo_terms import SloTerms

TABLES = ("a", "b", "c")
TERMS = SloTerms(minutes=5, percent=99.0, days=30)
NIGHT = 20_000 * DAY_MS - 20 * MINUTE_MS  # so that most histories pass midnight

looks = st.fixed_dictionaries(
    {
        "passed_s": st.sampled_from((2, 2, 20, 31, 55, 61, 200, 1_000, 90_000)),
        "newest_s": st.sampled_from((1, 1, 299, 301)),  # how old the newest moment is
        "behind_s": st.tuples(*(st.sampled_from((0, 0, 250, 301, None)) for _ in TABLES)),  # of each table
        "paused": st.sets(st.sampled_from(TABLES), max_size=1),
        "planned": st.sampled_from((False, False, False, True)),
        "ends": st.sampled_from(("", "", "", "killed", "wished")),  # the process, before this look
        "whole": st.booleans(),
    }
)


class Memory:
    """Everything that was seen, by minute and table."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, str], set[str]] = {}
        self.looked: list[int] = []
        self.wished: set[int] = set()

    def look(self, sample: MinuteSample, now_ms: int) -> None:
        minute, limit = now_ms // MINUTE_MS, now_ms - TERMS.minutes * MINUTE_MS
        self.looked.append(minute)
        for table, at_ms in sample.moments.items():
            words = self.seen.setdefault((minute, table), set())
            words.add("bad" if at_ms is None or at_ms < limit else "good")
            if table in sample.paused:
                words.add("paused")
            if sample.planned:
                words.add("paused")

    def counts(self, table: str, since: int, judged: MinuteRange) -> MinuteCounts:
        found = Counter(self.word(minute, table) for minute in range(max(since, judged.first), judged.until))
        return MinuteCounts(found["good"], found["bad"], found["paused"])

    def word(self, minute: int, table: str) -> str:
        words = self.seen.get((minute, table), {"paused" if minute in self.wished else "bad"})
        return next(word for word in ("paused", "bad", "good") if word in words)


def play(history: list[dict[str, Any]], first_ms: int) -> tuple[Memory, MinuteLog, int]:
    """Let a half look and end and start again; what is written is all that its next process has."""
    memory, written, book, now_ms = Memory(), MinuteLog(), MinuteBook(TERMS), first_ms
    for look in history:
        now_ms += look["passed_s"] * 1000
        if look["ends"]:
            wished = look["ends"] == "wished"
            if wished and memory.looked:
                memory.wished |= set(range(memory.looked[-1] + 1, now_ms // MINUTE_MS))
            book = MinuteBook(TERMS)
            book.open(written.copy(), was_planned=wished, now_ms=now_ms)
        newest = now_ms - look["newest_s"] * 1000
        moments = {
            table: None if behind is None else newest - behind * 1000
            for table, behind in zip(TABLES, look["behind_s"], strict=True)
        }
        sample = MinuteSample(moments, newest, frozenset(look["paused"]), look["planned"])
        memory.look(sample, now_ms)
        for table, day_ms, value in book.due(sample, now_ms, whole=look["whole"]):
            written.take(table, day_ms, value)
    return memory, written, now_ms


@settings(max_examples=200, deadline=None)
@given(st.lists(looks, min_size=1, max_size=25), st.integers(0, 40 * 60), st.integers(0, 5 * 60))
def test_the_records_count_what_was_seen(history: list[dict[str, Any]], first_s: int, rest_s: int) -> None:
    memory, written, now_ms = play(history, NIGHT + first_s * 1000)
    now_ms += rest_s * 1000
    judged = judged_range(written, TERMS, now_ms)
    since = {"a": 0, "b": NIGHT, "c": memory.looked[len(memory.looked) // 2] * MINUTE_MS}
    totals = count_minutes(written, since, judged)
    for table, at_ms in since.items():
        assert totals.tables[table] == memory.counts(table, at_ms // MINUTE_MS, judged), table
    assert totals.whole == sum_of(totals.tables.values())


def sum_of(counts: Any) -> MinuteCounts:
    found = MinuteCounts()
    for one in counts:
        found = found.plus(one)
    return found


def sample(now_ms: int, *, age_s: int = 1, stuck_at: int | None = None) -> MinuteSample:
    newest = now_ms - age_s * 1000
    return MinuteSample({"a": newest, "b": newest if stuck_at is None else stuck_at}, newest)


class Half:
    """A half that looks each two seconds, and what it has written."""

    def __init__(self) -> None:
        self.log, self.records, self.now_ms = MinuteLog(), Counter[str](), NIGHT
        self.starts()

    def starts(self, *, was_planned: bool = False) -> None:
        self.book = MinuteBook(TERMS)
        self.book.open(self.log.copy(), was_planned=was_planned, now_ms=self.now_ms)

    def run(self, seconds: int, *, stuck_at: int | None = None, age_s: int = 1) -> None:
        for _ in range(0, seconds, 2):
            look = sample(self.now_ms, stuck_at=stuck_at, age_s=age_s)
            for table, day_ms, value in self.book.due(look, self.now_ms, whole=False):
                self.log.take(table, day_ms, value)
                self.records[table] += 1
            self.now_ms += 2_000

    def counts(self, table: str, **more: Any) -> MinuteCounts:
        judged = judged_range(self.log, TERMS, self.now_ms)
        return count_minutes(self.log, {"a": 0, "b": 0}, judged, **more).tables[table]


def test_a_table_that_is_held_for_seven_minutes_costs_exactly_its_minutes() -> None:
    """With five allowed it is too old from the fifth minute on, so two are bad, and a begun third."""
    half = Half()
    half.run(600)
    half.run(420, stuck_at=half.now_ms - 30_000)
    half.run(600)
    assert half.counts("b") == MinuteCounts(good=27 - 3, bad=3)
    assert half.counts("a") == MinuteCounts(good=27)
    assert budget_left(half.counts("b"), TERMS) == 1 - 3 / 432
    assert half.records == {"": 27, "b": 2}, (
        "a half that looks costs a record a minute, a stuck table two in all"
    )


def test_a_table_that_is_stuck_for_a_day_is_written_at_its_start_and_at_midnight() -> None:
    half = Half()
    half.run(24 * 3600, stuck_at=NIGHT)
    assert half.records["b"] == 2
    assert half.counts("b") == MinuteCounts(good=5, bad=MINUTES - 5)


def test_a_source_that_is_away_makes_all_tables_bad_without_a_record_of_any() -> None:
    half = Half()
    half.run(600)
    half.run(600, age_s=301)
    half.run(60)
    assert half.counts("a") == half.counts("b") == MinuteCounts(good=11, bad=10)
    assert half.records.keys() == {""}


def test_an_idle_database_burns_nothing() -> None:
    half = Half()
    half.run(3 * 3600)
    assert half.counts("a") == MinuteCounts(good=180)
    assert budget_left(half.counts("a"), TERMS) == 1


def test_nobody_running_is_bad_once_it_is_clear_unless_somebody_wished_it() -> None:
    half = Half()
    half.run(600)
    half.now_ms += 119_000
    assert half.counts("a").bad == 0, "a record of it may still come"
    half.now_ms += 481_000
    assert half.counts("a") == MinuteCounts(good=10, bad=8)
    assert half.counts("a", pause_since=0) == MinuteCounts(good=10, paused=8)
    half.starts()
    half.run(60)
    assert half.counts("a") == MinuteCounts(good=11, bad=10)
    half.now_ms += 2 * DAY_MS
    half.starts(was_planned=True)
    half.run(60)
    assert half.counts("a") == MinuteCounts(good=12, bad=10, paused=2 * MINUTES)


def test_a_half_that_is_killed_within_a_minute_has_lost_nothing_of_it() -> None:
    half = Half()
    half.run(10, stuck_at=0)
    half.now_ms += 4_000
    half.starts()
    half.run(200)
    assert half.counts("b") == MinuteCounts(good=2, bad=1)


def test_days_that_are_older_than_the_promise_are_removed() -> None:
    half = Half()
    half.run(1200, stuck_at=0)
    half.now_ms += 31 * DAY_MS
    half.run(60)
    last, today = NIGHT // DAY_MS, half.now_ms // DAY_MS
    assert sorted(half.log.places()) == [("", last), ("", today)], "nobody has looked since the last day"
    half.now_ms += 31 * DAY_MS
    half.run(60)
    assert sorted(half.log.places()) == [("", today), ("", half.now_ms // DAY_MS)]
    half.book = MinuteBook(None)
    half.book.open(half.log.copy(), was_planned=False, now_ms=half.now_ms)
    half.run(2)
    assert not list(half.log.places()), "nothing is promised any more"


def test_a_long_gap_stays_bad_when_the_last_day_before_it_is_older_than_the_promise() -> None:
    half = Half()
    half.run(60)
    half.now_ms += 29 * DAY_MS
    half.starts()
    half.run(60)
    half.now_ms += 3 * DAY_MS
    before = half.counts("a").bad
    half.run(60)
    assert before > 29 * MINUTES - 5
    assert half.counts("a").bad >= before - 5
