"""TPC-H's lineitem: its keys, and what a backlog over it promises."""

import pytest

from bench.workloads import lineitem

ROWS = 30_000


def test_an_order_has_one_to_seven_lines_and_four_on_average() -> None:
    lines = dict[int, list[int]]()
    for number in range(280):
        order, line = lineitem.key(number)
        lines.setdefault(order, []).append(line)
    assert len(lines) == 70
    assert {len(one) for one in lines.values()} == set(range(1, 8))
    assert all(one == list(range(1, len(one) + 1)) for one in lines.values())


def test_of_thirty_two_order_keys_eight_are_used() -> None:
    keys = [lineitem.order_key(order) for order in range(1, 1000)]
    assert keys == sorted(set(keys))
    assert {key % 32 for key in keys} == set(range(8))


@pytest.mark.parametrize(("rows", "most", "changes"), [(6_000_000, 500_000, 500_000), (5_999, 9_000, 2_000)])
def test_a_backlog_has_whole_transactions_and_at_most_half_as_many_changes_as_rows(
    rows: int, most: int, changes: int
) -> None:
    assert lineitem.changes_of(rows, most) == changes
    assert len(list(lineitem.transactions(rows, changes))) == changes // 1_000


def test_marks_belong_to_orders_before_the_rows_that_a_backlog_deletes() -> None:
    last, _ = lineitem.key(lineitem.first_deleted(ROWS) - 1)
    assert lineitem.order_key(lineitem.most_marks(ROWS)) <= last


def test_a_mark_is_known_by_its_comment_alone() -> None:
    _, (comment, order) = lineitem.mark(17)
    assert (lineitem.marked(comment), order) == (17, lineitem.order_key(18))
    assert lineitem.marked("changed 17") is None


def test_both_digests_have_every_column() -> None:
    for statement in (lineitem.postgres_digest(), lineitem.spark_digest("t")):
        assert all(statement.count(name) == 1 for name in lineitem.COLUMNS)
