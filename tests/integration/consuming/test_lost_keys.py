"""Records that lost their key on their way, and places that no source writes: they are set aside."""

import json
from collections.abc import Mapping

import pytest
from pyspark.sql import SparkSession

from tests.unit.consumers.test_decode import KEYED, KEYLESS, NOON, RECORDS, TOPIC, Topic
from tests.unit.consumers.test_sift import TABLE, Bin
from wrackline.consumers.batch.planning import survey
from wrackline.consumers.contract.batch_scope import SchemaPair
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.records.seq_form import is_well_formed
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.envelope import dump, key_schema

pytestmark = pytest.mark.spark

KNOWN = "0001" + "00" * 8 + "ff" + "00000001"


def older(texts: Mapping[int, str]) -> dict[int, str]:
    """Return schemas as a worker wrote them that said nothing of the key."""
    return {
        number: dump({name: part for name, part in json.loads(text).items() if name != "wrackline.key"})
        for number, text in texts.items()
    }


def test_what_lost_its_key_voids_nothing(spark: SparkSession, namespace: str) -> None:
    """It repeats the newest change, and comes with the rows; what has a wrong place comes after them."""
    made = Bin(spark, namespace)
    made.topic.tell("t", 1)
    made.topic.tell("c", 2, (1.0, "x", NOON, None))
    made.topic.tell("c", 3, (2.0, "y", NOON, None))
    key, newest = made.topic.records[-1][:2]
    made.topic.raw(None, newest)
    with pytest.raises(OperatorNeeded, match=r"consume.key_missing"):
        made.merge(0)
    assert made.target.held(TABLE) is None, "nothing of it was merged"
    assert newest is not None
    made.topic.raw(key, newest[:-8] + b"zzzzzzzz")
    made.topic.tell("u", 4, (2.0, "later", NOON, None))
    assert made.merge(2) == 2
    assert made.rows() == {1.0: "x", 2.0: "later"}
    assert made.letters() == {3: "consume.key_missing", 4: "consume.broken_records"}


@pytest.mark.parametrize("by_older_worker", [False, True])
def test_keys_that_are_missing_or_wrong_are_seen(spark: SparkSession, *, by_older_worker: bool) -> None:
    topic, bare = Topic(KEYED), Topic(KEYLESS)
    texts = {1: dump(key_schema(KEYED, topic=TOPIC) or {}), 2: topic.texts[2], 3: bare.texts[2]}
    if by_older_worker:
        texts = older(texts)
    topic.tell("c", 1, (1.0, "x", NOON, None))
    key, value = topic.records[0][:2]
    assert value is not None
    topic.raw(None, value)
    topic.raw(key, value[:4] + b"\3" + value[5:])  # a table without a key says that it has none
    topic.tell("t", 2)
    seen = survey(TOPIC, spark.createDataFrame(topic.rows(), RECORDS), Applied(), texts.__getitem__)
    if by_older_worker:  # all is older than the `t`, and void
        assert not seen.lacking_key
        assert not seen.strange
        return
    assert seen.lacking_key == {SchemaPair(None, 2): 1}
    assert [(pair, error.code) for pair, error in seen.strange.items()] == [
        ((1, 3), "consume.not_our_schema")
    ]
    assert {one.pair: one.changes for one in seen.outlines} == {SchemaPair(1, 2): 1, SchemaPair(None, 2): 0}


@pytest.mark.parametrize(
    ("position_bytes", "known", "good", "bad"),
    [
        (
            8,
            KNOWN,
            [KNOWN, "0002" + KNOWN[4:], "0000" + "ff" * 8 + "00" + "0" * 8],
            ["zzzz", "", KNOWN + "0", KNOWN + "\n", KNOWN[:-1], KNOWN.upper(), "ffff" + KNOWN[4:], "f" * 30],
        ),
        (8, None, [KNOWN, "ffff" + KNOWN[4:]], ["zzzz", KNOWN[:20] + "01" + KNOWN[22:]]),
        (8, "zzzz", [KNOWN], ["zzzz"]),  # what was believed before is no measure
        (None, KNOWN, [KNOWN], ["zzzz", KNOWN[:-2], "ffff" + KNOWN[4:]]),  # of an older worker
        (None, None, [KNOWN, "00000001"], ["zzzz", ""]),
    ],
)
def test_only_a_seq_that_a_source_writes_is_believed(
    spark: SparkSession, position_bytes: int | None, known: str | None, good: list[str], bad: list[str]
) -> None:
    frame = spark.createDataFrame([(text,) for text in [*good, *bad]], "seq string")
    found = frame.select("seq", is_well_formed(frame["seq"], position_bytes, known).alias("formed")).collect()
    assert {row["seq"] for row in found if row["formed"]} == set(good)
