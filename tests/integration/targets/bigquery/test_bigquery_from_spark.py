"""The target as a pipeline opens it, fed with frames that Spark folds, in a session with another zone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fakes.bigquery_world import BigQueryWorld
from tests.integration.targets.folded_frames import folded_frame
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.bigquery.config import SETTINGS
from wrackline.consumers.targets.bigquery.service import BigQueryService
from wrackline.consumers.targets.bigquery.target import open_bigquery
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    A,
    B,
    TargetWorld,
    alter,
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
        found = SettingsRegistry(SETTINGS).read(given, Resolver(Allowed(), {}))
        assert found.values is not None, found.problems
        pipeline: dict[str, Value] = {
            "name": "Shop 1",
            "consume.trigger.interval.ms": 60_000,
            "consume.upkeep.interval.ms": None,
        }
        self.target = open_bigquery(Values({**found.values, **pipeline}, {}))

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


def test_a_key_gets_another_type_where_its_column_stays(
    world: SparkBigQueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BigQuery drops no column that cuts or sorts a table; the emulator does.  EMULATORS.md: bq-layout."""
    monkeypatch.setattr(BigQueryService, "kept_columns", lambda *_: {"number"})
    put(world, plan_for(world, 1), change("c", A, 1, "x"), change("c", B, 2, "y"))
    wide = ColumnType(Kind.DECIMAL, "numeric(20)", 20, 0)
    wider = replace(TABLE, columns=(COLUMNS[0], replace(COLUMNS[1], type=wide), *COLUMNS[2:]))
    alter(world, plan_for(world, 2, table=wider), TABLE)
    put(world, plan_for(world, 3, table=wider), change("u", A, 3, "z"), change("d", B, 4, None))
    assert labels(world) == {A: "z"}
    table = world.service.dialect.path(world.layout.place(TABLE.id).table)
    assert world.sql(f"SELECT COUNT(*) AS rows_, COUNT(number) AS kept FROM {table}") == [
        {"rows_": 2, "kept": 0}
    ]
