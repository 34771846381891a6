"""A real catalogue in the run's one Spark session, with names of each test's own."""

from pyspark.sql import SparkSession

from tests.integration.targets.spark_world import FEW_ROWS, SparkWorld
from wrackline.consumers.targets.iceberg import PLUGIN, connect
from wrackline.consumers.targets.iceberg.target import IcebergTarget, iceberg_format
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values

__all__ = ["FEW_ROWS", "WAREHOUSE", "IcebergWorld", "settings"]

WAREHOUSE = "spark.sql.catalog.lake.warehouse"


def settings(spark: SparkSession, **given: str) -> Values:
    """Read settings as a pipeline's file gives them, for the catalogue that the session has."""
    named = {f"target.{name.replace('_', '.')}": value for name, value in given.items()}
    named.setdefault("target.warehouse", spark.conf.get(WAREHOUSE) or "")
    reading = SettingsRegistry(PLUGIN.settings).read(named, Resolver(Allowed(), {}))
    assert reading.values is not None, reading.problems
    return reading.values


class IcebergWorld(SparkWorld):
    """A target in that catalogue."""

    kind = IcebergTarget

    def __init__(
        self,
        spark: SparkSession,
        namespace: str,
        **given: str,
    ) -> None:
        found = settings(spark, namespace=namespace + "_{schema}", **given)
        super().__init__(spark, connect.place(found).quoted_name, iceberg_format(found))
