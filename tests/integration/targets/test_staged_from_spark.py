"""The promises of a staged target again, with frames that Spark folds and writes as primitives."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fakes.duck_world import DuckWorld
from tests.integration.targets.folded_frames import folded_frame
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.merge import StageColumn, staged_columns
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.keyless_suite import KeylessPromises
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import AppendPromises
from wrackline.testing.targets.target_suite import LetterPromises, MergePromises, TargetSuite, plan_for, seq

ZONE = "America/St_Johns"  # half an hour off, with a summer time


class SparkDuckWorld(DuckWorld):
    """A target that is fed as the pipeline feeds it."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        super().__init__(folder)
        self.carrier = DriverCarrier()  # type: ignore[assignment]  # frames are Spark's here
        self.target = self.open()
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        self.spark.conf.set("spark.sql.session.timeZone", ZONE)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        return folded_frame(self.spark, changes, plan)


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> SparkDuckWorld:
    return SparkDuckWorld(tmp_path, spark)


class TestShortly:
    """The promises in which Spark has the largest part, and rows of our own."""

    test_partial = MergePromises.test_a_partial_update_keeps_what_is_stored
    test_letters = LetterPromises.test_letters_are_kept_as_they_are


@pytest.mark.deep
class TestThroughout(TargetSuite, KeylessPromises, AppendPromises):
    """All of them."""


KINDS: dict[str, tuple[ColumnType, str, object]] = {  # as Spark SQL writes a value, and its primitive
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), "true", True),
    "small": (ColumnType(Kind.INT16, "smallint"), "-32768", -32768),
    "float": (ColumnType(Kind.FLOAT32, "real"), "-0.0f", -0.0),
    "exact": (ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10), "1.5BD", "1.5"),
    "unsigned": (
        ColumnType(Kind.UINT64, "bigint unsigned"),
        "18446744073709551615BD",
        "18446744073709551615",
    ),
    "text": (ColumnType(Kind.STRING, "text"), r"'\'\"\\é'", "'\"\\é"),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), "X'00FF'", b"\0\xff"),
    "day": (ColumnType(Kind.DATE, "date"), "DATE'0001-01-01'", -719162),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), "86399999999L", 86_399_999_999),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'1969-12-31 23:59:59.000001'",
        -999_999,
    ),
    "summer": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'2026-03-08 02:30:00'",  # no such time in that zone
        round(datetime(2026, 3, 8, 2, 30, tzinfo=UTC).timestamp()) * 1_000_000,
    ),
    "early": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        -62_135_596_800_000_000,
    ),
    "instant": (
        ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
        "TIMESTAMP'2026-01-02 03:04:05.000006Z'",
        1_767_323_045_000_006,
    ),
    "list": (
        ColumnType(Kind.ARRAY, "int[]", element=ColumnType(Kind.INT32, "integer")),
        "array(1, null)",
        "[1,null]",
    ),
}


def table_of(kinds: dict[str, tuple[ColumnType, str, object]], key: Sequence[str]) -> TableSchema:
    columns = tuple(Column(name, at, of) for at, (name, (of, _, _)) in enumerate(kinds.items(), start=1))
    return TableSchema(TableId("db", "public", "kinds"), columns, tuple(key), KeyKind.PRIMARY)


def staged(
    world: SparkDuckWorld, kinds: dict[str, tuple[ColumnType, str, object]], key: Sequence[str]
) -> Any:
    """Return the one row of a stage."""
    plan = plan_for(world, 1, table=table_of(kinds, key))
    row = ", ".join(f"{text} AS `{name}`" for name, (_, text, _) in kinds.items())
    frame = world.spark.sql(
        f"SELECT struct({row}) AS row, '{seq(1)}' AS seq, 'c' AS op, timestamp_millis(7) AS commit_ts,"
        " false AS deleted, array('text') AS unsent, array('day', 'list') AS missing"
    )
    columns: Sequence[StageColumn] = staged_columns(plan)
    (found,) = primitives(frame, plan, columns).collect()
    return found


def test_each_kind_is_staged_as_its_primitive(world: SparkDuckWorld) -> None:
    found = staged(world, KINDS, ["small"])
    values = [found[f"c{at}"] for at in range(len(KINDS))]
    assert repr([bytes(one) if isinstance(one, bytearray) else one for one in values]) == repr(
        [wanted for _, _, wanted in KINDS.values()]
    )
    assert (found["commit_us"], found["unsent"], found["missing"]) == (7000, ",6,", ",8,14,")


def test_a_key_has_one_form(world: SparkDuckWorld) -> None:
    def key(of: ColumnType, text: str) -> str:
        return str(staged(world, {"k": (of, text, None), **KINDS}, ["k"])["k"])

    wide, whole = ColumnType(Kind.DECIMAL, "", 38, 10), ColumnType(Kind.INT64, "bigint")
    assert key(whole, "100L") == key(wide, "CAST(100 AS DECIMAL(38,10))") != key(whole, "10L")
    assert key(wide, "0.0000000001BD") == key(
        replace_scale(wide, 12), "CAST(0.0000000001BD AS DECIMAL(38,12))"
    )
    assert key(KINDS["float"][0], "-0.0f") == key(ColumnType(Kind.FLOAT64, "float8"), "0.0D")
    assert key(KINDS["text"][0], "'null'") != key(KINDS["text"][0], "CAST(NULL AS STRING)")


def replace_scale(of: ColumnType, scale: int) -> ColumnType:
    return ColumnType(of.kind, of.source, of.precision, scale)
