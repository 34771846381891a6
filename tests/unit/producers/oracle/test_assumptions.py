"""What was mined is judged: an assumption holds only where the opposite could have been seen."""

from dataclasses import replace
from typing import Any

import pytest

from wrackline.producers.contract.assumptions import AssumptionVerdict
from wrackline.producers.sources.oracle.assume.assumptions import CountedRows, ObservedRedo, judge, untried
from wrackline.producers.sources.oracle.mining.log_files import NO_END, LogFile
from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    DELETE,
    INSERT,
    START,
    UPDATE,
    MinedRow,
    mined_row,
)

A, B = "0A00000000000001", "0B00000000000002"
OURS = ("C##W", "WRACKLINE_PROBE_1")
HOLDS, FAILS, UNTRIED = AssumptionVerdict.HOLDS, AssumptionVerdict.FAILS, AssumptionVerdict.UNTRIED


def row(
    scn: int,
    xid: str,
    operation: int,
    name: str = "",
    *,
    rollback: bool = False,
    rba: int = 0,
    thread: int = 1,
) -> MinedRow:
    owner, table = OURS if name else ("", "")
    return mined_row(
        [
            scn, thread, "0x1", 0, 1, xid, operation, int(rollback), 0, 0, None, 0, 0, 0, name, 77, 1, owner,
            table, "C##W", None,
        ],
        (5, rba or scn, 16),
    )  # fmt: skip


FIRST = [
    row(10, A, START),
    row(10, A, INSERT, "r1"),
    row(11, B, START),
    row(12, B, INSERT, "r2"),
    row(13, B, INSERT, "r3"),
    row(14, B, UPDATE, "r2"),
    row(15, B, UPDATE, "r2", rollback=True),
    row(16, B, DELETE, "r3", rollback=True),
    row(17, B, COMMIT),
    row(19, A, COMMIT),
]
LOGS = [LogFile("a", 1, 4, 1, 8, archived=True), LogFile("b", 1, 5, 8, 90, archived=True)]
SEEN = ObservedRedo(
    table=OURS,
    written=2,
    first=FIRST,
    again=FIRST,
    counts=[CountedRows(16, 0), CountedRows(17, 1), CountedRows(18, 1), CountedRows(19, 2)],
    versions=(1, 2),
    switched=[row(8, A, START), row(9, A, COMMIT)],
    logs=LOGS,
)


def verdicts(seen: ObservedRedo, verdict: AssumptionVerdict) -> set[str]:
    return {one.id for one in judge(seen) if one.verdict is verdict}


def test_what_was_seen_of_a_good_server_holds() -> None:
    found = judge(SEEN)
    assert [one.id for one in found if one.verdict is HOLDS] == [f"A{n}" for n in range(8, 15)]
    assert not any(one.advice for one in found)
    assert found[0].seen == "all 10 rows were mined at once, and no more came later"
    assert found[4].seen == "2 rows behind savepoints were undone in reverse order"
    assert found[6].seen == "2 rows near the end of an archived log are within its SCNs"


SWAPPED = [*FIRST[:6], FIRST[7], FIRST[6], *FIRST[8:]]


@pytest.mark.parametrize(
    ("id_", "change"),
    [
        ("A8", {"first": [one for one in FIRST if one is not FIRST[2]], "again": FIRST}),
        ("A8", {"written": 3}),
        ("A9", {"counts": [CountedRows(17, 2)]}),
        ("A9", {"counts": [CountedRows(18, 0)]}),
        ("A9", {"counts": [CountedRows(19, 1)]}),
        ("A10", {"again": SWAPPED}),
        ("A10", {"again": FIRST[:-1]}),
        ("A11", {"first": [*FIRST[:-1], row(19, A, COMMIT, rba=17)]}),
        ("A12", {"first": SWAPPED}),
        ("A12", {"first": [*FIRST[:6], row(15, B, UPDATE, "r9", rollback=True), *FIRST[7:]]}),
        ("A12", {"first": [*FIRST[:6], row(15, B, DELETE, "r2", rollback=True), *FIRST[7:]]}),
        ("A13", {"versions": (2, 2)}),
        ("A14", {"switched": [row(7, A, START)]}),
        ("A14", {"switched": [row(90, A, START)]}),
    ],
)
def test_what_contradicts_an_assumption_is_found(id_: str, change: dict[str, Any]) -> None:
    seen = replace(SEEN, **change)
    if "first" in change and "again" not in change:
        seen = replace(seen, again=seen.first)
    if id_ == "A12":
        seen = replace(seen, counts="not counted", written=0)
    assert verdicts(seen, FAILS) == {id_}
    assert next(one.advice for one in judge(seen) if one.id == id_)


@pytest.mark.parametrize(
    ("ids", "change"),
    [
        ({"A8", "A10", "A11", "A12", "A9"}, {"first": [], "again": [], "counts": [], "written": 0}),
        ({"A8"}, {"written": 0}),
        ({"A9"}, {"counts": "the rows could not be read"}),
        ({"A12"}, {"first": [one for one in FIRST if not one.rollback and one.row_id != "r3"]}),
        ({"A13"}, {"versions": "no right"}),
        ({"A14"}, {"switched": "no log was archived"}),
        ({"A14"}, {"logs": [LogFile("b", 1, 5, 8, NO_END, archived=False, current=True)]}),
        ({"A14"}, {"logs": []}),
    ],
)
def test_where_nothing_was_seen_nothing_is_said(ids: set[str], change: dict[str, Any]) -> None:
    seen = replace(SEEN, **change)
    if "first" in change:
        seen = replace(seen, again=seen.first)
    assert verdicts(seen, UNTRIED) == ids
    assert verdicts(seen, FAILS) == set()


def test_only_rows_of_the_probe_s_own_table_count() -> None:
    other = FIRST[1]._replace(table="OTHER")
    whole = replace(SEEN, first=[*FIRST, other], again=[*FIRST, other])
    assert verdicts(whole, HOLDS) == verdicts(SEEN, HOLDS)
    ddl = FIRST[1]._replace(operation=START)
    assert verdicts(replace(SEEN, first=[*FIRST, ddl], again=[*FIRST, ddl]), FAILS) == set()


def test_what_was_seen_is_said_in_figures() -> None:
    late = replace(SEEN, first=[*FIRST[:2], *FIRST[4:]])
    assert judge(late)[0].seen == "2 rows below the safe SCN came later, the first at SCN 11"
    tried = "the table had what the log says, at each SCN that was tried"
    assert judge(SEEN)[1].seen == f"{tried} (4, of which 0 of several commits)"
    together = [*FIRST[:-1], row(17, A, COMMIT, rba=18)]
    shared = replace(SEEN, first=together, again=together, counts=[CountedRows(17, 2)])
    assert judge(shared)[1].seen == f"{tried} (1, of which 1 of several commits)"


def test_threads_may_be_merged_in_another_order() -> None:
    """Which of two threads comes first at one SCN is nobody's promise."""
    one, other = row(20, A, START), row(20, B, START, thread=2)
    seen = replace(SEEN, first=[*FIRST, one, other], again=[*FIRST, other, one])
    assert verdicts(seen, FAILS) == set()


def test_a_server_that_could_not_be_asked_leaves_all_untried() -> None:
    assert {(one.verdict, one.seen) for one in untried("why")} == {(UNTRIED, "why")}
