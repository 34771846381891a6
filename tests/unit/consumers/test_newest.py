"""The newest record of a key, found by its bytes: the same rows as if every record had been read."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.unit.consumers.test_decode import KEYED, RECORDS, TOPIC, Topic, rows
from wrackline.consumers.decode import decode
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.newest import latest
from wrackline.consumers.plan import Applied, Written
from wrackline.consumers.planning import current, look
from wrackline.consumers.superseded import told_by_bytes, without_superseded
from wrackline.schemas.envelope import dump, key_schema
from wrackline.schemas.table import Column
from wrackline.schemas.types import ColumnType, Kind

BY_NUMBER = replace(KEYED, columns=(Column("a b", 1, ColumnType(Kind.INT64, "bigint")), *KEYED.columns[1:]))


def newest(topic: "History", frame: DataFrame, known: Written | None) -> DataFrame:
    texts = topic.texts | {1: dump(key_schema(BY_NUMBER if topic.by_number else KEYED, topic=TOPIC) or {})}
    left = current(TOPIC, frame, known, texts.__getitem__)
    outlines = look(TOPIC, left, Applied(newest=known), texts.__getitem__).outlines
    return latest(frame, left, known, outlines, topic.writers, topic.plan)


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
    ("history", "left"),
    [
        (History((1, 2, 3, 300, -7), by_number=True, truncated=False, lacking=False), 5),
        (History((1, 2, 3, 300), by_number=True, truncated=True, lacking=False), 4 + 1),  # and the truncate
        (History((-0.0, 0.0, 1.5), by_number=False, truncated=True, lacking=False), 3 + 1),
        (History((1, 2, 3), by_number=True, truncated=False, lacking=True), 3),
    ],
    ids=["numbers", "truncated", "floats", "partial"],
)
def test_it_is_what_reading_all_records_finds(spark: SparkSession, history: History, left: int) -> None:
    frame = spark.createDataFrame(history.rows(), RECORDS)
    columns = [column.target for column in history.plan.columns]
    expected = rows(dedupe(decode(frame, history.writers, history.plan), columns, history.plan.key))
    assert without_superseded(frame, KNOWN).count() == left
    for known in (None, KNOWN, replace(KNOWN, seq="0" * 9)):
        found = rows(newest(history, frame, known))
        assert {str(row) for row in found} == {str(row) for row in expected}
        assert len(found) == len(expected)


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
