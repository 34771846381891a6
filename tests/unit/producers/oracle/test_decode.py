"""Mined rows into steps."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.producers.oracle.decoded_log import (
    LOOK,
    NUMBERS,
    SIGNALS,
    A,
    B,
    DecodedLog,
    W,
    X,
    Y,
    Z,
    begins,
    changes,
    commits,
    ddl,
    facts,
    inserts,
    look,
)
from wrackline.producers.contract.steps import (
    Appeared,
    Begin,
    Commit,
    Fault,
    Found,
    Progress,
    Renamed,
    Reshaped,
    Rows,
    Shape,
    Signal,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.sources.oracle.discover.facts import OracleTableFacts
from wrackline.producers.sources.oracle.mining.mined_row import DELETE, INSERT, UNSUPPORTED, UPDATE, MinedRow
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.schemas.tables.table import TableId

UNKNOWN: dict[str, Any] = {"owner": "UNKNOWN", "table": f"OBJ# {NUMBERS[A]}"}


def kinds(steps: object) -> list[str]:
    return [type(step).__name__ for step in steps]  # type: ignore[attr-defined]


def test_a_transaction_becomes_steps_and_its_rows_are_numbered(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    update = """update "SHOP"."A" set "T" = 'new' where "ID" = '1' and "T" = 't';"""
    rows = [
        begins(100),
        inserts(101, 1),
        inserts(101, 2, of=B),
        changes(102, UPDATE, update, 1),
        commits(103),
    ]
    steps = log.feed(rows, 110)
    assert kinds(steps) == [
        *("Found", "Found", "Progress"),
        *("Begin", "Shape", "Rows", "Shape", "Rows", "Commit", "Progress"),
    ]
    begin, commit = steps[3], steps[-2]
    assert isinstance(begin, Begin)
    assert (begin.transaction, begin.committed_ms, begin.first) == (X.lower(), 1_700_000_000_000, 0)
    assert isinstance(commit, Commit)
    assert commit.transaction == X.lower()
    events = log.events(steps)
    assert [(op, text) for op, text, _ in events] == [("c", "t"), ("c", "t"), ("u", "new")]
    place = "0001" + "0000000000000067" + "0001" + "00000007" + "00000067" + "0010" + "ff"
    assert [seq for *_, seq in events] == [f"{place}{number:08x}" for number in range(3)]


def test_a_commit_without_our_rows_costs_a_place_and_no_step(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    other = TableId("DB", "SHOP", "OTHER")
    steps = log.feed([begins(100), inserts(101, 1, of=other), commits(103)], 110)
    assert kinds(steps) == ["Progress"]
    (progress,) = steps
    assert isinstance(progress, Progress)
    assert isinstance(progress.position, OraclePosition)
    assert progress.position.place == last_at(110)


def test_where_nothing_is_left_the_place_is_behind_every_commit(tmp_path: Path) -> None:
    """A fence at an SCN is passed on a quiet database too."""
    log = DecodedLog(tmp_path)
    log.feed([begins(100), inserts(101, 1), commits(103)], 103)
    (progress,) = log.feed([begins(107, Y)], 120)
    assert isinstance(progress, Progress)
    at = progress.position
    assert isinstance(at, OraclePosition)
    assert (at.place, at.done, at.oldest, at.seen, at.open) == (last_at(120), last_at(120), 107, 120, 1)
    assert log.feed([], None) == []
    (again,) = log.feed([], 120, question=True)
    assert again == progress


def test_rows_come_behind_their_range_alone(tmp_path: Path) -> None:
    """The catalogue that belongs to a DDL is known at the end of its range."""
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    assert log.feed([begins(100), inserts(101, 1), commits(103), begins(104, Y)], None) == []
    assert kinds(log.feed([], 110)) == ["Begin", "Shape", "Rows", "Commit", "Progress"]


def test_the_transactions_of_a_user_may_be_left_out(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path, unpublished={"BATCH"})
    log.feed([], 99)
    hidden = [begins(100, username="BATCH"), inserts(101, 1, username=""), commits(102)]
    shown = [begins(103, Y), inserts(103, 2, "shown", Y), commits(104, Y)]
    emptied = ddl(105, "truncate table a", username="BATCH")
    emptied[0] = emptied[0]._replace(username="BATCH")
    steps = log.feed([*hidden, *shown, *emptied], 110)
    assert [text for _, text, _ in log.events(steps)] == ["shown"]
    assert not any(isinstance(step, Truncate) for step in steps)


def test_an_unreadable_row_ends_only_its_table_and_changes_no_number(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    rows = [
        begins(100),
        inserts(101, 1, of=B),
        changes(102, INSERT, "insert what nobody knows", 2),
        inserts(103, 3),
        inserts(104, 4, "last", of=B),
        commits(105),
    ]
    steps = log.feed(rows, 110)
    (fault,) = [step for step in steps if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (A, "oracle.redo_unread")
    assert [(text, seq[-8:]) for _, text, seq in log.events(steps)] == [
        ("t", "00000000"),
        ("last", "00000003"),
    ]
    cut = next(step.upto for step in steps if isinstance(step, Rows))
    again = DecodedLog(tmp_path, cut.saved(), listed=(B,), aside={A})
    assert [(text, seq[-8:]) for _, text, seq in again.events(again.feed(rows, 110))] == [
        ("last", "00000001")
    ]


@pytest.mark.parametrize("operation", [UNSUPPORTED])
def test_what_logminer_can_not_show_is_a_fault(tmp_path: Path, operation: int) -> None:
    log = DecodedLog(tmp_path)
    steps = log.feed([begins(100), changes(101, operation, "Unsupported", 1), commits(102)], 110)
    (fault,) = [step for step in steps if isinstance(step, Fault)]
    assert fault.table == A


@pytest.mark.parametrize(
    "row",
    [
        changes(
            101,
            INSERT,
            """insert into "UNKNOWN"."OBJ# 11"("COL 1") values (HEXTORAW('c102'));""",
            1,
            **UNKNOWN,
        ),
        changes(101, INSERT, """insert into "SHOP"."A"("COL 1","COL 2") values (HEXTORAW('c1'),NULL);""", 1),
        changes(101, INSERT, """insert into "SHOP"."A"("ID","T","X") values ('1','t','x');""", 1),
        changes(101, DELETE, """delete from "SHOP"."A" where "ID" = '1';""", 1),
    ],
    ids=["no name", "no columns", "a column that is gone", "a column that came"],
)
def test_a_row_of_another_version_has_its_table_read_again(tmp_path: Path, row: MinedRow) -> None:
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    steps = log.feed([begins(100), row, row, inserts(102, 2, of=B), commits(103)], 110)
    (news,) = [step for step in steps if isinstance(step, Reshaped)]
    assert news == Reshaped(A, refresh=True, void=True)
    assert [seq[-8:] for *_, seq in log.events(steps)] == ["00000002"]


def test_a_row_without_a_name_may_be_of_a_partition(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    nameless: dict[str, Any] = {"owner": "UNKNOWN", "table": "OBJ# 55", "object_id": 55}
    rows = [begins(100), changes(101, INSERT, "x", 1, **nameless), commits(102)]
    steps = log.feed(rows, 110, replace(LOOK, parts={55: NUMBERS[A]}))
    assert [step for step in steps if isinstance(step, Reshaped)] == [Reshaped(A, refresh=True, void=True)]
    rows = [begins(111, Y), changes(112, INSERT, "x", 1, Y, **nameless), commits(113, Y)]
    steps = log.feed(rows, 120)
    assert any(isinstance(step, Reshaped) for step in steps), "it was dropped behind this row"


def test_a_row_of_a_table_that_is_gone_is_nothing(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    gone: dict[str, Any] = {"owner": "UNKNOWN", "table": "OBJ# 77", "object_id": 77}
    steps = log.feed([begins(100), changes(101, INSERT, "x", 1, **gone), commits(103)], 110)
    assert kinds(steps) == ["Progress"]


def test_a_ddl_takes_effect_behind_its_commit(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    log.feed([begins(100), begins(100, Y), inserts(101, 1), inserts(102, 2, "old", Y)], 105)
    new = """insert into "SHOP"."A"("ID","T","N") values ('3','new','n');"""
    rows = [
        *(commits(106), commits(107, Y)),
        *ddl(108, 'alter table "SHOP"."A" add (n varchar2(40))'),
        *(begins(110, W), changes(110, INSERT, new, 3, W), commits(111, W)),
    ]
    now = look(facts(A, "N"), facts(B))
    steps = log.feed(rows, 120, now)
    assert [text for _, text, _ in log.events(steps)] == ["t", "old", "new"]
    shapes = [step for step in steps if isinstance(step, Shape)]
    assert [len(step.table.columns) for step in shapes] == [2, 3]
    (news,) = [step for step in steps if isinstance(step, Reshaped)]
    assert (news.table, news.refresh, news.void) == (A, False, False)
    assert steps.index(shapes[0]) < steps.index(news) < steps.index(shapes[1])
    assert log.feed([], 130, now)[:-1] == []


def test_a_truncate_is_an_event_at_its_place(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    before = [begins(100), inserts(101, 1), commits(102)]
    after = [begins(105, Y), inserts(106, 2, "after", Y), commits(107, Y)]
    steps = log.feed([*before, *ddl(103, "truncate table a"), *after], 110)
    assert [kind for kind in kinds(steps) if kind not in {"Found", "Progress"}] == [
        *("Begin", "Shape", "Rows", "Commit"),
        *("Begin", "Truncate", "Commit"),
        *("Begin", "Rows", "Commit"),
    ]
    (emptied,) = [step for step in steps if isinstance(step, Truncate)]
    value = log.registry.decode(emptied.value)
    first, last = (seq for *_, seq in log.events(steps))
    assert (value["op"], value["after"]) == ("t", None)
    assert first < str(value["seq"]) < last
    resumed = DecodedLog(tmp_path, emptied.upto.saved())
    rest = resumed.feed([*before, *ddl(103, "truncate table a"), *after], 110)
    assert not any(isinstance(step, Truncate) for step in rest)
    assert resumed.events(rest) == log.events(steps)[1:]


def test_a_table_that_was_dropped_and_made_again_is_another(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    log.feed([], 99)
    again = look(facts(A, number=21), facts(B))
    steps = log.feed(ddl(103, "drop table a"), 110, again)
    news = [step for step in steps if isinstance(step, Vanished | Appeared | Reshaped)]
    assert [(type(step), step.table) for step in news] == [(Vanished, A), (Appeared, A)]
    stopped = DecodedLog(tmp_path)
    steps = stopped.feed(ddl(103, "drop table a"), 110, again)
    assert [step for step in steps if isinstance(step, Reshaped)] == [Reshaped(A, refresh=True, void=True)]
    assert any(isinstance(step, Found) and step.table.id == A for step in steps)


def test_a_table_is_renamed(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path, listed=(A,))
    only = look(facts(A))
    log.feed([begins(100), inserts(101, 1), commits(102)], 102, only)
    moved = look(facts(B, number=NUMBERS[A]))
    rows = [
        *ddl(103, "rename a to b"),
        *(begins(105), inserts(106, 2, "later", of=B, object_id=NUMBERS[A]), commits(107)),
    ]
    steps = log.feed(rows, 110, moved)
    (news,) = [step for step in steps if isinstance(step, Renamed)]
    assert (news.old, news.new) == (A, B)
    assert [text for _, text, _ in log.events(steps)] == ["later"]


def test_rows_of_the_table_that_takes_a_name_are_not_those_of_the_table_that_had_it(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path, listed=(A,), captures=(A,))
    new = facts(TableId("DB", "SHOP", "NEW"), number=21)
    before = look(facts(A))
    log.feed([], 99, replace(before, names={**before.names, 21: new.id}))
    mined_later = [begins(100), inserts(101, 1, "of the other", object_id=21), commits(102)]
    steps = log.feed([*mined_later, *ddl(103, "rename new to a")], 110, look(facts(A, number=21)))
    assert log.events(steps) == []
    news = [step for step in steps if isinstance(step, Vanished | Appeared)]
    assert [(type(step), step.table) for step in news] == [(Vanished, A), (Appeared, A)]


def test_a_rollback_that_can_not_be_matched_is_a_fault_of_its_table(tmp_path: Path) -> None:
    log = DecodedLog(tmp_path)
    undo = changes(102, DELETE, "", 9, rollback=True)
    rows = [begins(100), inserts(101, 1), undo, inserts(103, 2, of=B), commits(104)]
    steps = log.feed(rows, 110)
    (fault,) = [step for step in steps if isinstance(step, Fault)]
    assert (fault.table, fault.error.code) == (A, "oracle.rollback_unmatched")
    assert [text for _, text, _ in log.events(steps)] == ["t"]
    nobody = DecodedLog(tmp_path)
    steps = nobody.feed([changes(102, DELETE, "", 9, X[:8] + "FFFFFFFF", rollback=True)], 110)
    assert [step.table for step in steps if isinstance(step, Fault)] == [A]


def test_a_table_in_doubt_is_known_by_its_number_when_its_name_is_another(tmp_path: Path) -> None:
    """The catalogue that is looked at behind a range may be newer than the transaction's end."""
    log = DecodedLog(tmp_path, listed=(A,))
    undo = changes(102, DELETE, "", 9, rollback=True)
    log.feed([begins(100), inserts(101, 1), undo], 105, look(facts(B, number=NUMBERS[A])))
    steps = log.feed([commits(106)], 110, look(facts(B, number=NUMBERS[A])))
    assert [step.table for step in steps if isinstance(step, Fault)] == [B]


def test_signals_come_again_until_their_transaction_is_out(tmp_path: Path) -> None:
    """What a signal started is saved only at the end of its transaction."""
    signal = """insert into "SHOP"."SIGNALS"("ID","TYPE","DATA") values ('s1','execute-snapshot','{}');"""
    rows = [
        begins(100),
        changes(101, INSERT, signal, 1, of=SIGNALS),
        *(inserts(102, number) for number in range(2, 6)),
        commits(103),
    ]
    log = DecodedLog(tmp_path, most_bytes=1)
    steps = log.feed(rows, 110)
    (found,) = [step for step in steps if isinstance(step, Signal)]
    assert (found.id, found.type, found.data) == ("s1", "execute-snapshot", "{}")
    cut = [step.upto for step in steps if isinstance(step, Rows)]
    again = DecodedLog(tmp_path, cut[1].saved())
    rest = again.feed(rows, 110)
    assert [step.id for step in rest if isinstance(step, Signal)] == ["s1"]
    assert again.events(rest) == log.events(steps)[2:]
    (commit,) = [step for step in steps if isinstance(step, Commit)]
    whole = DecodedLog(tmp_path, commit.position.saved())
    assert not any(isinstance(step, Signal) for step in whole.feed(rows, 110))


def test_a_resume_anywhere_gives_the_rest(tmp_path: Path) -> None:
    rows = [
        *(begins(100), begins(100, Y), inserts(101, 1), inserts(101, 2, "y", Y)),
        *(inserts(102, number, of=B) for number in range(3, 6)),
        *(commits(103), inserts(104, 7, "y", Y), commits(105, Y), begins(106, Z), inserts(107, 8, xid=Z)),
    ]
    log = DecodedLog(tmp_path, most_bytes=1)
    steps = log.feed(rows, 108)
    whole = log.events(steps)
    steps += log.feed([commits(109, Z)], 110)
    whole = log.events(steps)
    assert len(whole) == 7
    reached = 0
    for step in steps:
        if isinstance(step, Rows):
            reached += len(step.rows)
        place = getattr(step, "upto", getattr(step, "position", None))
        if place is None:
            continue
        again = DecodedLog(tmp_path, place.saved(), most_bytes=1)
        assert again.events(again.feed([*rows, commits(109, Z)], 110)) == whole[reached:]


def test_a_resume_is_exact_though_other_rows_of_the_transaction_are_left_out_by_then(tmp_path: Path) -> None:
    """A count of rows alone would be a count of others."""
    rows = [begins(100), inserts(101, 1), inserts(102, 2, of=B), inserts(103, 3, "c", of=B), commits(104)]
    log = DecodedLog(tmp_path, most_bytes=1)
    steps = log.feed(rows, 110)
    cut = [step.upto for step in steps if isinstance(step, Rows)][1]
    gone = rows[1]._replace(owner="SHOP", table="OTHER")
    again = DecodedLog(tmp_path, cut.saved(), listed=(B,))
    rest = again.feed([rows[0], gone, *rows[2:]], 110, look(facts(B)))
    assert [(text, seq[-8:]) for _, text, seq in again.events(rest)] == [("c", "00000002")]


def test_a_resume_inside_a_transaction_numbers_its_events_as_before(tmp_path: Path) -> None:
    moved = """update "SHOP"."A" set "ID" = '9' where "ID" = '1' and "T" = 't';"""
    rows = [
        *(begins(100), inserts(101, 1), inserts(102, 2, of=B), changes(103, UPDATE, moved, 1)),
        *(inserts(104, 4, of=B), inserts(105, 5), commits(106)),
    ]
    log = DecodedLog(tmp_path, most_bytes=1, counted=True)
    steps = log.feed(rows, 110)

    def numbered(one: DecodedLog, made: list[Step]) -> list[object]:
        values = [one.registry.decode(row[3]) for step in made if isinstance(step, Rows) for row in step.rows]
        return [value["transaction"] for value in values]

    whole = numbered(log, steps)
    assert len(whole) == 6
    reached = 0
    for step in steps:
        if isinstance(step, Rows):
            reached += len(step.rows)
            again = DecodedLog(tmp_path, step.upto.saved(), counted=True)
            assert numbered(again, again.feed(rows, 110)) == whole[reached:]


def test_commits_of_one_scn_both_come(tmp_path: Path) -> None:
    """flink-cdc#2204."""
    rows = [
        *(begins(100), begins(100, Y), inserts(101, 1, "x"), inserts(101, 2, "y", Y)),
        *(commits(105, rba=(7, 900, 16)), commits(105, Y, rba=(7, 901, 16))),
    ]
    log = DecodedLog(tmp_path)
    steps = log.feed(rows, 110)
    assert [text for _, text, _ in log.events(steps)] == ["x", "y"]
    (first, second) = [step.position for step in steps if isinstance(step, Commit)]
    assert first < second
    again = DecodedLog(tmp_path, first.saved())
    assert [text for _, text, _ in again.events(again.feed(rows, 110))] == ["y"]


def test_the_catalogue_may_be_newer_than_the_end_of_its_range(tmp_path: Path) -> None:
    """Rows that were mined with the names of before are read with the columns of before."""
    log = DecodedLog(tmp_path)
    now = look(facts(A, "N"), facts(B))
    log.feed([], 99)
    steps = log.feed([begins(100), inserts(101, 1, "old"), commits(102)], 105, now)
    assert [text for _, text, _ in log.events(steps)] == ["old"]
    assert [step.table for step in steps if isinstance(step, Reshaped)] == [A]
    assert LOOK.tables[11] != now.tables[11]


def test_a_table_of_an_owner_that_was_not_mined_waits_for_what_was_open(tmp_path: Path) -> None:
    """Else the rows that an open transaction has put into it would be in no read, and not in the log."""
    late = OracleTableFacts(TableId("DB", "LATE", "A"), 31, facts(A).columns, ("ID",))
    log = DecodedLog(tmp_path, captures={A, late.id}, listed=(A,))
    log.feed([begins(100)], 100, look(facts(A)))
    now = look(facts(A), late)
    assert not any(isinstance(step, Appeared) for step in log.feed([begins(101, Y)], 105, now))
    assert not any(isinstance(step, Appeared) for step in log.feed([commits(106)], 110, now))
    steps = log.feed([commits(111, Y)], 115, now)
    assert [step.table for step in steps if isinstance(step, Appeared)] == [late.id]
    rows = [begins(116, Z), inserts(116, 1, xid=Z, owner="LATE", object_id=31), commits(117, Z)]
    assert len(log.events(log.feed(rows, 120, now))) == 1
    idle = DecodedLog(tmp_path, captures={A, late.id}, listed=(A,))
    idle.feed([], 100, look(facts(A)))
    assert any(isinstance(step, Appeared) for step in idle.feed([], 105, now))


def test_an_owner_without_tables_for_a_time_is_not_mined_then(tmp_path: Path) -> None:
    """What an open transaction has done meanwhile is not in the log that was mined."""
    late = OracleTableFacts(TableId("DB", "LATE", "A"), 31, facts(A).columns, ("ID",))
    again = replace(late, object_id=32)
    log = DecodedLog(tmp_path, captures={A, late.id}, listed=(A, late.id))
    log.feed([], 100, look(facts(A), late))
    log.feed([], 105, look(facts(A)))
    unmined = log.feed([begins(108)], 110, look(facts(A), again), owners={"SHOP"})
    assert not any(isinstance(step, Appeared) for step in unmined)
    steps = log.feed([inserts(111, 2, owner="LATE", object_id=32), commits(112)], 115, look(facts(A), again))
    assert log.events(steps) == []
    assert [step.table for step in steps if isinstance(step, Appeared)] == [late.id]


def test_an_owner_that_the_first_range_has_not_waits_for_what_was_open(tmp_path: Path) -> None:
    late = OracleTableFacts(TableId("DB", "LATE", "A"), 31, facts(A).columns, ("ID",))
    log = DecodedLog(tmp_path, captures={A, late.id}, listed=(A,))
    first = log.feed([begins(100)], 105, look(facts(A), late), owners={"SHOP"})
    assert not any(isinstance(step, Appeared) for step in first)
    steps = log.feed([inserts(106, 2, owner="LATE", object_id=31), commits(107)], 110, look(facts(A), late))
    assert log.events(steps) == []
    assert [step.table for step in steps if isinstance(step, Appeared)] == [late.id]
