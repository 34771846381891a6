"""The target as a pipeline opens it, fed with frames that Spark folds, in a session with another zone."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fixtures.servers import Database
from tests.integration.targets.folded_frames import folded_frame
from tests.integration.targets.redshift.world import RedshiftWorld
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import Dropping
from wrackline.consumers.targets.redshift import PLUGIN
from wrackline.control.runtime.probe.target_trial import TargetTrial
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import TABLE, A, B, change, labels, letter, partial, plan_for, put

pytestmark = [pytest.mark.servers, pytest.mark.full]


class SparkRedshiftWorld(RedshiftWorld):
    """A world whose target the plug-in has opened."""

    def __init__(self, dsn: str, endpoint: str, folder: Path, spark: SparkSession) -> None:
        super().__init__(dsn, endpoint, folder)
        self.target.close()
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        self.spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
        self.target = PLUGIN.open(self.settings(writer="driver"), spark)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        return folded_frame(self.spark, changes, plan)


@pytest.fixture
def spark_world(
    database: Database, store_endpoint: str, tmp_path: Path, spark: SparkSession
) -> Iterator[SparkRedshiftWorld]:
    made = SparkRedshiftWorld(database.dsn, store_endpoint, tmp_path, spark)
    yield made
    made.close()


def test_a_pipeline_s_rows_and_letters_are_there(spark_world: SparkRedshiftWorld) -> None:
    world = spark_world
    put(world, plan_for(world, 1), change("c", A, 1, "x"), change("c", B, 2, "y"))
    put(world, plan_for(world, 2), partial("u", A, 3, "é'\\"), change("d", B, 4, None))
    assert labels(world) == {A: "é'\\"}
    assert world.target.applied(TABLE.id) == plan_for(world, 2).upto
    world.target.letters.keep(TABLE.id, [letter(5)])
    assert list(world.target.letters.kept(TABLE.id)) == [letter(5)]
    assert world.files() == []


def test_a_trial_makes_a_table_merges_evolves_reads_and_drops_it(spark_world: SparkRedshiftWorld) -> None:
    world = spark_world
    trial = TargetTrial(world.settings(writer="driver"), "redshift", [TABLE.id], "now", [])
    assert trial._merge(world.spark, world.target) == {"rows": 10, "columns": 11}
    opened = PLUGIN.open(world.settings(writer="driver"), world.spark)
    assert isinstance(opened, Dropping)
    assert opened.drop(trial.table)
    assert world.sql("SELECT relname FROM pg_class WHERE relname LIKE '%wrackline_trial%'") == []


@pytest.mark.deep
def test_executors_write_a_large_batch_to_the_store(world: RedshiftWorld) -> None:
    """In a process of its own: a session that runs takes no file system."""
    fields = {**world.address(), **world.in_the_store(), "writer": "spark"}
    program = [sys.executable, "-m", "tests.integration.targets.redshift.by_executors", json.dumps(fields)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.splitlines()[-1] == "250000 rows, 0 files"
