"""What the benches of the Spark side share: a Spark session, an Iceberg target in it, and a clock.

with session(folder) as spark: target = iceberg(folder, spark)   ->  stopped at the end, with its Java
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.spark.sessions import end, start
from wrackline.consumers.targets.iceberg import PLUGIN
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied
from wrackline.control.runtime.spark.jars import spark_jars
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.versions import SPARK

PEER = "peer"  # the catalogue of a program that merges by plain SQL
_SIZE = {"spark.master": "local[2]", "spark.driver.memory": "4g"}
_PEER = {
    f"spark.sql.catalog.{PEER}": "org.apache.iceberg.spark.SparkCatalog",
    f"spark.sql.catalog.{PEER}.type": "hadoop",
    f"spark.sql.catalog.{PEER}.cache-enabled": "false",
}
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # its default, 50, is for clusters
}


@contextmanager
def session(folder: str, *, delta: bool = False) -> Iterator[SparkSession]:
    """Start Spark as `wrackline consume` does, with a catalogue for a peer beside ours."""
    needed = dict(PLUGIN.needs(_settings(folder)).conf) | _PEER
    needed[f"spark.sql.catalog.{PEER}.warehouse"] = Path(folder, "peer").as_uri()
    spark = start(spark_jars(SPARK), needed | (_DELTA if delta else {}), _SIZE, name="wrackline-bench")
    try:
        yield spark
    finally:
        end(spark)


def iceberg(folder: str, spark: SparkSession) -> LakeTarget[IcebergApplied]:
    """Open our target, everything at its default."""
    return PLUGIN.open(_settings(folder), spark)


def seconds(work: Callable[[], object]) -> float:
    """Take the time of some work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def drained(frame: DataFrame) -> None:
    """Compute every row and column, and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()


def _settings(folder: str) -> Values:
    read = SettingsRegistry(PLUGIN.settings).read({"target.warehouse": str(Path(folder, "ours"))}, _RESOLVER)
    if read.values is None:
        raise ValueError(read.problems)
    return read.values


_RESOLVER = Resolver(Allowed(), {})
