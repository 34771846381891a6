"""Iceberg tables, format version 3, merge-on-read; readers need nothing of ours.

In: settings and a Spark session.  Out: the lake's target (`consumers/lake/`) over this format.

    config, connect   what can be set; where the tables are, and what a session needs to reach them
    target            the format, part by part
    table, types      how a table is created; how its columns keep their types
    apply, applied    one MERGE in one commit; what the snapshots say is applied
    direct            a few rows in files and a commit of our own, without MERGE
    append            rows of a first load, without a look for rows that can't be there
    letters           the table of dead letters
    upkeep, drop      keeps a table small; deletes it with its files
    rename            gives it another name
    check             findings of the preflight check
"""

from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.targets.iceberg import config, connect
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wrackline.consumers.lake.lake_target import LakeTarget
    from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied

__all__ = ["PLUGIN"]


class IcebergPlugin:
    """What this folder offers."""

    kind = "iceberg"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Return the jars, and the catalogue as the settings have it."""
        return connect.needs(settings)

    def open(self, settings: Values, spark: "SparkSession") -> "LakeTarget[IcebergApplied]":
        """Take the settings, and a session that was built with what they need."""
        from wrackline.consumers.targets.iceberg.target import (  # noqa: PLC0415 - a pipeline's file is checked without Spark
            open_iceberg,
        )

        connect.check_place(settings)
        return open_iceberg(settings, spark)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table lies."""
        return connect.locate(settings, table)


PLUGIN = IcebergPlugin()
