"""The promises again, with frames that Spark folds out of single changes and writes as lines."""

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fixtures.servers import Database
from tests.integration.targets.folded_frames import folded_frame
from tests.integration.targets.postgres.world import LAYOUT, PostgresWorld
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.postgres.copy_lines import copy_lines
from wrackline.consumers.targets.postgres.target import PgTarget
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import MergePromises, TargetSuite


class SparkWorld(PostgresWorld):
    """A target that is fed as the pipeline feeds it."""

    def __init__(self, dsn: str, spark: SparkSession) -> None:
        super().__init__(dsn, lambda world: PgTarget(world.connect, LAYOUT, copy_lines))
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.shuffle.partitions", "1")

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        return folded_frame(self._spark, changes, plan)


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
