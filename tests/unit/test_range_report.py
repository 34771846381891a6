"""How far the key ranges of a table are: in percent, from what a job saves and from the chunks under way."""

from typing import Any

import pytest

from wrackline.control.runtime.board.range_report import RangeReport, percent_of
from wrackline.producers.snapshot.window import WindowStage
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.snapshot.work_items import Ticket
from wrackline.schemas.kafka.board_shapes import MOST_RANGES
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("shop", "public", "orders")


def job(*ranges: tuple[int, str | None, str]) -> dict[str, Any]:
    """As a table's state has it."""
    saved = [[number, None if after is None else [after], [upto], []] for number, after, upto in ranges]
    return {"id": "initial", "ranges": saved}


def read(number: int, stage: WindowStage, rows: int = 0, ticket: str = "t/1") -> ReadUnderWay:
    return ReadUnderWay(ORDERS, number, Ticket(ticket), stage, rows)


def percents(told: dict[str, Any]) -> list[int | None]:
    return [one["percent"] for one in told["ranges"]]


def test_a_range_is_as_far_as_its_last_released_key_and_one_that_is_over_is_whole() -> None:
    report = RangeReport("initial")
    assert percents(report.look(job((0, None, "100"), (1, "100", "200"), (2, "200", "300")), (), 1)) == [
        0,
        0,
        0,
    ]
    told = report.look(job((1, "150", "200"), (2, "200", "300")), (), 2)
    assert percents(told) == [100, 50, 0]


def test_the_first_range_counts_from_its_first_released_key() -> None:
    report = RangeReport("initial")
    report.look(job((0, None, "110")), (), 1)
    assert percents(report.look(job((0, "10", "110")), (), 2)) == [None], "it has begun, somewhere"
    assert percents(report.look(job((0, "60", "110")), (), 3)) == [50]


@pytest.mark.parametrize(
    ("low", "now", "high", "percent"),
    [
        (("0",), ("25",), ("100",), 25),
        (("7", "0"), ("7", "5"), ("7", "10"), 50),
        (("2024-01-01",), ("2024-01-02",), ("2024-01-03",), 50),
        (("-10",), ("200",), ("10",), 100),
        (("a",), ("b",), ("c",), None),
        ((None,), ("1",), ("2",), None),
        (None, ("1",), ("2",), None),
        (("5",), ("5",), ("5",), None),
    ],
)
def test_only_numbers_and_times_say_how_far_a_key_is(
    low: Any, now: Any, high: Any, percent: int | None
) -> None:
    assert percent_of(low, now, high) == percent


def test_chunks_are_being_read_or_held_and_the_one_held_longest_says_since_when() -> None:
    report, work = RangeReport("initial"), job((0, None, "100"), (1, "100", "200"))
    first = [read(0, WindowStage.READING), read(1, WindowStage.WAITING, 500, "t/2")]
    told = report.look(work, first, 1_000)
    assert [(one["reading"], one["held"]) for one in told["ranges"]] == [(1, 0), (0, 500)]
    assert told["waits_since_ms"] == 1_000
    later = [read(0, WindowStage.WAITING, 20), read(1, WindowStage.WAITING, 500, "t/2")]
    assert report.look(work, later, 9_000)["waits_since_ms"] == 1_000
    gone_on = [read(0, WindowStage.WAITING, 20), read(1, WindowStage.OPEN, 500, "t/2")]
    assert report.look(work, gone_on, 11_000)["waits_since_ms"] == 9_000
    assert report.look(work, (), 12_000)["waits_since_ms"] is None


def test_no_value_of_a_row_is_reported_and_many_ranges_stay_few() -> None:
    many = job(*((number, f"secret{number}", f"secret{number + 1}") for number in range(1_000)))
    told = RangeReport("initial").look(many, [read(999, WindowStage.OPEN, 3)], 1)
    assert len(told["ranges"]) <= MOST_RANGES
    assert "secret" not in str(told)
    assert sum(one["held"] for one in told["ranges"]) == 3
