"""BigQuery: a batch is one Parquet file or some, a load of each, and one script, which is a transaction.

config      what can be set
target      how it is opened
connect     Google's client, and whose credentials it has
types       names and types, and how they are made of primitives
dialect     quotes, and the script
limits      what BigQuery allows, as data
partitions  by what a table is cut and sorted
session     a conversation by Google's own client; jobs with ids that repeat
service     its catalogue, layout and refusals, for a staged target
refusals    what an error of the service means
check       rights, places, and what a merge costs
"""

from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.bigquery import config
from wrackline.consumers.targets.bigquery.types import RELATIONS
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.pipelines.plugin_finder import driver_named
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wrackline.consumers.staged.target import StagedTarget

__all__ = ["PLUGIN"]


class BigQueryPlugin:
    """What this folder offers."""

    kind = "bigquery"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Spark needs nothing of its own for this target."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: "SparkSession") -> "StagedTarget[DataFrame]":
        """Connect once; a frame brings the session that it lives in."""
        del spark
        with driver_named("target", self.kind, besides=("pyspark",)):
            from wrackline.consumers.targets.bigquery.target import open_bigquery  # noqa: PLC0415 - a pipeline's file is checked without the driver
        return open_bigquery(settings)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table, as OpenLineage names it."""
        view = read_layout(settings, RELATIONS).place(table).view
        return Located("bigquery", f"{settings.text('target.project')}.{view.schema}.{view.name}")


PLUGIN = BigQueryPlugin()
