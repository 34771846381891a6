"""The assumptions over sessions of the model: each holds there, and a model that breaks one is found."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from tests.fixtures.oracle_model import ModelOracle
from tests.fixtures.oracle_model.driver import ModelConnection
from tests.fixtures.oracle_world import OracleWorld
from tests.unit.producers.oracle.model_settings import connector, model, settings
from wrackline.producers.contract.assumptions import Assuming, AssumptionReport, AssumptionVerdict
from wrackline.producers.sources.oracle.assume import assumption_sql
from wrackline.producers.sources.oracle.assume.assumptions import REST_S
from wrackline.producers.sources.oracle.assume.redo_observer import try_assumptions
from wrackline.producers.sources.oracle.mining.mined_row import COMMIT
from wrackline.schemas.tables.table import TableId

FLUSH = TableId("SHOP1", "C##W", "LOG_MINING_FLUSH")
NOW_S = 1_000_000_000.0
HOLDS, FAILS, UNTRIED = AssumptionVerdict.HOLDS, AssumptionVerdict.FAILS, AssumptionVerdict.UNTRIED
OPERATION, ROLLBACK, ROW_ID, VERSION, SEQUENCE, BLOCK, BYTE = 5, 6, 13, 15, 20, 21, 22  # of a mined row

Row = list[Any]
Twist = Callable[[list[Row], int], list[Row]]


def tried(
    made: ModelOracle,
    flush: TableId | None = FLUSH,
    rest: Callable[[float], None] = lambda _: None,
    given: Mapping[str, str] = MappingProxyType({}),
) -> AssumptionReport:
    return try_assumptions(connector(made, settings(**given)), flush, (), NOW_S, rest)


def verdicts(report: AssumptionReport, verdict: AssumptionVerdict) -> set[str]:
    return {one.id for one in report.assumptions if one.verdict is verdict}


def written(**made: Any) -> ModelOracle:
    """A database in which a log was switched."""
    one = model(**made)
    one.run("INSERT INTO ORDERS VALUES (1, 'a')")
    one.switch_log(1)
    return one


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({}, {}),
        ({"pdb": None}, {"database__pdb__name": ""}),
        ({"threads": 2}, {"rac__nodes": "node1,node2"}),
    ],
)
def test_all_hold_for_the_model(made: Mapping[str, Any], given: Mapping[str, str]) -> None:
    one = written(**made)
    report = tried(one, given=given)
    assert verdicts(report, HOLDS) == {f"A{number}" for number in range(8, 15)}, report.assumptions
    assert report.server == "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production"
    assert one.driver.connections == 0
    assert [name for *_, name in one.database.tables] == ["ORDERS", "LOG_MINING_FLUSH"]
    flush = next(table for (*_, name), table in one.database.tables.items() if name == FLUSH.name)
    assert not list(flush.seen(None)), "no row is left"


def twist(monkeypatch: pytest.MonkeyPatch, change: Twist) -> None:
    """Let each mining, by its number, show other rows."""
    run, count = ModelConnection.run, 0

    def twisted(self: ModelConnection, sql: str, binds: Mapping[str, Any]) -> tuple[Any, int]:
        nonlocal count
        rows, changed = run(self, sql, binds)
        if "V$LOGMNR_CONTENTS" in sql:
            rows = [tuple(row) for row in change([list(row) for row in rows or []], count)]
            count += 1
        return rows, changed

    monkeypatch.setattr(ModelConnection, "run", twisted)


def late_row(rows: list[Row], mining: int) -> list[Row]:
    return rows[1:] if mining == 0 else rows


def other_order(rows: list[Row], mining: int) -> list[Row]:
    return [rows[1], rows[0], *rows[2:]] if mining == 1 else rows


def one_place(rows: list[Row], _: int) -> list[Row]:
    for row in rows:
        if row[OPERATION] == COMMIT:
            row[BLOCK], row[BYTE] = 1, 16
    return rows


def forward_undo(rows: list[Row], _: int) -> list[Row]:
    undone = [row for row in rows if row[ROLLBACK]]
    for row, other in zip(undone, [[*one] for one in reversed(undone)], strict=True):
        row[:] = other
    return rows


def one_version(rows: list[Row], _: int) -> list[Row]:
    for row in rows:
        row[VERSION] = 1
    return rows


def other_log(rows: list[Row], mining: int) -> list[Row]:
    for row in rows if mining > 2 else []:
        row[SEQUENCE] = 2
    return rows


@pytest.mark.parametrize(
    ("id_", "change"),
    [
        ("A8", late_row),
        ("A10", other_order),
        ("A11", one_place),
        ("A12", forward_undo),
        ("A13", one_version),
        ("A14", other_log),
    ],
)
def test_a_log_that_breaks_an_assumption_is_found(
    monkeypatch: pytest.MonkeyPatch, id_: str, change: Twist
) -> None:
    one = written()
    twist(monkeypatch, change)
    report = tried(one)
    assert verdicts(report, FAILS) == {id_}, report.assumptions


def test_a_writer_that_is_late_behind_a_commit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    one = written()
    thread = one.database.threads[1]
    write = type(thread).flush
    with monkeypatch.context() as late:
        late.setattr(type(thread), "flush", lambda _: None)
        one.hold_writer()

        def rest(seconds: float) -> None:
            if seconds == REST_S:
                late.setattr(type(thread), "flush", write)
                one.flush_writer()

        report = tried(one, rest=rest)
    assert "A8" in verdicts(report, FAILS), report.assumptions


def test_rows_of_another_moment_than_was_asked_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    one, run = written(), ModelConnection.run

    def earlier(self: ModelConnection, sql: str, binds: Mapping[str, Any]) -> tuple[Any, int]:
        sql = re.sub(r"AS OF SCN (\d+)", lambda found: f"AS OF SCN {int(found[1]) - 1}", sql)
        return run(self, sql, binds)

    monkeypatch.setattr(ModelConnection, "run", earlier)
    assert verdicts(tried(one), FAILS) == {"A9"}


def test_rows_that_can_not_be_counted_leave_that_assumption_untried() -> None:
    one = written()
    one.fail("AS OF SCN", 1466, times=99)
    report = tried(one)
    assert (verdicts(report, UNTRIED), verdicts(report, FAILS)) == ({"A9"}, set())


def test_without_an_archived_log_its_end_is_not_tried() -> None:
    report = tried(model())
    [untried] = [one for one in report.assumptions if one.verdict is UNTRIED]
    assert (untried.id, "ALTER SYSTEM SWITCH LOGFILE" in untried.seen) == ("A14", True)


def test_where_nothing_may_be_written_nothing_is_tried() -> None:
    one = written()
    report = tried(one, None)
    assert verdicts(report, UNTRIED) == {f"A{number}" for number in range(8, 15)}
    assert not any("INSERT" in statement or "CREATE" in statement for statement in one.statements)


def test_a_right_that_is_missing_is_the_reason() -> None:
    one = written()
    one.revoke("C##W", "CREATE TABLE")
    report = tried(one)
    assert len(verdicts(report, UNTRIED)) == 7
    assert "ORA-01031" in report.assumptions[0].seen


def test_a_table_is_dropped_whatever_happens_and_that_of_a_killed_probe_later() -> None:
    one = written()
    one.fail("START_LOGMNR", 4031, times=99)
    assert len(verdicts(tried(one), UNTRIED)) == 7
    one.faults.errors.clear()
    left, fresh = (assumption_sql.own_table(f"{int(NOW_S) - age:08x}-00000001") for age in (4000, 10))
    session = connector(one, settings()).connect()
    for name in (left, fresh):
        session.execute(f'CREATE TABLE "{name}" (ID NUMBER(9))', "make a table")
    tried(one)
    assert {name for *_, name in one.database.tables} == {"ORDERS", "LOG_MINING_FLUSH", fresh}


def test_a_name_is_no_longer_than_log_miner_takes() -> None:
    stamp = "3b9aca00-4ebc7e98"
    assert len(assumption_sql.own_table(stamp)) <= 30
    assert assumption_sql.stamp_of(assumption_sql.own_table(stamp)) == stamp


@pytest.mark.parametrize(("only_reads", "tried_ones"), [("false", 6), ("true", 0)])
def test_a_source_tries_what_it_assumes_unless_it_only_reads(only_reads: str, tried_ones: int) -> None:
    world = OracleWorld(threads=1, pdb=None, archives=False, **{"read.only": only_reads})
    try:
        source: object = world.source
        assert isinstance(source, Assuming)
        [partition] = world.source.partitions()
        report = world.oracle.assumptions(partition, lambda _: None)
        assert report.database == partition.database
        assert len(verdicts(report, HOLDS)) == tried_ones, report.assumptions
        assert not verdicts(report, FAILS)
    finally:
        world.close()
