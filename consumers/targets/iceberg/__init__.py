"""Iceberg tables, format version 3, merge-on-read; readers need nothing of ours."""

from typing import TYPE_CHECKING

from wrackline.consumers.plugin import SparkNeeds
from wrackline.consumers.targets.iceberg import config, connect
from wrackline.schemas.located import Located
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wrackline.consumers.targets.iceberg.target import IcebergTarget

__all__ = ["PLUGIN"]


class IcebergPlugin:
    """What this folder offers."""

    kind = "iceberg"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Return the jars, and the catalogue as the settings have it."""
        return connect.needs(settings)

    def open(self, settings: Values, spark: "SparkSession") -> "IcebergTarget":
        """Take the settings, and a session that was built with what they need."""
        from wrackline.consumers.targets.iceberg.target import (  # noqa: PLC0415 - a pipeline's file is checked without Spark
            IcebergTarget,
        )

        connect.check_place(settings)
        return IcebergTarget(settings, spark)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table lies."""
        return connect.located(settings, table)


PLUGIN = IcebergPlugin()
