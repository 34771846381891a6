"""The newest record of a key, found by its bytes: the same rows as if every record had been read."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.unit.consumers.test_decode import KEYED, NOON, PUBLISHED, RECORDS, TOPIC, Topic, rows
from wrackline.consumers.batch.planning import survey
from wrackline.consumers.contract.batch_scope import Outline
from wrackline.consumers.contract.counts import LatestChange
from wrackline.consumers.contract.plan import Applied, NewestChange
from wrackline.consumers.newest.fetched_records import FetchedRecords
from wrackline.consumers.newest.newest_changes import NewestChanges, NewestReader
from wrackline.consumers.newest.plain_columns import plain_columns
from wrackline.consumers.records.decode import decode, partial_columns
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.records.fast_path import (
    fast_newest_changes,
    fits_fast_path,
    outline_columns,
    read_outline,
)
from wrackline.consumers.records.replaced_records import comparable_by_bytes, drop_replaced
from wrackline.consumers.records.slow_path import slow_newest_changes
from wrackline.schemas.events.envelope import dump, key_schema
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind

BY_NUMBER = replace(KEYED, columns=(Column("a b", 1, ColumnType(Kind.INT64, "bigint")), *KEYED.columns[1:]))


def newest(topic: "History", frame: DataFrame) -> DataFrame:
    texts = topic.texts | {1: dump(key_schema(BY_NUMBER if topic.by_number else KEYED, topic=TOPIC) or {})}
    outlines = survey(TOPIC, frame, Applied(), texts.__getitem__).outlines
    lacking = partial_columns({one.pair: one.unsent for one in outlines}, topic.writers, topic.plan)
    return slow_newest_changes(
        frame, outlines, topic.writers, replace(topic.plan, lacking=frozenset(lacking))
    )


def as_known(topic: "History", frame: DataFrame, known: NewestChange) -> tuple[DataFrame, Outline | None]:
    (writer,) = topic.writers.values()
    found = fast_newest_changes(frame, known, writer, topic.plan)
    [answer] = found.agg(outline_columns()).collect()[0]
    return found, read_outline(answer, known) if fits_fast_path(topic.plan) else None


KNOWN = NewestChange("0" * 8, 1, 2)


def in_memory(topic: Topic, known: NewestChange) -> NewestChanges | None:
    """Do the same without Spark."""
    if not fits_fast_path(topic.plan):
        return None
    (writer,) = topic.writers.values()
    reader = NewestReader.of(known, writer, topic.plan)
    return None if reader is None else reader.newest(fetched(topic))


def fetched(topic: Topic) -> FetchedRecords:
    published_ms = int(PUBLISHED.timestamp() * 1000)
    found = FetchedRecords(TOPIC, {0: 0}, {0: len(topic.records)})
    for key, value, _, offset in topic.records:
        found.add(key, value, offset, published_ms)
    return found


def as_in_frame(found: NewestChanges, names: Sequence[str]) -> Counter[str]:
    changes = found.changes
    rows = zip(*(column.to_pylist() for column in changes.columns), strict=True)
    lacks = [
        {names[place]: mask.to_pylist() for place, mask in masks.items()}
        for masks in (changes.unsent, changes.missing)
    ]
    parts = zip(*(one.to_pylist() for one in (changes.seq, changes.op, changes.committed_ms)), strict=True)
    return Counter(
        described(
            dict(zip(names, row, strict=True)), *part, *([n for n in one if one[n][at]] for one in lacks)
        )
        for at, (row, part) in enumerate(zip(rows, parts, strict=True))
    )


def described(
    row: dict[str, object], seq: str, op: str, committed_ms: int, unsent: list[str], missing: list[str]
) -> str:
    return str((row, seq, op, committed_ms, sorted(unsent), sorted(missing)))


class History(Topic):
    """Changes of few keys, in any order of their places, some of them sent twice."""

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
    ("history", "left", "is_known", "is_read_in_memory"),
    [
        (History((1, 2, 3, 300, -7), by_number=True, truncated=False, lacking=False), 5, True, True),
        pytest.param(  # a truncate too
            *(History((1, 2, 3, 300), by_number=True, truncated=True, lacking=False), 4 + 1, False, False),
            marks=pytest.mark.full,
        ),
        pytest.param(
            *(History((-0.0, 0.0, 1.5), by_number=False, truncated=True, lacking=False), 3 + 1, False, False),
            marks=pytest.mark.full,
        ),
        (History(range(12), by_number=True, truncated=False, lacking=True), 12, False, True),
    ],
    ids=["numbers", "truncated", "floats", "partial"],
)
def test_it_is_what_reading_all_records_finds(
    spark: SparkSession, history: History, left: int, *, is_known: bool, is_read_in_memory: bool
) -> None:
    frame = spark.createDataFrame(history.rows(), RECORDS)
    columns = [column.target for column in history.plan.columns]
    expected = rows(dedupe(decode(frame, history.writers, history.plan), columns, history.plan.key))
    assert drop_replaced(frame, KNOWN).count() == left
    found, outlined = as_known(history, frame, KNOWN)
    assert (outlined is not None) == is_known
    if outlined is not None:
        assert outlined.changes == left
        newest_seq = max(row["seq"] for row in expected)
        assert outlined.newest == newest_seq
        published_ms = int(PUBLISHED.timestamp() * 1000)
        assert outlined.latest == LatestChange(newest_seq, int(newest_seq, 16) * 1000, published_ms)
    for frame_of_all in [newest(history, frame), *([found] if is_known else [])]:
        got = rows(frame_of_all.drop("timestamp", "as_known"))
        assert Counter(map(str, got)) == Counter(map(str, expected))
    assert as_known(history, frame, replace(KNOWN, seq="0" * 9))[1] is None
    read = in_memory(history, KNOWN)
    assert (read is not None) == (is_known or is_read_in_memory)
    if read is not None:
        assert read.outline == outlined or not is_known
        in_frame = Counter(
            described(
                *(one.row.asDict(), one.seq, one.op, int(one.commit_ts.timestamp() * 1000)),
                *(list(one.unsent), list(one.missing)),
            )
            for one in expected
        )
        assert as_in_frame(read, columns) == in_frame
    assert in_memory(history, replace(KNOWN, seq="0" * 9)) is None


def odd(topic: Topic, name: str) -> None:
    """Put a record into a batch of five changes after which it is no more as it is known to be."""
    key, value = topic.records[0][:2]
    assert key is not None
    assert value is not None
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
        case "not ours":
            topic.raw(b"key", b"{}")
        case _:
            told_oddly(topic, name)


def told_oddly(topic: Topic, name: str) -> None:
    row = (9, None, None, None)
    match name:
        case "truncate":
            topic.tell("t", 9)
        case "lacks a value":
            topic.tell("u", 9, row, unsent=["b"])
        case "an operation that nobody knows":
            topic.tell("x", 9, row)
        case "a seq of no form":
            topic.tell("c", 9, row)
            last_key, last = topic.records.pop()[:2]
            assert last is not None
            topic.raw(last_key, last[:-8] + b"z" * 8)


ODD = ("other key schema", "no key", "damaged", "truncate")
ODD_TOO = (
    *("other schema", "half a key", "ours by its ends alone", "lacks a value", "not ours"),
    *("an operation that nobody knows", "a seq of no form"),
)


@pytest.mark.parametrize(
    "name", ["", *ODD, *(pytest.param(name, marks=pytest.mark.full) for name in ODD_TOO)]
)
def test_one_odd_record_makes_the_batch_be_looked_at(spark: SparkSession, name: str) -> None:
    topic = Topic(BY_NUMBER)
    for number in range(1, 6):
        topic.tell("c", number, (number, "b", None, None))
    odd(topic, name)
    (writer,) = topic.writers.values()
    frame = topic.frame(spark)
    for floor, left in ((None, 5), (f"{5:08x}", 1)):
        plan = replace(topic.plan, upto=Applied(floor=floor))
        [answer] = fast_newest_changes(frame, KNOWN, writer, plan).agg(outline_columns()).collect()[0]
        assert answer["others"] == (1 if name else 0)
        assert (read_outline(answer, KNOWN) is None) == bool(name)
        assert answer["changes"] - answer["others"] == left
        topic.plan = plan
        read = in_memory(topic, KNOWN)
        lacks = name == "lacks a value"
        assert (None if read is None else len(read.changes)) == (None if name and not lacks else left + lacks)


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
        *((None, value), (None, value)),
        (key[:5] + bytes(8), value),  # another key
    ]
    for record in (*kept, (key, None)):
        topic.raw(*record)
    frame = topic.frame(spark)
    left = Counter(map(str, drop_replaced(frame, KNOWN).select("key", "value").collect()))
    expected = [topic.records[1][:2], *kept]  # the newest of the three, and no tombstone
    assert left == Counter(map(str, spark.createDataFrame(expected, "key binary, value binary").collect()))
    assert comparable_by_bytes(KNOWN) is KNOWN
    for unknown in (None, replace(KNOWN, key_id=None), replace(KNOWN, seq="0" * 64)):
        assert comparable_by_bytes(unknown) is None


def test_one_column_that_may_be_written_in_two_ways_makes_a_key_such_a_one() -> None:
    both = ("a b", "b")
    assert fits_fast_path(Topic(replace(BY_NUMBER, key=both)).plan)
    assert not fits_fast_path(Topic(replace(KEYED, key=both)).plan)


def test_a_name_that_is_no_text_makes_the_batch_be_looked_at() -> None:
    topic = Topic(BY_NUMBER)
    topic.tell("u", 9, (9, None, None, None), unsent=["b"])
    assert in_memory(topic, KNOWN) is not None
    key, value = topic.records.pop()[:2]
    assert value is not None
    one_name = b"\x02\x02\x02b\0"
    assert value.count(one_name) == 1
    topic.raw(key, value.replace(one_name, b"\x02\x02\x02\xff\0"))
    assert in_memory(topic, KNOWN) is None


def test_a_key_of_floats_is_read_without_spark_unless_it_comes_in_two_forms() -> None:
    topic = Topic(KEYED)
    (writer,) = topic.writers.values()
    topic.tell("c", 1, (1.5, "old", None, None))
    topic.tell("u", 2, (1.5, "new", NOON, [NOON, None]))
    topic.tell("c", 3, (-0.0, "zero", None, []))
    reader = NewestReader.of(KNOWN, writer, topic.plan)
    assert reader is not None
    found = reader.newest(fetched(topic))
    assert found is not None
    columns = plain_columns(found.changes, topic.plan)
    assert columns is not None
    assert [columns[name].to_pylist() for name in ("c1", "c3")] == [
        ["new", "zero"],
        ['["2026-01-02T12:00:00.000000Z",null]', "[]"],
    ]
    topic.tell("c", 4, (0.0, "the same", None, None))
    both = reader.newest(fetched(topic))
    assert both is not None
    assert plain_columns(both.changes, topic.plan) is None
