"""A range that was handed out is counted again: rows that come late are found, and nothing else is."""

from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import ALL, TABLES, Server, history, lsn, positions, read
from wrackline.producers.sources.sqlserver.log import range_audit
from wrackline.producers.sources.sqlserver.log.change_rows import INSERT, RowPlace, row_key
from wrackline.producers.sources.sqlserver.log.lsn import ZERO
from wrackline.producers.sources.sqlserver.log.page_merger import CommitPart, LoggedCommit, TableRange
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.log.range_audit import AuditTally, CountedRange, RangeAudit
from wrackline.schemas.errors import Definite

TABLE = TABLES[0]


def count(server: Server, asked: CountedRange) -> int:
    """Answer as COUNT_BIG does."""
    return sum(asked.above < key[:10] <= asked.upto for key, _, _ in server.rows[asked.table])


def audited(server: Server, position: SqlServerPosition) -> tuple[RangeAudit, list[CountedRange]]:
    """Read to the end in one poll, and let the range rest."""
    audit, upto = RangeAudit("shop", 30), server.commits[-1].lsn
    audit.begin(position, [TableRange(table, position.behind, upto) for table in TABLES])
    for part in read(server, position)[0]:
        audit.count(part)
    audit.end(0)
    return audit, list(audit.due(10, TABLES))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_was_read_is_what_is_there_from_any_place_on(seed: int) -> None:
    server = history(Random(seed), commits=4, most=5)
    for position in [SqlServerPosition(1, ZERO), *positions(read(server)[0])]:
        audit, asked = audited(server, position)
        audit.compare(asked, [count(server, one) for one in asked], 0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_row_that_comes_late_is_found(seed: int) -> None:
    random = Random(seed)
    server = history(random)
    places = [one for one in positions(read(server)[0]) if one.lsn < server.commits[-1].lsn]
    position = random.choice([SqlServerPosition(1, ZERO), *places])
    audit, asked = audited(server, position)
    table = random.choice(TABLES)
    commit = random.choice([one.lsn for one in server.commits if one.lsn > position.lsn])
    server.rows[table].append((row_key(commit, RowPlace(9, lsn(1), table, INSERT)), ALL, b""))
    with pytest.raises(Definite) as caught:
        audit.compare(asked, [count(server, one) for one in asked], 0)
    assert caught.value.code == "sqlserver.late_rows"


def test_rows_that_the_cleanup_job_deletes_are_no_fault() -> None:
    server = history(Random(3))
    audit, asked = audited(server, SqlServerPosition(1, ZERO))
    audit.compare(asked, [0 for _ in asked], 0)


def poll(audit: RangeAudit, now: float, number: int) -> None:
    audit.begin(SqlServerPosition(1, lsn(number)), [TableRange(TABLE, lsn(number + 1), lsn(number + 1))])
    change = (TABLE, "u", b"", b"", b"", b"")
    audit.count(CommitPart(LoggedCommit(lsn(number + 1), 0, b"t"), 0, [change], complete=True))
    audit.end(now)


def test_all_that_has_rested_is_counted_once_and_not_too_often() -> None:
    audit = RangeAudit("shop", 30)
    assert audit.due(0, TABLES) == []
    for now in range(20):
        poll(audit, now, now)
    [asked] = audit.due(20, TABLES)
    assert asked == CountedRange(TABLE, lsn(0), lsn(11), 22), "read up to 10 s; an update has two rows"
    assert audit.due(21, TABLES) == [asked], "nobody has counted it yet: that poll was in vain"
    audit.compare([asked], [22], 0)
    assert audit.due(49, TABLES) == []
    [later] = audit.due(50, TABLES)
    assert (later.above, later.upto) == (lsn(11), lsn(20))
    audit.compare([later], [18], 0)
    assert audit.due(1000, TABLES) == [], "nothing was read since"


def test_a_log_that_is_never_quiet_is_remembered_by_the_second() -> None:
    audit = RangeAudit("shop", 30)
    for number in range(40_000):
        poll(audit, number / 1000, number)
    assert len(audit._read) <= 41
    assert sum(len(one.ranges()) for one in audit._read) <= 41
    [asked] = audit.due(40, TABLES)
    assert asked == CountedRange(TABLE, lsn(0), lsn(30_000), 60_000), "one count of one table"


def test_a_poll_counts_no_more_than_so_many_tables_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_audit, "_MOST_TABLES", 2)
    monkeypatch.setattr(range_audit, "_MOST_ROWS", 5)
    audit = RangeAudit("shop", 30)
    audit.begin(SqlServerPosition(1, lsn(1)), [TableRange(one, lsn(2), lsn(9)) for one in range(5)])
    audit._rows.update({0: 7, 1: 3, 2: 3})
    audit.end(0)
    polls = []
    while asked := audit.due(10, range(5)):
        assert audit.waits
        polls.append([one.table for one in asked])
        audit.compare(asked, [one.rows for one in asked], 0)
    assert polls == [[0], [1], [2, 3], [4]]
    assert not audit.waits


def test_ranges_that_were_counted_are_added_up_however_often_the_log_is_opened() -> None:
    tally = AuditTally()
    for start in (0, 100):
        audit = RangeAudit("shop", 30, tally)
        audit.compare(audit.due(start, TABLES), [], start)
        assert (tally.ranges, tally.last_at) == ((0, None) if start == 0 else (1, 12)), "nothing was due"
        poll(audit, start, start)
        asked = audit.due(start + 10, TABLES)
        audit.compare(asked, [2], start + 12)
    assert (tally.ranges, tally.last_at) == (2, 112)
    poll(audit, 200, 200)
    asked = audit.due(300, TABLES)
    with pytest.raises(Definite):
        audit.compare(asked, [3], 300)
    assert tally.ranges == 2, "what it found is an error"


def test_a_quiet_log_is_read_again_when_something_is_to_be_counted() -> None:
    audit = RangeAudit("shop", 30)
    assert audit.rest_s(3) == inf
    poll(audit, 0, 1)
    assert audit.rest_s(3) == 7
    audit.compare(audit.due(10, TABLES), [2], 10)
    assert audit.rest_s(11) == inf
    for now in (15, 18):
        poll(audit, now, now)
    assert audit.rest_s(20) == 20, "not before the interval is over"
    assert audit.rest_s(36) == 4


def test_what_nobody_has_counted_yet_is_not_forgotten_for_what_rests_later() -> None:
    audit = RangeAudit("shop", 30)
    poll(audit, 0, 1)
    [asked] = audit.due(10, TABLES)
    poll(audit, 11, 5)
    assert audit.due(50, TABLES) == [asked]


def test_ranges_are_joined_if_nothing_is_between_them_and_they_are_not_too_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(range_audit, "_MOST_ROWS", 4)
    audit = RangeAudit("shop", 30)
    for number in (1, 2, 3, 7):  # two rows each
        poll(audit, number / 10, number)
    asked = [one for ranges in audit._read for one in ranges.ranges()]
    assert [(one.above, one.upto, one.rows) for one in asked] == [
        (lsn(1), lsn(3), 4),
        (lsn(3), lsn(4), 2),
        (lsn(7), lsn(8), 2),
    ]


def test_a_table_that_is_gone_is_not_counted() -> None:
    audit = RangeAudit("shop", 30)
    poll(audit, 0, 1)
    assert audit.due(10, ()) == []


def test_a_poll_that_did_not_end_is_not_counted() -> None:
    audit = RangeAudit("shop", 30)
    audit.begin(SqlServerPosition(1, lsn(1)), [TableRange(TABLE, lsn(2), lsn(9))])
    poll(audit, 0, 20)
    [asked] = audit.due(10, TABLES)
    assert asked.above == lsn(20)


def test_a_stream_that_nobody_audits_counts_and_remembers_nothing() -> None:
    audit = RangeAudit("shop", float("inf"))
    for now in range(1000):
        poll(audit, now, now)
        assert audit.due(now, TABLES) == []
    assert not audit._read


def test_an_older_instance_is_counted_only_up_to_its_end() -> None:
    audit = RangeAudit("shop", 30)
    audit.begin(
        SqlServerPosition(1, lsn(5)), [TableRange(TABLE, lsn(6), lsn(7)), TableRange(9, lsn(8), lsn(9))]
    )
    audit.end(0)
    assert [(one.table, one.above, one.upto) for one in audit.due(10, (TABLE, 9))] == [
        (TABLE, lsn(5), lsn(7)),
        (9, lsn(7), lsn(9)),
    ]


def test_a_range_without_a_commit_is_not_asked_about() -> None:
    audit = RangeAudit("shop", 30)
    audit.begin(SqlServerPosition(1, lsn(5)), [TableRange(TABLE, lsn(6), lsn(5))])
    audit.end(0)
    assert audit.due(10, TABLES) == []
