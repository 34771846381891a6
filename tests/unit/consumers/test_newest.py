"""The newest record of a key, found by its bytes: the same rows as if every record had been read."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.unit.consumers.test_decode import KEYED, RECORDS, TOPIC, Topic, rows
from wrackline.consumers.as_known import can_be, counted, newest_as_known, outline
from wrackline.consumers.decode import decode, partial_columns
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.newest import latest
from wrackline.consumers.plan import Applied, Written
from wrackline.consumers.planning import look
from wrackline.consumers.rounds import Outline
from wrackline.consumers.superseded import told_by_bytes, without_superseded
from wrackline.schemas.envelope import dump, key_schema
from wrackline.schemas.table import Column
from wrackline.schemas.types import ColumnType, Kind

BY_NUMBER = replace(KEYED, columns=(Column("a b", 1, ColumnType(Kind.INT64, "bigint")), *KEYED.columns[1:]))


def newest(topic: "History", frame: DataFrame) -> DataFrame:
    texts = topic.texts | {1: dump(key_schema(BY_NUMBER if topic.by_number else KEYED, topic=TOPIC) or {})}
    outlines = look(TOPIC, frame, Applied(), texts.__getitem__).outlines
    lacking = partial_columns({one.pair: one.unsent for one in outlines}, topic.writers, topic.plan)
    return latest(frame, outlines, topic.writers, replace(topic.plan, lacking=frozenset(lacking)))


def as_known(topic: "History", frame: DataFrame, known: Written) -> tuple[DataFrame, Outline | None]:
    (writer,) = topic.writers.values()
    found = newest_as_known(frame, known, writer, topic.plan)
    [answer] = found.agg(counted()).collect()[0]
    return found, outline(answer, known) if can_be(topic.plan) else None


KNOWN = Written("0" * 8, 1, 2)


class History(Topic):
    """Changes of few keys, in any order of their places, some of them told twice."""

    def __init__(self, keys: Sequence[float], *, by_number: bool, truncated: bool, lacking: bool) -> None:
        super().__init__(BY_NUMBER if by_number else KEYED)
        self.by_number = by_number
        chance = random.Random(len(keys))
        numbers = list(range(1, 120))
        chance.shuffle(numbers)
        for number in numbers:
            key = chance.choice(keys)
            unsent = ["b"] if lacking and chance.random() < 0.2 else []
            if chance.random() < 0.2:
                self.tell("d", number, None, (key, None, None, None))
            elif truncated and number == 40:
                self.tell("t", number)
            else:
                self.tell("u", number, (key, None if unsent else f"b{number}", None, None), unsent=unsent)
        self.records += self.records[10:30]
        self.records = [(*record[:3], place) for place, record in enumerate(self.records)]
        if truncated:
            self.plan = replace(self.plan, upto=Applied(floor=f"{40:08x}"))


@pytest.mark.parametrize(
    ("history", "left", "is_known"),
    [
        (History((1, 2, 3, 300, -7), by_number=True, truncated=False, lacking=False), 5, True),
        (
            History((1, 2, 3, 300), by_number=True, truncated=True, lacking=False),
            4 + 1,
            False,
        ),  # a truncate too
        (History((-0.0, 0.0, 1.5), by_number=False, truncated=True, lacking=False), 3 + 1, False),
        (History(range(12), by_number=True, truncated=False, lacking=True), 12, False),
    ],
    ids=["numbers", "truncated", "floats", "partial"],
)
def test_it_is_what_reading_all_records_finds(
    spark: SparkSession, history: History, left: int, *, is_known: bool
) -> None:
    frame = spark.createDataFrame(history.rows(), RECORDS)
    columns = [column.target for column in history.plan.columns]
    expected = rows(dedupe(decode(frame, history.writers, history.plan), columns, history.plan.key))
    assert without_superseded(frame, KNOWN).count() == left
    found, outlined = as_known(history, frame, KNOWN)
    assert (outlined is not None) == is_known
    if outlined is not None:
        assert outlined.changes == left
        assert outlined.newest == max(row["seq"] for row in expected)
    for frame_of_all in [newest(history, frame), *([found] if is_known else [])]:
        got = rows(frame_of_all.drop("timestamp", "as_known"))
        assert Counter(map(str, got)) == Counter(map(str, expected))
    assert as_known(history, frame, replace(KNOWN, seq="0" * 9))[1] is None


def odd(topic: Topic, name: str) -> None:
    """Put a record into a batch of five changes after which it is no more as it is known to be."""
    key, value = topic.records[0][:2]
    assert key is not None
    assert value is not None
    row = (9, None, None, None)
    other_key = key[:4] + b"\x07" + key[5:]
    match name:
        case "other key schema":
            topic.raw(other_key, value)
        case "other schema":
            topic.raw(key, value[:4] + b"\x07" + value[5:])
        case "no key":
            topic.raw(None, value)
        case "half a key":
            topic.raw(key[:-1], value)
        case "damaged":
            topic.raw(key[:5] + bytes(8), value[:9] + b"\xff\xff\xff\xff" + value[13:])
        case "ours by its ends alone":
            topic.raw(key[:5] + bytes(8), value[:5] + b"\x7f" + value[-9:])
        case "truncate":
            topic.tell("t", 9)
        case "lacks a value":
            topic.tell("u", 9, row, unsent=["b"])
        case "not ours":
            topic.raw(b"key", b"{}")


ODD = (
    *("other key schema", "other schema", "no key", "half a key", "damaged", "ours by its ends alone"),
    *("truncate", "lacks a value", "not ours"),
)


@pytest.mark.parametrize("name", ["", *ODD])
def test_one_odd_record_makes_the_batch_be_looked_at(spark: SparkSession, name: str) -> None:
    topic = Topic(BY_NUMBER)
    for number in range(1, 6):
        topic.tell("c", number, (number, "b", None, None))
    odd(topic, name)
    (writer,) = topic.writers.values()
    frame = topic.frame(spark)
    for floor in (None, "f" * 8):
        plan = replace(topic.plan, upto=Applied(floor=floor))
        [answer] = newest_as_known(frame, KNOWN, writer, plan).agg(counted()).collect()[0]
        assert answer["others"] == (1 if name else 0)
        assert (outline(answer, KNOWN) is None) == bool(name)
        assert answer["changes"] - answer["others"] == (5 if floor is None else 0)


def test_only_what_is_replaced_for_certain_is_left_out(spark: SparkSession) -> None:
    topic = Topic(KEYED)
    for number in (1, 3, 2):
        topic.tell("u", number, (1.0, f"b{number}", None, None))
    key, value = topic.records[0][:2]
    assert key is not None
    assert value is not None
    kept = [
        (key, b"\0\0\0\0\x63" + value[5:]),  # another schema
        (key, value[:-1]),
        (key, value[:-9] + b"\x12" + value[-8:] + b"0"),  # a seq of another width
        (key, b"{}"),
        (None, value),
        (key[:5] + bytes(8), value),  # another key
    ]
    for record in (*kept, (key, None)):
        topic.raw(*record)
    frame = topic.frame(spark)
    left = Counter(map(str, without_superseded(frame, KNOWN).select("key", "value").collect()))
    expected = [topic.records[1][:2], *kept]  # the newest of the three, and no tombstone
    assert left == Counter(map(str, spark.createDataFrame(expected, "key binary, value binary").collect()))
    assert told_by_bytes(KNOWN) is KNOWN
    for unknown in (None, replace(KNOWN, key_id=None), replace(KNOWN, seq="0" * 64)):
        assert told_by_bytes(unknown) is None
