"""The newest record of a key, found by its bytes: the same rows as if every record had been read."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.unit.consumers.test_decode import KEYED, RECORDS, TOPIC, Topic, rows
from wrackline.consumers import newest as module
from wrackline.consumers.decode import decode
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.newest import latest
from wrackline.consumers.plan import Applied
from wrackline.consumers.planning import look
from wrackline.consumers.rounds import Outline
from wrackline.schemas.envelope import dump, key_schema
from wrackline.schemas.table import Column
from wrackline.schemas.types import ColumnType, Kind

BY_NUMBER = replace(KEYED, columns=(Column("a b", 1, ColumnType(Kind.INT64, "bigint")), *KEYED.columns[1:]))


def outlined(topic: "History", frame: DataFrame) -> list[Outline]:
    texts = topic.texts | {1: dump(key_schema(BY_NUMBER if topic.by_number else KEYED, topic=TOPIC) or {})}
    return look(TOPIC, frame, Applied(), texts.__getitem__).outlines


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
    ("history", "told_by_bytes"),
    [
        (History((1, 2, 3, 300, -7), by_number=True, truncated=False, lacking=False), 1),
        (History((1, 2, 3, 300), by_number=True, truncated=True, lacking=False), 1),
        (History((-0.0, 0.0, 1.5), by_number=False, truncated=True, lacking=False), 1),
        (History((1, 2, 3), by_number=True, truncated=False, lacking=True), 0),
    ],
    ids=["numbers", "truncated", "floats", "partial"],
)
def test_it_is_what_reading_all_records_finds(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, history: History, told_by_bytes: int
) -> None:
    frame = spark.createDataFrame(history.rows(), RECORDS)
    columns = [column.target for column in history.plan.columns]
    expected = rows(dedupe(decode(frame, history.writers, history.plan), columns, history.plan.key))
    sifted = []

    def newest(records: DataFrame, *_: object) -> DataFrame:
        sifted.append(records)
        return records

    monkeypatch.setattr(module, "newest", newest)
    latest(frame, outlined(history, frame), history.writers, history.plan)
    assert len(sifted) == told_by_bytes
    monkeypatch.undo()
    found = rows(latest(frame, outlined(history, frame), history.writers, history.plan))
    assert {str(row) for row in found} == {str(row) for row in expected}
    assert len(found) == len(expected)
