"""The promises again, with frames that Spark folds out of single changes and writes as lines."""

import json
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import LAYOUT, PostgresWorld
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.targets.postgres.copy_lines import copy_lines
from wrackline.consumers.targets.postgres.target import PgTarget
from wrackline.schemas.tables.types import spark_type
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import MergePromises, TargetSuite


class SparkWorld(PostgresWorld):
    """A target that is fed as the pipeline feeds it."""

    def __init__(self, dsn: str, spark: SparkSession) -> None:
        super().__init__(dsn, lambda world: PgTarget(world.connect, LAYOUT, copy_lines))
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.shuffle.partitions", "1")

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        fields = ", ".join(f"`{column.target}`: {spark_type(column.type)}" for column in plan.columns)
        shape = (
            f"array<struct<row: struct<{fields}>, seq: string, op: string, at: bigint,"
            " unsent: array<string>, offset: bigint>>"
        )
        rows = [
            {"row": one.values, "seq": one.seq, "op": one.op, "at": one.commit_ts,
             "unsent": sorted(one.unsent), "offset": offset}
            for offset, one in enumerate(changes)
            if plan.floor is None or one.seq >= plan.floor
        ]  # fmt: skip
        told = self._spark.sql(
            "SELECT * EXCEPT (at), timestamp_millis(at) commit_ts"
            " FROM (SELECT inline(from_json(:rows, :shape)))",
            {"rows": json.dumps(rows), "shape": shape},
        )
        return dedupe(told, [column.target for column in plan.columns], plan.key)


@pytest.fixture
def world(database: Database, spark: SparkSession) -> Iterator[SparkWorld]:
    world = SparkWorld(database.dsn, spark)
    yield world
    world.target.close()


class TestShortly:
    """The promise in which Spark has the largest part: which event sent what."""

    test_partial = MergePromises.test_a_partial_update_keeps_what_is_stored


@pytest.mark.deep
class TestThroughout(TargetSuite):
    """All of them."""
