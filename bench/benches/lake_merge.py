"""A batch of changes into a large table: 22,000 random ones, and 20,000 of the newest keys.

`merge_s` is the median of four warm batches, compared with a hand-written MERGE of the same changes into the
same rows, in Iceberg and in Delta.  `recent_s` is the same with recent keys, also in a table ten times
smaller, because a batch's cost follows the batch.  Ours keeps tombstones and commits its offsets; the clock
includes no decoding of changes for either.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from statistics import median

import pyarrow as pa
from pyarrow import compute, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from bench.lake import PEER, iceberg, seconds, session
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.lake import changes, loaded
from wrackline.consumers.batch.key_range import bound_columns, key_ranges
from wrackline.consumers.contract.direct import DirectChanges, DirectTarget
from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange, TopicPartition, plan_merge
from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.targets.iceberg import connect
from wrackline.consumers.targets.iceberg.direct.file_rows import as_one
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

MERGE, RECENT = "merge_s", "recent_s"
UNITS = {MERGE: "s", RECENT: "s"}
FULL = Size(4_000_000, 3)
QUICK = Size(200_000, 1)
RANDOM, NEAR = 22_000, 20_000  # changes of a batch
NEWEST = 40_000  # ids that are recent
BATCHES, COLD = 7, 3  # the first ones warm up

TABLE = TableSchema(
    TableId("bench", "public", "orders"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("customer_id", 2, ColumnType(Kind.INT32, "integer")),
        Column("sku", 3, ColumnType(Kind.STRING, "text")),
        Column("quantity", 4, ColumnType(Kind.INT32, "integer")),
        Column("price", 5, ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2)),
        Column("status", 6, ColumnType(Kind.STRING, "text")),
        Column("note", 7, ColumnType(Kind.STRING, "text")),
        Column("changed_at", 8, ColumnType(Kind.INSTANT_MICROS, "timestamptz")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
NAMES = [column.name for column in TABLE.columns]
ICEBERG = (
    "USING iceberg TBLPROPERTIES ('format-version'='3', 'write.merge.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read', 'write.delete.mode'='merge-on-read')"
)
DELTA = "USING delta LOCATION '{place}' TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
Merge = Callable[[str, int], None]  # the file of a batch's changes, the batch's number


class Way(Enum):
    """How a batch is merged."""

    DIRECT = "by the driver itself"
    SPARK = "by Spark"
    EITHER = "by the driver if it can, else by Spark"


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Give each a folder of its own that goes away with the bench."""
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        yield [
            Contender("wrackline", ours, (folder, rows, (RANDOM, NEAR), Way.DIRECT), ours=True),
            Contender("wrackline, a tenth of the rows", ours, (folder, rows // 10, (0, NEAR), Way.DIRECT)),
            Contender("wrackline, by Spark", ours, (folder, rows, (RANDOM, NEAR), Way.SPARK)),
            Contender("iceberg, plain MERGE", plain, (folder, rows, False)),
            Contender("delta, plain MERGE", plain, (folder, rows, True)),
        ]


def ours(folder: str, rows: int, counts: tuple[int, int], way: Way) -> Outcome:
    """Merge batches as the driver does: by itself, or by Spark."""
    with tempfile.TemporaryDirectory(dir=folder) as place, session(place) as spark:
        target = iceberg(place, spark)
        _load(spark, target, rows)
        merge = _way(way, spark, target)
        values = {}
        if counts[0]:
            values[MERGE] = _batches(spark, place, merge, rows, counts[0], recent=False)
        values[RECENT] = _batches(spark, place, merge, rows, counts[1], recent=True)
        return Outcome(values)


def plain(folder: str, rows: int, delta: bool) -> Outcome:  # noqa: FBT001 - sent to another process by place
    """Merge by SQL: newer changes win, deletes delete."""
    with tempfile.TemporaryDirectory(dir=folder) as place, session(place, delta=delta) as spark:
        target = "plain" if delta else f"{PEER}.bench.plain"
        made = DELTA.format(place=Path(place, "plain").as_uri()) if delta else ICEBERG
        if not delta:
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {PEER}.bench")
        loaded(spark, rows).createOrReplaceTempView("first")
        spark.sql(f"CREATE TABLE {target} {made} AS SELECT * FROM first")
        names = ", ".join([*NAMES, "seq"])
        values = ", ".join(f"s.{name}" for name in (*NAMES, "seq"))
        settings = ", ".join(f"t.{name} = s.{name}" for name in (*NAMES, "seq"))

        def merge(file: str, _: int) -> None:
            spark.read.parquet(file).createOrReplaceTempView("batch")
            spark.sql(
                f"MERGE INTO {target} t USING batch s ON t.id = s.id"
                " WHEN MATCHED AND s.seq > t.seq AND s.op = 'd' THEN DELETE"
                f" WHEN MATCHED AND s.seq > t.seq THEN UPDATE SET {settings}"
                f" WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({names}) VALUES ({values})"
            )

        return Outcome({MERGE: _batches(spark, place, merge, rows, RANDOM, recent=False)})


def _load(spark: SparkSession, target: LakeTarget[IcebergApplied], rows: int) -> None:
    """Make a table of ours with rows in it."""
    target.ensure_table(_plan(target, 0))
    name = f"{connect.CATALOG}.{TABLE.id.schema}.{TABLE.id.name}"
    ours = (
        F.lit("r").alias("_wl_op"),
        F.lit(False).alias("_wl_deleted"),
        F.lit(None).cast("array<int>").alias("_wl_missing"),
        F.current_timestamp().alias("_wl_commit_ts"),
    )
    loaded(spark, rows).select(*NAMES, F.col("seq").alias("_wl_seq"), *ours).writeTo(name).append()


def _way(way: Way, spark: SparkSession, target: LakeTarget[IcebergApplied]) -> Merge:
    """Return how a batch comes into the table."""
    by_spark = _by_spark(spark, target)

    def merge(file: str, number: int) -> None:
        if _merged_directly(target, file, number):
            return
        if way is Way.DIRECT:
            raise ValueError("the table can't be merged into directly")
        by_spark(file, number)

    return by_spark if way is Way.SPARK else merge


def _merged_directly(target: LakeTarget[IcebergApplied], file: str, number: int) -> bool:
    """Merge without Spark, if the driver would do so."""
    plan = _plan(target, number)
    begun = target.begin_direct(plan) if isinstance(target, DirectTarget) else None
    return begun is not None and begun.merge(_changes(file, plan), plan)


def _changes(file: str, plan: MergePlan) -> DirectChanges:
    """Read changes as the driver has them in its memory."""
    table = parquet.read_table(file).combine_chunks()
    deleted = compute.equal(table["op"], "d")
    nothing = {name: pa.nulls(len(table), table[name].type) for name in NAMES if name not in plan.key}
    columns = [
        as_one(compute.if_else(deleted, nothing[name], table[name]) if name in nothing else table[name])
        for name in NAMES
    ]
    instants = pa.timestamp("us", "UTC")
    columns[-1] = columns[-1].cast(instants)
    moments = as_one(table["changed_at"]).cast(instants).cast(pa.int64())
    return DirectChanges(
        columns,
        as_one(table["seq"]),
        as_one(table["op"]),
        as_one(deleted),
        compute.divide(moments, 1000),
    )


def _by_spark(spark: SparkSession, target: LakeTarget[IcebergApplied]) -> Merge:
    """Return how a batch comes into the table by MERGE."""

    def merge(file: str, number: int) -> None:
        newest = _newest(spark.newSession().read.parquet(file)).persist()
        try:
            plan = _plan(target, number)
            target.held(TABLE.id)
            target.ensure_table(plan)
            within = key_ranges(newest.agg(*bound_columns(plan)).collect()[0], plan)
            plan = replace(plan, within=within, lacking=frozenset())  # as the pipeline has found out by now
            target.apply(target.stage(newest, plan), plan)
        finally:
            newest.unpersist()

    return merge


def _newest(changed: DataFrame) -> DataFrame:
    """Return changes as the driver hands them to a target."""
    nothing = F.array().cast("array<string>")
    return changed.select(
        F.struct(*NAMES).alias("row"),
        "seq",
        "op",
        F.col("changed_at").alias("commit_ts"),
        (F.col("op") == "d").alias("deleted"),
        nothing.alias("unsent"),
        nothing.alias("missing"),
    )


def _plan(target: LakeTarget[IcebergApplied], number: int) -> MergePlan:
    upto = Applied({TopicPartition("bench", 0): number}, None, NewestChange(f"{number:030x}", 1, 2))
    plan = plan_merge(TABLE, target.can.identifiers, upto)
    return replace(plan, since=target.applied(TABLE.id))


def _batches(spark: SparkSession, folder: str, merge: Merge, rows: int, count: int, *, recent: bool) -> float:
    """Return the median time of a batch, the first ones aside."""
    first, taken = (max(0, rows - NEWEST) if recent else 0), []
    for batch in range(BATCHES):
        number = 1 + batch + (BATCHES if recent else 0)
        file = str(Path(folder, f"batch{number}"))
        changes(spark, count, number, first, rows - 1, rows).write.parquet(file)
        taken.append(seconds(lambda file=file, number=number: merge(file, number)))  # type: ignore[misc]  # bound at once
    return median(taken[COLD:])
