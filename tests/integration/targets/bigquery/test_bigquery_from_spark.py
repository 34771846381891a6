"""The target as a pipeline opens it, fed with frames that Spark folds, in a session with another zone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fakes.bigquery_world import BigQueryWorld
from tests.integration.targets.folded_frames import folded_frame
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.bigquery.target import BigQueryPlugin
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    TABLE,
    A,
    B,
    TargetWorld,
    change,
    labels,
    letter,
    plan_for,
    put,
)

pytestmark = pytest.mark.full


class SparkBigQueryWorld(BigQueryWorld):
    """A world whose target the plug-in has opened."""

    def __init__(self, address: str, folder: Path, spark: SparkSession) -> None:
        super().__init__(address, folder)
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        self.spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
        given = {
            "target.project": "shop",
            "target.endpoint": address,
            "target.schema": self.layout.schema,
            "target.storage.schema": self.layout.storage_schema,
        }
        found = SettingsRegistry(BigQueryPlugin.settings).read(given, Resolver(Allowed(), {}))
        assert found.values is not None, found.problems
        self.target = BigQueryPlugin().open(found.values, spark)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        return folded_frame(self.spark, changes, plan)


@pytest.fixture
def world(bigquery_emulator: str, tmp_path: Path, spark: SparkSession) -> Iterator[SparkBigQueryWorld]:
    made = SparkBigQueryWorld(bigquery_emulator, tmp_path, spark)
    yield made
    made.target.close()


def test_a_pipeline_s_rows_and_letters_are_there(world: TargetWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"), change("c", B, 2, "y"))
    put(world, plan_for(world, 2), change("u", A, 3, "é'\\"), change("d", B, 4, None))
    assert labels(world) == {A: "é'\\"}
    assert world.target.applied(TABLE.id) == plan_for(world, 2).upto
    world.target.letters.keep(TABLE.id, [letter(5)])
    assert list(world.target.letters.kept(TABLE.id)) == [letter(5)]
