"""What is kept of minutes has a bound, and beyond it nothing looks better than it was."""

import pytest

from wrackline.schemas.minutes import minute_records
from wrackline.schemas.minutes.minute_book import MinuteBook, MinuteSample
from wrackline.schemas.minutes.minute_counts import count_minutes, judged_range
from wrackline.schemas.minutes.minute_records import (
    ALL,
    DAY_MS,
    MINUTE_MS,
    HalfDay,
    MinuteLog,
    MinuteState,
    TableDay,
)
from wrackline.schemas.minutes.slo_terms import SloTerms

BAD = TableDay(rest=MinuteState.BAD)
NEVER = TableDay(bad=ALL, since=1_440)
TERMS = SloTerms(minutes=5, percent=99.0, days=30)


def take(log: MinuteLog, table: str, day: int, known: TableDay | None = BAD) -> None:
    log.take(table, day * DAY_MS, None if known is None else known.encode())


def days(log: MinuteLog) -> dict[str, list[int]]:
    return {table: sorted(known) for table, known in log.tables.items()}


def test_the_oldest_day_is_given_up_with_the_half_s(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MinuteLog()
    for day in (7, 8, 9):
        log.take("", day * DAY_MS, HalfDay(looked=ALL).encode())
    monkeypatch.setattr(minute_records, "MOST_BYTES", 4 * 201)
    for table, day in (("a", 8), ("b", 8), ("a", 9), ("b", 9)):
        take(log, table, day)
    assert (days(log), sorted(log.half)) == ({"a": [8, 9], "b": [8, 9]}, [7, 8, 9])
    take(log, "c", 9)
    assert (days(log), sorted(log.half)) == ({"a": [9], "b": [9], "c": [9]}, [9])
    take(log, "a", 8)
    log.take("", 8 * DAY_MS, HalfDay(looked=ALL).encode())
    assert (days(log), sorted(log.half)) == ({"a": [9], "b": [9], "c": [9]}, [9]), "it stays so"
    now = 10 * DAY_MS
    counted = count_minutes(log, {"a": 0, "d": 0}, judged_range(log, TERMS, now))
    assert {name: (one.good, one.bad) for name, one in counted.tables.items()} == {
        "a": (0, 1_440),
        "d": (1_440, 0),
    }, "no minute is counted of which nothing is known"


def test_the_bits_of_a_day_and_the_name_of_a_table_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_records, "MOST_BYTES", 200 + 180 + 10)
    for table, known, kept in (("t" * 10, NEVER, True), ("t" * 11, NEVER, False), ("t" * 11, BAD, True)):
        log = MinuteLog()
        take(log, table, 5, known)
        assert bool(log.tables) == kept, (table, known)


def test_what_is_removed_or_replaced_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_records, "MOST_BYTES", 2 * 201)
    log = MinuteLog()
    for _ in range(9):
        take(log, "a", 5)
        take(log, "b", 5)
        take(log, "b", 5, None)
        take(log, "b", 5, None)
    for one in (log, log.copy()):
        take(one, "c", 5)
        assert days(one) == {"a": [5], "c": [5]}
        take(one, "d", 6)
        assert days(one) == {"d": [6]}


def test_a_table_keeps_its_newest_days() -> None:
    log = MinuteLog()
    for day in (*range(50, 150), 20, 150):
        take(log, "a", day)
        log.take("", day * DAY_MS, HalfDay(looked=1).encode())
    assert days(log) == {"a": list(range(51, 151))}
    assert sorted(log.half) == list(range(51, 151))


def test_one_table_more_than_a_board_has_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_records, "MOST_TABLES", 2)
    log = MinuteLog()
    for table in "abc":
        take(log, table, 5)
    take(log, "a", 6)
    assert days(log) == {"a": [5, 6], "b": [5]}
    take(log, "b", 5, None)
    take(log, "c", 5)
    assert days(log) == {"a": [5, 6], "c": [5]}


def test_a_half_that_writes_is_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_records, "MOST_BYTES", 4 * 201)
    book = MinuteBook(TERMS)
    moments: dict[str, int | None] = dict.fromkeys("abc")
    for now in (5 * DAY_MS, 6 * DAY_MS):
        due = book.due(MinuteSample(moments, now), now + MINUTE_MS, whole=False)
        assert [one.table for one in due] == ["a", "b", "c", ""]
    assert days(book.log) == {table: [6] for table in "abc"}
    assert sorted(book.log.half) == [6]
