"""The demo's verdict: good only when all is equal and each change was published once."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from wrackline.control.local.demo.command import print_ending
from wrackline.control.local.demo.parts.comparison import CopyComparison
from wrackline.control.local.demo.story import Ending

GOOD = Ending(CopyComparison(10, 20), changes=50, events=50, doubled=0, rolled_back=2)


def printed(ending: Ending, *, terminal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, color_system=None)
    print_ending(console, ending, ("MariaDB", "Iceberg"), 61.4)
    return out.getvalue()


def test_a_good_end() -> None:
    assert GOOD.good
    said = printed(GOOD)
    assert "EQUAL: 10 rows of 20 columns, 200 values are the same in MariaDB and in Iceberg" in said
    assert "exactly once: 50 changes, 50 events, 0 duplicates, across a kill -9 and 2 rollbacks" in said
    assert "NOT" not in said
    assert "took 61 s" in said


def test_one_of_a_kind_has_the_noun_of_one() -> None:
    said = printed(Ending(CopyComparison(1, 1), changes=1, events=1, doubled=0, rolled_back=1))
    assert "EQUAL: 1 row of 1 column, 1 value is the same in MariaDB and in Iceberg" in said
    assert "exactly once: 1 change, 1 event, 0 duplicates, across a kill -9 and 1 rollback" in said


def test_a_terminal_breaks_no_word() -> None:
    told, shown = printed(GOOD), printed(GOOD, terminal=True)
    assert len(shown.splitlines()) > len(told.splitlines())
    assert shown.split() == told.split()


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (CopyComparison(10, 20, missing=("1", "2")), "2 rows are missing: 1; 2"),
        (CopyComparison(10, 20, surplus=("7",)), "1 row is too many: 7"),
        (CopyComparison(10, 20, changed=("3: note",)), "1 row differs: 3: note"),
        (CopyComparison(10, 20, absent=("gift_wrap",)), "1 column is on one side only: gift_wrap"),
        (
            CopyComparison(10, 20, missing=tuple(map(str, range(15)))),
            "15 rows are missing: 0; 1; 2; 3; 4; 5; 6; 7; 8; 9",
        ),
    ],
)
def test_a_difference_is_no_good_end(verdict: CopyComparison, line: str) -> None:
    ending = replace(GOOD, verdict=verdict)
    assert not ending.good
    said = printed(ending)
    assert "DIFFERENT: 10 rows in MariaDB" in said
    assert line in said
    assert "EQUAL" not in said


@pytest.mark.parametrize(("events", "doubled"), [(49, 0), (51, 1), (50, 1)])
def test_an_event_lost_or_doubled_is_no_good_end(events: int, doubled: int) -> None:
    ending = replace(GOOD, events=events, doubled=doubled)
    assert not ending.good
    assert "NOT exactly once" in printed(ending)
