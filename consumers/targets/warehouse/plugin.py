"""What the plug-ins of warehouses have in common; a folder names what is its own.

Nothing here imports a driver, so that a pipeline's file can be checked without one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.schemas.pipelines.plugin_finder import driver_named
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wrackline.consumers.contract.target import SparkTarget


class WarehousePlugin:
    """What a warehouse's folder offers, whose module `target` has a function open_<kind>."""

    kind: str
    settings: Declared

    def needs(self, settings: Values) -> SparkNeeds:
        """Spark needs nothing of its own for most of these targets."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: "SparkSession") -> "SparkTarget":
        """Connect once; a frame brings the session that it lives in."""
        del spark
        with driver_named("target", self.kind, besides=("pyspark",)):
            module = import_module(f"wrackline.consumers.targets.{self.kind}.target")
        opened: SparkTarget = getattr(module, f"open_{self.kind}")(settings)
        return opened
