"""What was seen of a database is judged: an assumption holds only where the opposite could have been seen."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.assumptions import AssumptionVerdict
from wrackline.producers.sources.sqlserver.assume.assumptions import (
    NewestRow,
    ObservedLog,
    OwnRows,
    RangeCounts,
    ScanReach,
    judge,
    untried,
)

OWN = OwnRows((lsn(3), lsn(4)), lsn(6), 0, ((1, "a"), (1, "b"), (2, "b"), (2, "a")))
SEEN = ObservedLog(
    looks=[[lsn(2), lsn(1)], [lsn(4), lsn(3), lsn(2), lsn(1)], [lsn(6), lsn(4), lsn(3), lsn(2)]],
    counts=[RangeCounts("orders", 2, 2), RangeCounts("lines", 0, 0)],
    rows={7: [NewestRow(lsn(4), 1, b"a"), NewestRow(lsn(4), 3, b"c")], 9: [NewestRow(lsn(4), 2, b"b")]},
    savepoint=lsn(5),
    visible=[lsn(2), lsn(3), lsn(4)],
    scan=ScanReach(lsn(2), lsn(3)),
    own=OWN,
)


def verdicts(seen: ObservedLog, verdict: AssumptionVerdict) -> set[str]:
    return {one.id for one in judge(seen) if one.verdict is verdict}


def test_what_was_seen_of_a_good_server_holds() -> None:
    found = judge(SEEN)
    assert [one.id for one in found if one.verdict is AssumptionVerdict.HOLDS] == [
        f"A{n}" for n in range(1, 8)
    ]
    assert not any(one.advice for one in found)
    assert found[1].seen.startswith("3 commits were listed")
    assert found[1].seen.endswith("the order is right")
    assert found[4].seen.endswith("over several tables: 1")
    assert found[6].seen.endswith("came as operations 1 1 2 2")


@pytest.mark.parametrize(
    ("id_", "change"),
    [
        ("A1", {"counts": [RangeCounts("orders", 2, 2), RangeCounts("lines", 0, 1)]}),
        ("A1", {"rows": {7: [NewestRow(lsn(5), 1, b"a")]}}),  # not listed
        ("A1", {"rows": {7: [NewestRow(lsn(7), 1, b"a")]}}),  # above all that are listed
        ("A1", {"rows": {7: [NewestRow(lsn(3), 1, b"a")]}, "looks": [[lsn(2)], [lsn(6), lsn(4), lsn(2)]]}),
        ("A2", {"looks": [[lsn(2)], [lsn(6), lsn(3), lsn(2)], [lsn(6), lsn(4), lsn(3), lsn(2)]]}),
        ("A2", {"own": OWN._replace(in_order=(lsn(4), lsn(3)))}),
        ("A2", {"own": OWN._replace(in_order=(lsn(4), lsn(4)))}),
        ("A3", {"own": OWN._replace(unseen=1)}),
        ("A4", {"savepoint": lsn(4)}),
        ("A4", {"savepoint": lsn(4), "own": "nothing may be written"}),
        ("A4", {"savepoint": lsn(6)}),
        ("A5", {"rows": {7: [NewestRow(lsn(4), 1, b"a"), NewestRow(lsn(4), 2, b"b")],
                         9: [NewestRow(lsn(4), 1, b"c")]}}),
        ("A6", {"scan": ScanReach(lsn(3), lsn(2))}),
        ("A7", {"own": OWN._replace(moved=((1, "a"), (2, "b"), (1, "b"), (2, "a")))}),
        ("A7", {"own": OWN._replace(moved=((3, "a"), (4, "b"), (3, "b"), (4, "a")))}),
    ],
)  # fmt: skip
def test_an_answer_that_contradicts_an_assumption_is_found(id_: str, change: dict[str, Any]) -> None:
    seen = replace(SEEN, **change)
    assert verdicts(seen, AssumptionVerdict.FAILS) == {id_}
    assert next(one.advice for one in judge(seen) if one.id == id_)


@pytest.mark.parametrize(
    ("ids", "change"),
    [
        ({"A1"}, {"counts": [RangeCounts("orders", 0, 0)]}),
        ({"A1", "A2"}, {"counts": [], "looks": [[], [], []], "rows": SEEN.rows}),
        ({"A2"}, {"looks": [SEEN.looks[2]] * 2, "own": OWN}),
        ({"A4"}, {"savepoint": "the login may not see it"}),
        ({"A3", "A4", "A7"}, {"own": "no signal table"}),
        ({"A3", "A7"}, {"own": OWN._replace(unseen="no versions", moved="the login may not")}),
        ({"A5"}, {"rows": {7: SEEN.rows[7]}}),  # one table
        ({"A5"}, {"rows": {7: SEEN.rows[7][:1], 9: [NewestRow(lsn(4), 1, b"b")]}}),  # one statement, or not
        ({"A5"}, {"rows": {7: SEEN.rows[7][:1], 9: [NewestRow(lsn(4), None, b"b")]}}),
        ({"A6"}, {"scan": "the database is not idle"}),
    ],
)
def test_where_nothing_was_seen_nothing_is_said(ids: set[str], change: dict[str, Any]) -> None:
    seen = replace(SEEN, **change)
    assert verdicts(seen, AssumptionVerdict.UNTRIED) == ids
    assert verdicts(seen, AssumptionVerdict.FAILS) == set()


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [RangeCounts("orders", 2, 1)]},  # the cleanup job
        {"rows": {**SEEN.rows, 8: [NewestRow(lsn(2), 1, b"a")]}},  # the oldest that is listed
        {"scan": ScanReach(lsn(3), lsn(3))},
        {"own": OWN._replace(moved=((3, "a"), (4, "a"), (3, "b"), (4, "b")))},  # what changes is the rest
        {"own": OWN._replace(moved=((1, "b"), (2, "b"), (1, "a"), (2, "a")))},
        {"looks": [[lsn(2), lsn(1)], [lsn(4), lsn(3), lsn(2)], SEEN.looks[2]]},  # the oldest went
        {"rows": {**SEEN.rows, 8: [NewestRow(lsn(1), 1, b"a")]}},  # below the oldest that is listed
    ],
)
def test_what_a_good_server_may_do_is_not_held_against_it(change: dict[str, Any]) -> None:
    assert verdicts(replace(SEEN, **change), AssumptionVerdict.FAILS) == set()


def test_a_server_that_could_not_be_asked_leaves_all_untried() -> None:
    assert {(one.verdict, one.seen) for one in untried("why")} == {(AssumptionVerdict.UNTRIED, "why")}
