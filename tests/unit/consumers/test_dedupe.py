"""A batch folded to one change a key, in Spark, as the merge model folds it."""

import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.records.dedupe import dedupe
from wrackline.testing.targets.merge_model import Change, Latest, latest

COLUMNS = ("id", "a", "b")
CHANGES = (
    "row struct<id: double, a: string, b: string>, seq string, op string, commit_ts timestamp, "
    "unsent array<string>, offset bigint"
)
AT = datetime(2026, 1, 2, tzinfo=UTC)


def history(chance: random.Random, lacking: Sequence[str]) -> list[Change]:
    """Any operation after any other; a key's value distinguishes -0.0 from 0.0."""
    changes = []
    for number in range(200):
        op = chance.choices("curd", (2, 6, 1, 2))[0]
        unsent = frozenset(name for name in lacking if op in "cu" and chance.random() < 0.4)
        values = {name: None if name in unsent or op == "d" else f"{name}{number}" for name in ("a", "b")}
        key = chance.choice((-0.0, 0.0, float("nan"), None, 1.5, 2.5, 3.5))
        changes.append(Change((key,), f"{number:08x}", op, values, unsent))
    return changes


def shuffled(spark: SparkSession, changes: Sequence[Change]) -> DataFrame:
    """Return the changes as Spark reads them, in another order than that of their offsets."""
    rows = [
        ((*one.key, *one.values.values()), one.seq, one.op, AT, sorted(one.unsent), offset)
        for offset, one in enumerate(changes)
    ]
    random.Random(3).shuffle(rows)
    return spark.createDataFrame(rows, CHANGES)


def folded(
    spark: SparkSession, changes: Sequence[Change], partial: Collection[str] | None
) -> dict[str, tuple[object, ...]]:
    """Dedupe in Spark; keys as texts, so that -0.0 is distinguished from 0.0."""
    found = dedupe(shuffled(spark, changes), COLUMNS, ("id",), partial).collect()
    made: dict[str, tuple[object, ...]] = {
        str(row["row"]["id"]): (
            row["seq"],
            row["op"],
            set(row["unsent"]),
            set(row["missing"]),
            row["row"][1:],
        )
        for row in found
    }
    assert len(made) == len(found)
    return made


def of_model(folded: Sequence[Latest], ids: Sequence[object]) -> dict[str, tuple[object, ...]]:
    return {
        str(key): (one.seq, one.op, set(one.unsent), set(one.missing), tuple(one.values.values()))
        for key, one in zip(ids, folded, strict=True)
    }


def test_it_folds_as_the_model_does(spark: SparkSession) -> None:
    """T-K07."""
    for lacking, partial in ((("a", "b"), None), (("b",), ("b",)), ((), ())):
        changes = history(random.Random(len(lacking)), lacking)
        newest = {str(abs(one.key[0]) if one.key[0] == 0 else one.key[0]): one for one in changes}
        one_key = [
            Change((str(abs(c.key[0]) if c.key[0] == 0 else c.key[0]),), c.seq, c.op, c.values, c.unsent)
            for c in changes
        ]
        model = latest(one_key)
        expected = of_model(list(model.values()), [newest[str(key[0])].key[0] for key in model])
        assert folded(spark, changes, partial) == expected


def test_a_key_that_became_the_same_for_spark_lives(spark: SparkSession) -> None:
    """The source deletes -0.0 and makes 0.0 at one place, read from two partitions in any order."""
    values = {"a": "x", "b": "y"}
    gone, made = Change((-0.0,), "05", "d", dict.fromkeys(values)), Change((0.0,), "05", "c", values)
    for order in ((gone, made), (made, gone)):
        found = folded(spark, order, ())
        assert found == {"0.0": ("05", "c", set(), set(), ("x", "y"))}
        assert folded(spark, order, None) == found


def test_it_says_when_each_value_was_known(spark: SparkSession) -> None:
    """A column's value is as old as the change that sent it, or as the row that began without it."""
    whole, without_b = {"a": "x", "b": "y"}, {"a": "x", "b": None}
    changes = [
        Change((1.0,), "01", "c", whole),
        Change((1.0,), "02", "u", without_b, frozenset("b")),
        Change((2.0,), "03", "u", without_b, frozenset("b")),
        Change((3.0,), "04", "c", without_b, frozenset("b")),
    ]
    frame = shuffled(spark, changes)
    for partial, expected in (
        (None, {1.0: [None, "02", "01"], 2.0: [None, "03", None], 3.0: [None, "04", "04"]}),
        ((), dict.fromkeys((1.0, 2.0, 3.0), [None] * 3)),
    ):
        found = dedupe(frame, COLUMNS, ("id",), partial, told_late=True).collect()
        assert {row["row"]["id"]: row["known_at"] for row in found} == expected
        assert "known_at" not in dedupe(frame, COLUMNS, ("id",), partial).columns
