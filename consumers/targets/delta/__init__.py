"""Delta Lake tables by path, with deletion vectors; readers need nothing of ours."""

from typing import TYPE_CHECKING

from wrackline.consumers.plugin import SparkNeeds
from wrackline.consumers.targets.delta import config, connect
from wrackline.schemas.located import Located, by_address
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wrackline.consumers.targets.delta.target import DeltaTarget

__all__ = ["PLUGIN"]


class DeltaPlugin:
    """What this folder offers."""

    kind = "delta"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Return the jars, and what a session knows Delta's tables by."""
        return connect.needs(settings)

    def open(self, settings: Values, spark: "SparkSession") -> "DeltaTarget":
        """Take the settings, and a session that was built with what they need."""
        from wrackline.consumers.targets.delta.target import (  # noqa: PLC0415 - a pipeline's file is checked without Spark
            DeltaTarget,
        )

        return DeltaTarget(settings, spark)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table lies."""
        return by_address(connect.place(settings).path(table))


PLUGIN = DeltaPlugin()
