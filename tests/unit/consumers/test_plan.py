"""A plan by itself: where a table must stand for it, and the shape that it gives a table."""

from dataclasses import replace

import pytest

from tests.unit.consumers.test_evolve import CAN, COUNT, ID, NOTE
from wrackline.consumers.contract.plan import (
    MOVED_ON,
    SET_BACK,
    Applied,
    MergePlan,
    OurColumns,
    TableMode,
    TopicPartition,
    plan_merge,
)
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

HERE, THERE, ELSEWHERE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ORDERS = TableSchema(TableId("db", "public", "orders"), (ID, COUNT, NOTE), ("id",), KeyKind.PRIMARY)
FIRM = replace(NOTE, nullable=False)


def plan(since: Applied, upto: Applied) -> MergePlan:
    """Return a plan of one batch between two places."""
    return replace(plan_merge(ORDERS, CAN.identifiers, upto), since=since)


def test_offsets_are_distinguished_by_their_topics() -> None:
    assert Applied({HERE: 5, THERE: 7, ELSEWHERE: 9}).of_topic("t") == {0: 5, 1: 7}


@pytest.mark.parametrize(
    ("now", "is_there"),
    [
        ({HERE: 5, THERE: 1}, True),
        ({HERE: 6, THERE: 1}, True),
        ({HERE: 4, THERE: 1}, False),
        ({HERE: 5}, False),
    ],
)
def test_a_table_is_there_when_each_partition_is(now: dict[TopicPartition, int], *, is_there: bool) -> None:
    assert Applied(now).reaches(Applied({HERE: 5, THERE: 1})) is is_there


def test_a_batch_follows_where_it_was_read_from_and_lets_others_move() -> None:
    made = plan(Applied({HERE: 5, THERE: 2}), Applied({HERE: 9, THERE: 2, ELSEWHERE: 3}))
    made.check_follows(Applied({HERE: 5, THERE: 2}), "target")
    made.check_follows(Applied({HERE: 5, THERE: 8}), "target")  # of another flow; the batch moves it nowhere


@pytest.mark.parametrize(
    ("now", "code"),
    [
        ({HERE: 4, THERE: 2}, SET_BACK.code),
        ({}, SET_BACK.code),
        ({HERE: 6, THERE: 2}, MOVED_ON.code),
        ({HERE: 5, THERE: 2, ELSEWHERE: 1}, MOVED_ON.code),
    ],
)
def test_a_batch_does_not_follow_another_place(now: dict[TopicPartition, int], code: str) -> None:
    made = plan(Applied({HERE: 5, THERE: 2}), Applied({HERE: 9, THERE: 2, ELSEWHERE: 3}))
    with pytest.raises(Transient) as refused:
        made.check_follows(Applied(now), "target")
    assert refused.value.code == code


@pytest.mark.parametrize("mode", [TableMode.UPSERT, TableMode.APPEND])
def test_what_has_no_key_has_a_row_of_its_own(mode: TableMode) -> None:
    table = replace(ORDERS, columns=(ID, COUNT, FIRM), key=(), key_kind=KeyKind.NONE)
    made = plan_merge(table, CAN.identifiers, Applied(), mode=mode)
    assert made.key == ("_wl_row",)
    assert made.keyless == (mode is TableMode.UPSERT)
    assert not plan_merge(ORDERS, CAN.identifiers, Applied(), mode=mode).keyless


def test_only_a_key_becomes_nullable_because_a_truncate_has_none() -> None:
    table = replace(ORDERS, columns=(replace(ID, nullable=False), COUNT, FIRM))
    for mode, kind in ((TableMode.HISTORY, KeyKind.PRIMARY), (TableMode.APPEND, KeyKind.NONE)):
        made = plan_merge(table, CAN.identifiers, Applied(), mode=mode).table
        assert {one.name: one.nullable for one in made.columns} == {
            "_wl_row": False,
            "id": True,
            "count": True,
            "note": False,
        }
        assert made.key_kind is kind


def test_a_feeds_history_shows_its_sequence() -> None:
    shown = FeedSequence((("", ColumnType(Kind.INT64, "feed")),))
    ours = OurColumns.prefixed("_x_")
    assert ours.shown is None
    of_feed = ours.of_feed("_x_", shown)
    assert (of_feed.start, of_feed.end, of_feed.shown) == ("_x_start", "_x_end", shown)
