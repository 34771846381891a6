"""Bytes to rows of events: each once, under a row that the record alone decides, truncates too."""

import pytest
from pyspark.sql import SparkSession

from tests.unit.consumers.test_decode import KEYED, KEYLESS, NAMES, NOON, TOPIC, Topic
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, MergePlan, TableMode, plan_merge
from wrackline.consumers.records.event_rows import event_rows
from wrackline.consumers.records.writer_schema import WriterSchema, read_writer_schema

X, Y, OLD = (1.0, "x", NOON, None), (2.0, "y", NOON, None), (1.0, "old", None, None)


def told() -> tuple[Topic, dict[tuple[int | None, int], WriterSchema]]:
    """Return a topic with an event of each kind, one of them twice; its truncate has no key's schema."""
    topic = Topic(KEYED)
    topic.tell("r", 1, X)
    topic.tell("r", 1, Y)
    topic.tell("u", 3, (1.0, None, NOON, None), unsent=["b"])
    topic.tell("d", 4, before=OLD)
    topic.tell("c", 4, X)
    topic.tell("t", 5)
    topic.records.append(topic.records[2])
    alone: dict[tuple[int | None, int], WriterSchema] = {
        (None, 2): read_writer_schema(TOPIC, None, topic.texts[2])
    }
    return topic, {**topic.writers, **alone}


def planned(mode: TableMode, floor: str | None = None) -> MergePlan:
    return plan_merge(KEYED, Identifiers(255), Applied(floor=floor), mode=mode)


@pytest.mark.parametrize("mode", [TableMode.APPEND, TableMode.HISTORY])
def test_every_event_is_a_row_of_its_own(spark: SparkSession, mode: TableMode) -> None:
    topic, writers = told()
    found = event_rows(topic.frame(spark), writers, planned(mode)).collect()
    rows = {
        (row.seq, row.op): (row.row["a b"], row.row["b"], row.deleted, row.unsent)
        for row in found
        if row.op != "r"
    }
    assert rows == {
        ("00000003", "u"): (1.0, None, False, ["b"]),
        ("00000004", "d"): (1.0, "old" if mode is TableMode.APPEND else None, True, []),
        ("00000004", "c"): (1.0, "x", False, []),
        ("00000005", "t"): (None, None, False, []),
    }
    assert sorted(row.row["b"] for row in found if row.op == "r") == ["x", "y"]
    ids = {row.row["_wl_row"] for row in found}
    assert len(ids) == len(found) == 6
    assert {"00000003", "00000004", "00000004-", "00000005"} < ids


def test_a_row_is_the_same_whatever_key_its_table_has(spark: SparkSession) -> None:
    """Sent under one key, read again under the next: an append table has each event once."""
    topic, writers = told()
    frame = topic.frame(spark)
    other = plan_merge(KEYLESS, Identifiers(255), Applied(), mode=TableMode.APPEND)
    before, after = (
        {(row.row["_wl_row"], *(str(row.row[name]) for name in NAMES)) for row in found.collect()}
        for found in (
            event_rows(frame, writers, planned(TableMode.APPEND)),
            event_rows(frame, writers, other),
        )
    )
    assert before == after


def test_what_lies_below_a_history_s_floor_is_void(spark: SparkSession) -> None:
    topic, writers = told()
    found = event_rows(topic.frame(spark), writers, planned(TableMode.HISTORY, floor="00000004"))
    assert {(row.seq, row.op) for row in found.collect()} == {
        ("00000004", "d"),
        ("00000004", "c"),
        ("00000005", "t"),
    }
