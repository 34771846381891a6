"""Delta tables below a folder of the test's own, in the run's one Spark session."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers.targets.delta import PLUGIN, connect
from wrackline.consumers.targets.delta.target import delta_format
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values


def settings(warehouse: Path, **given: str) -> Values:
    """Read settings as a pipeline's file gives them."""
    named = {f"target.{name.replace('_', '.')}": value for name, value in given.items()}
    named["target.warehouse"] = str(warehouse)
    reading = SettingsRegistry(PLUGIN.settings).read(named, Resolver(Allowed(), {}))
    assert reading.values is not None, reading.problems
    return reading.values


class DeltaWorld(SparkWorld):
    """A target with a warehouse of its own."""

    def __init__(self, spark: SparkSession, warehouse: Path, **given: str) -> None:
        found = settings(warehouse, **given)
        place = connect.place(found)
        super().__init__(spark, lambda table: connect.by_path(place.path(table)), delta_format(found))
