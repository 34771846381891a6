"""What anybody can cause is reported at most once a minute, by a clock that may be set back."""

import pytest

from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.schemas.errors import Transient, WracklineError, define

CAUSED = define("test.caused", Transient, "{table} was seen {count} times", hint="wait")


@pytest.mark.parametrize(
    ("moments", "counts"),
    [
        ((0, 59_999, 60_000, 60_001), ["1", "3"]),
        ((100_000, 40_000, 99_999, 100_000), ["1", "2", "4"]),
    ],
    ids=["once a minute", "set back"],
)
def test_a_notice_comes_once_a_minute_with_the_count_of_all(
    moments: tuple[int, ...], counts: list[str]
) -> None:
    told: list[WracklineError] = []
    clock = iter(moments)
    throttle = NoticeThrottle(lambda: next(clock), told.append)
    for _ in moments:
        throttle.tell(CAUSED, table="a")
    assert [one.sentence for one in told] == [f"a was seen {count} times" for count in counts]


def test_each_table_has_a_count_of_its_own() -> None:
    told: list[WracklineError] = []
    throttle = NoticeThrottle(lambda: 0, told.append)
    for table in ("a", "b", "a"):
        throttle.tell(CAUSED, table=table)
    assert [one.sentence for one in told] == ["a was seen 1 times", "b was seen 1 times"]
