"""Pages of change tables into transactions: the same changes in the same order, wherever pages end."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import (
    ALL,
    TABLES,
    Server,
    changes,
    history,
    lsn,
    positions,
    read,
)
from wrackline.producers.sources.sqlserver.log import page_merger
from wrackline.producers.sources.sqlserver.log.change_rows import (
    AFTER,
    BEFORE,
    DELETE,
    INSERT,
    ChangeRow,
    RowPlace,
    row_key,
)
from wrackline.producers.sources.sqlserver.log.page_merger import (
    LoggedCommit,
    PageMerger,
    TableRange,
)
from wrackline.schemas.errors import Definite

SEEDS = st.integers(0, 2**32)
TABLE = TABLES[0]


@pytest.fixture(autouse=True)
def small_pages() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_merger, "FIRST_ROWS", 3)
        patch.setattr(page_merger, "MOST_ROWS", 3)
        yield


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, most=st.integers(2, 9))
def test_pages_of_any_size_give_every_change_once_in_commit_order(seed: int, most: int) -> None:
    server = history(Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_merger, "FIRST_ROWS", most)
        patch.setattr(page_merger, "MOST_ROWS", most)
        parts, held = read(server, most_bytes=Random(seed).choice((1, 60, 1 << 20)))
    assert changes(parts) == server.expected
    assert [part.commit for part in parts if part.complete] == server.commits
    assert held <= most * len(TABLES)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_a_restart_at_each_place_gives_exactly_the_rest(seed: int) -> None:
    server = history(Random(seed), commits=5, most=6)
    parts, _ = read(server)
    out = 0
    for position in positions(parts):
        rest, _ = read(server, position)
        out += position.cut is not None
        assert changes(rest) == server.expected[out:]
        assert [part.commit for part in rest if part.complete] == [
            commit
            for commit in server.commits
            if commit.lsn > position.lsn or (position.cut is not None and commit.lsn == position.lsn)
        ]


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_places_rise_with_what_is_out(seed: int) -> None:
    made = positions(read(history(Random(seed)))[0])
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_key_permutation_of_ten_thousand_rows_is_never_held_whole() -> None:
    """DBZ-8858: all deletes come before all inserts, with other seqvals."""
    server = Server([LoggedCommit(lsn(5), 0, b"t" * 10)], {TABLE: []})
    for command, operation in ((1, DELETE), (2, INSERT)):
        server.rows[TABLE] += [
            (row_key(lsn(5), RowPlace(command, lsn(number), TABLE, operation)), ALL, b"row")
            for number in range(10_000)
        ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_merger, "MOST_ROWS", 100)
        parts, held = read(server)
    operations = "".join(change[1] for part in parts for change in part.changes)
    assert operations == "d" * 10_000 + "c" * 10_000
    assert held <= 100


def test_a_table_of_wide_rows_gets_short_pages() -> None:
    merger = merger_of([(place(number, INSERT), b"", b"x" * 1000) for number in range(3)], full=True)
    merger.take()
    assert [request.most_rows for request in merger.wanted()] == [2]


def test_the_pages_of_many_tables_share_the_bytes_of_their_database() -> None:
    parts = [TableRange(table, b"", lsn(5)) for table in range(100)]
    merger = PageMerger("shop", [LoggedCommit(lsn(5), 0, b"t" * 10)], parts, most_bytes=1_000_000)
    assert {request.most_bytes for request in merger.wanted()} == {10_000}
    for table in range(100):
        merger.feed(table, [], full=False) if table > 3 else merger.feed(
            table,
            [(row_key(lsn(5), RowPlace(1, lsn(one), table, INSERT)), b"", b"x" * 1000) for one in (1, 2)],
            full=True,
        )
    merger.take()
    wanted = merger.wanted()
    assert {request.most_bytes for request in wanted} == {250_000}, "four tables have more"
    assert all(request.most_rows * 1000 <= request.most_bytes for request in wanted)


def test_a_first_page_has_few_rows_because_nobody_knows_how_long_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_merger, "MOST_ROWS", 9)
    merger = PageMerger("shop", [], [TableRange(TABLE, b"", lsn(5))])
    assert [request.most_rows for request in merger.wanted()] == [3]


def test_a_page_has_as_many_rows_as_fit_by_the_last_page_and_one_table_has_all_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_merger, "MOST_ROWS", 100)
    merger = merger_of([(place(number, INSERT), b"m" * 50, b"x" * 50) for number in range(2)], full=True)
    merger.take()
    [request] = merger.wanted()
    assert (request.most_rows, request.most_bytes) == (20, 2000)


def test_a_full_page_without_a_row_that_can_go_out_was_too_short() -> None:
    with pytest.raises(ValueError, match="room for both rows"):
        merger_of([], full=True)
    with pytest.raises(ValueError, match="room for both rows"):
        merger_of([(place(1, BEFORE), b"", b"")], full=True)


@pytest.mark.parametrize("again", [0, 1])
def test_a_page_that_begins_where_the_last_one_was_stops_the_stream(again: int) -> None:
    rows = [(place(number, INSERT), b"", b"x") for number in range(2)]
    merger = merger_of(rows, full=True)
    merger.take()
    with pytest.raises(Definite, match="outside of the range"):
        merger.feed(TABLE, [rows[again], (place(9, INSERT), b"", b"x")], full=False)


def test_only_the_id_0_is_no_transaction() -> None:
    ids = [bytes(10), bytes(9) + b"\1", b"\1" + bytes(9)]
    assert [LoggedCommit(lsn(1), 0, one).quiet for one in ids] == [True, False, False]


def place(seqval: int, operation: int, *, commit: int = 5) -> bytes:
    return row_key(lsn(commit), RowPlace(1, lsn(seqval), TABLE, operation))


def pair_of(seqval: int) -> list[ChangeRow]:
    return [(place(seqval, BEFORE), b"", b""), (place(seqval, AFTER), b"", b"")]


def merger_of(rows: list[ChangeRow], *, full: bool = False, upto: int = 5) -> PageMerger:
    merger = PageMerger(
        "shop", [LoggedCommit(lsn(5), 0, b"t" * 10)], [TableRange(TABLE, b"", lsn(upto))], most_bytes=2000
    )
    merger.feed(TABLE, rows, full=full)
    return merger


def test_an_update_is_never_parted_by_a_page() -> None:
    rows = [(place(1, INSERT), b"", b"a"), (place(2, BEFORE), b"", b"b"), (place(2, AFTER), b"", b"c")]
    merger = merger_of(rows[:2], full=True)
    assert [change[1] for part in merger.take() for change in part.changes] == ["c"]
    [request] = merger.wanted()
    assert request.after == rows[0][0], "its first row is asked for again"
    merger.feed(TABLE, rows[1:], full=False)
    [part] = merger.take()
    assert (part.first, part.complete) == (1, True)
    assert part.changes == [(TABLE, "u", rows[2][0], b"", b"b", b"c")]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(place(2, INSERT), b"", b""), (place(1, INSERT), b"", b"")], "do not rise"),
        ([(place(1, INSERT), b"", b""), (place(1, INSERT), b"", b"")], "do not rise"),
        ([(place(1, INSERT, commit=6), b"", b"")], "outside of the range"),
        ([(place(1, INSERT, commit=4), b"", b"")], "not listed"),
        ([(place(1, AFTER), b"", b"")], "one of its two rows"),
        ([(place(1, BEFORE), b"", b"")], "one of its two rows"),
        ([(place(1, BEFORE), b"", b""), (place(2, AFTER), b"", b"")], "one of its two rows"),
        ([(place(1, BEFORE), b"", b""), (place(2, INSERT), b"", b"")], "one of its two rows"),
        ([(place(1, BEFORE), b"", b""), *pair_of(2)], "one of its two rows"),
        ([(place(1, 5), b"", b"")], "no operation 5"),
    ],
)
def test_what_can_t_be_a_log_stops_the_stream(rows: list[ChangeRow], reason: str) -> None:
    with pytest.raises(Definite, match=reason) as caught:
        merger_of(rows).take()
    assert caught.value.code == "sqlserver.log_inconsistent"


def test_the_highest_place_of_a_commit_belongs_to_it() -> None:
    key = row_key(lsn(5), RowPlace(2**32 - 2, b"\xff" * 10, 2**32 - 1, INSERT))
    [part] = merger_of([(key, b"", b"")]).take()
    assert [change[2] for change in part.changes] == [key]


def test_a_commit_between_two_tables_waits_for_both() -> None:
    other = TABLES[1]
    merger = PageMerger(
        "shop",
        [LoggedCommit(lsn(5), 0, b"t" * 10)],
        [TableRange(TABLE, b"", lsn(5)), TableRange(other, b"", lsn(5))],
    )
    merger.feed(TABLE, [(place(1, INSERT), b"", b"")], full=False)
    assert merger.take() == []
    assert [request.table for request in merger.wanted()] == [other]


def test_a_range_that_ends_before_it_begins_is_not_read() -> None:
    """An older capture instance whose successor took over."""
    merger = PageMerger("shop", [LoggedCommit(lsn(9), 0, b"")], [TableRange(TABLE, lsn(8), lsn(7))])
    assert merger.wanted() == []
    assert [part.complete for part in merger.take()] == [True]
    assert merger.done


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_a_quiet_log_still_moves(seed: int) -> None:
    """DBZ-2582, flink-cdc#2853: a row without a transaction is handed out as a place without changes."""
    server = history(Random(seed))
    parts, _ = read(server)
    quiet = [part for part in parts if part.commit.quiet]
    assert all(part.complete and not part.changes for part in quiet)
    assert [part.commit for part in quiet] == [one for one in server.commits if one.transaction == bytes(10)]


def test_the_model_writes_what_the_merger_is_to_match() -> None:
    written = {change[1] for seed in range(9) for _, _, change in history(Random(seed)).expected}
    assert written == {"c", "u", "d"}
