"""From one capture instance to the next: each commit is read once, from an instance that has it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import ALL, lsn
from wrackline.producers.sources.sqlserver.follow.capture_instances import (
    CapturedColumn,
    CatalogueInstance,
    columns_sql,
    disable_sql,
    enable_sql,
    instances_sql,
)
from wrackline.producers.sources.sqlserver.follow.handover import lost, parts_behind, ranges
from wrackline.producers.sources.sqlserver.follow.rotation import missing_columns, next_step
from wrackline.producers.sources.sqlserver.log.change_rows import (
    INSERT,
    ChangeRow,
    RowPlace,
    place_of,
    row_key,
)
from wrackline.producers.sources.sqlserver.log.page_merger import LoggedCommit, PageMerger
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance, SqlServerPosition
from wrackline.schemas.tables.table import TableId

TABLE = TableId("shop", "dbo", "orders")
SOURCE = 245
COLUMNS = (CapturedColumn("id", 1, 1), CapturedColumn("total", 2, 2))


def instance(
    name: str, number: int, start: int | None, created: str = "2026-01-01T00:00:00"
) -> CatalogueInstance:
    return CatalogueInstance(name, number, SOURCE, None if start is None else lsn(start), created, COLUMNS)


def known(*instances: CatalogueInstance) -> Mapping[str, FollowedInstance]:
    return {one.name: kept for one in instances if (kept := one.followed) is not None}


def rows_of(one: CatalogueInstance, commits: Sequence[int], *, at_start: bool) -> list[ChangeRow]:
    """Two rows a commit; whether a second instance has the commit at its own start, nobody promises."""
    start = int.from_bytes(one.start_lsn or b"", "big")
    return [
        (
            row_key(lsn(commit), RowPlace(1, lsn(number), one.object_id, INSERT)),
            ALL,
            b"%d/%d" % (commit, number),
        )
        for commit in commits
        if commit > start or (at_start and commit == start)
        for number in (1, 2)
    ]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_each_commit_is_read_once_whatever_the_place_and_the_starts(seed: int) -> None:
    random = Random(seed)
    commits = sorted(random.sample(range(10, 30), 8))
    older = instance("a", random.choice((7, 9)), random.randint(5, 10))
    newer = instance("b", 8, random.randint(5, 32), random.choice(("2026-01-02", "2027-01-01")))
    if newer.start_lsn == older.start_lsn:  # T-Q02: the one that was made later is the newer
        newer = replace(newer, created="2027-01-01")
    older, newer = sorted((older, newer), key=lambda one: (one.start_lsn, one.created))
    tables = {
        one.object_id: rows_of(one, commits, at_start=one is older or random.random() < 0.5)
        for one in (older, newer)
    }
    at = SqlServerPosition(1, lsn(random.randint(9, 30)))
    if random.random() < 0.5:  # inside a commit, behind its first row, from whichever instance it came
        commit = random.choice(commits)
        owner = older if lsn(commit) <= (newer.start_lsn or b"") else newer
        at = SqlServerPosition(1, lsn(commit), 1, RowPlace(1, lsn(1), owner.object_id, INSERT))
    listed = [LoggedCommit(lsn(one), 0, b"t") for one in commits if lsn(one) > at.passed]
    upto = listed[-1].lsn if listed else at.lsn
    parts = ranges(parts_behind([newer, older], at.passed), at.behind, upto)
    merger = PageMerger("shop", listed, parts, done=1 if at.cut else 0)
    for part in parts:
        rows = [row for row in tables[part.table] if part.after < row[0] and row[0][:10] <= part.upto]
        merger.feed(part.table, rows, full=False)
    found = [change[5] for one in merger.take() for change in one.changes]
    wanted = [b"%d/%d" % (one, number) for one in commits if lsn(one) > at.passed for number in (1, 2)]
    assert found == wanted[1 if at.cut else 0 :]


OLD, NEW = instance("a", 7, 10), instance("b", 8, 50)


@pytest.mark.parametrize(
    ("instances", "before", "after", "code"),
    [
        ([OLD], [OLD], 40, None),
        ([OLD, NEW], [OLD], 40, None),
        ([NEW], [OLD, NEW], 60, None),  # handed over, then dropped
        ([NEW], [OLD, NEW], 50, None),
        ([OLD], [OLD], 5, None),  # fresh: its start is above our place, as it was
        ([replace(OLD, start_lsn=lsn(30))], [OLD], 40, None),  # the cleanup job stays behind us
        ([replace(OLD, start_lsn=lsn(41))], [OLD], 40, None),  # and keeps the commit that it starts at
        ([replace(OLD, start_lsn=lsn(42))], [OLD], 40, "sqlserver.cleaned_away"),
        ([replace(OLD, start_lsn=lsn(30))], [OLD], 5, "sqlserver.cleaned_away"),  # it was fresh, and had rows
        ([replace(OLD, start_lsn=lsn(45)), NEW], [OLD, NEW], 40, "sqlserver.cleaned_away"),
        ([replace(NEW, start_lsn=lsn(55))], [OLD, NEW], 40, "sqlserver.instance_gone"),
        ([replace(NEW, start_lsn=lsn(62))], [OLD, NEW], 60, "sqlserver.cleaned_away"),
        ([OLD], [OLD, NEW], 60, None),  # somebody dropped the newer; the older has all rows too
        ([NEW], [OLD, NEW], 5, "sqlserver.instance_gone"),
        ([NEW], [OLD], 40, "sqlserver.instance_gone"),  # dropped and made again while we were away
        ([NEW], [OLD], 60, "sqlserver.instance_gone"),  # nobody has seen both, so something may be missing
        ([NEW], [OLD, NEW], 40, "sqlserver.instance_gone"),  # dropped before it was read to its end
        ([replace(OLD, object_id=9)], [OLD], 40, "sqlserver.instance_gone"),  # the same name, another table
        ([], [OLD], 40, "sqlserver.instance_gone"),
        ([instance("b", 8, None)], [OLD], 40, "sqlserver.instance_gone"),
        ([instance("b", 8, None)], [], 40, None),  # the capture job comes to it soon
        ([NEW], [], 40, None),  # a table that is captured from there on
        ([], [], 40, "sqlserver.not_captured"),
    ],
)
def test_rows_that_nobody_has_any_more_are_named(
    instances: list[CatalogueInstance], before: list[CatalogueInstance], after: int, code: str | None
) -> None:
    error = lost(TABLE, instances, known(*before), lsn(after))
    assert (error.code if error else None) == code


def test_an_instance_that_has_not_begun_is_not_read() -> None:
    assert parts_behind([instance("a", 7, None)], lsn(1)) == []
    [part] = parts_behind([instance("b", 8, None), OLD], lsn(20))
    assert (part.instance, part.upto) == (OLD, None)


def test_a_table_s_old_instance_is_read_no_more_behind_its_successor_s_start() -> None:
    assert [part.instance.name for part in parts_behind([OLD, NEW], lsn(49))] == ["a", "b"]
    assert [part.instance.name for part in parts_behind([OLD, NEW], lsn(50))] == ["b"]


ADDED = (*COLUMNS, CapturedColumn("sum", 3, 0, computed=True), CapturedColumn("no]te", 4, 0))
OURS = replace(NEW, name=f"wrackline_{SOURCE}_2", columns=ADDED)
CREATE = (
    "EXEC [shop].sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'orders',"
    " @role_name = N'cdc_o', @capture_instance = N'wrackline_245_2',"
    " @supports_net_changes = 1, @index_name = N'PK',"
    " @captured_column_list = N'[id], [total], [no]]te]', @filegroup_name = N'FG';"
)


@pytest.mark.parametrize(
    ("instances", "columns", "confirmed", "statement"),
    [
        ([replace(OLD, role="cdc_o", net_changes=True, index="PK", file_group="FG")], ADDED, 99, CREATE),
        ([OLD, NEW], ADDED, 99, None),  # two, and neither is ours
        ([OLD, OURS], ADDED, 49, "nothing"),  # its rows are not all in Kafka
        ([OLD, OURS], ADDED, 50, disable_sql(TABLE, "a")),
        ([OURS], ADDED, 50, "nothing"),
        ([OLD], COLUMNS, 99, "nothing"),
        ([OLD, replace(OURS, start_lsn=None)], ADDED, 99, "nothing"),
        ([], ADDED, 99, "nothing"),
    ],
)
def test_a_new_instance_is_made_and_the_old_one_dropped_when_kafka_has_its_rows(
    instances: list[CatalogueInstance],
    columns: Sequence[CapturedColumn],
    confirmed: int,
    statement: str | None,
) -> None:
    step = next_step(TABLE, instances, columns, lsn(confirmed))
    assert ("nothing" if step is None else step.statement) == statement


def test_names_of_instances_go_on_counting() -> None:
    step = next_step(TABLE, [replace(OURS, columns=COLUMNS)], ADDED, lsn(99))
    assert step is not None
    assert "@capture_instance = N'wrackline_245_3'" in str(step.statement)


def test_a_column_that_the_table_lost_is_not_asked_for_again() -> None:
    """The procedure refuses a list with a name that the table does not have."""
    made = next_step(TABLE, [OLD], [COLUMNS[0], ADDED[3]], lsn(99))
    assert made is not None
    assert "@captured_column_list = N'[id], [no]]te]'" in str(made.statement)


def test_a_column_that_was_left_out_on_purpose_is_not_missing() -> None:
    some = replace(OLD, columns=(CapturedColumn("total", 2, 1),))
    assert missing_columns(some, COLUMNS) == ()
    assert missing_columns(some, ADDED) == ("no]te",)


def test_names_are_written_as_they_are() -> None:
    table = TableId("My]Db", "it's", "Order's")
    assert enable_sql(table) == (
        "EXEC [My]]Db].sys.sp_cdc_enable_table @source_schema = N'it''s', @source_name = N'Order''s',"
        " @role_name = NULL;"
    )
    assert "@capture_instance = N'a''b';" in disable_sql(table, "a'b")
    assert "FROM [My]]Db].cdc.change_tables c LEFT JOIN [My]]Db].sys.tables t" in instances_sql("My]Db")
    assert columns_sql(None).endswith("FROM cdc.captured_columns ORDER BY object_id, column_ordinal;")


def test_a_place_in_an_older_instance_is_one_in_the_newer_too() -> None:
    behind = SqlServerPosition(1, lsn(60), 1, RowPlace(1, lsn(1), 7, INSERT))
    [part] = ranges(parts_behind([OLD, NEW], behind.passed), behind.behind, lsn(99))
    assert (part.table, place_of(part.after)) == (8, behind.cut)


def test_the_instance_that_began_exactly_at_our_place_had_the_rows_behind_it() -> None:
    error = lost(TABLE, [], known(instance("a", 1, 5), instance("b", 2, 7)), lsn(7))
    assert error is not None
    assert (error.code, "b" in error.sentence.split()) == ("sqlserver.instance_gone", True)
