"""Delta Lake tables by path, with deletion vectors; readers need nothing of ours.

In: settings and a Spark session.  Out: the lake's target (`consumers/lake/`) over this format.

    config, connect   what can be set; where the tables are, and what a session needs to reach them
    target            the format, part by part
    table, types      how a table is created; how its columns keep their types
    apply, applied    one MERGE in one commit; what the log says is applied
    letters           the table of dead letters
    upkeep, drop      keeps a table small; deletes it with its files
    rename            gives it another name
    check             findings of the preflight check
"""

from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.targets.delta import config, connect
from wrackline.schemas.pipelines.lineage_names import Located, by_address
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wrackline.consumers.lake.lake_target import LakeTarget
    from wrackline.consumers.targets.delta.applied import DeltaApplied

__all__ = ["PLUGIN"]


class DeltaPlugin:
    """What this folder offers."""

    kind = "delta"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Return the jars, and what a session knows Delta's tables by."""
        return connect.needs(settings)

    def open(self, settings: Values, spark: "SparkSession") -> "LakeTarget[DeltaApplied]":
        """Take the settings, and a session that was built with what they need."""
        from wrackline.consumers.targets.delta.target import (  # noqa: PLC0415 - a pipeline's file is checked without Spark
            open_delta,
        )

        return open_delta(settings, spark)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table lies."""
        return by_address(connect.place(settings).path(table))


PLUGIN = DeltaPlugin()
