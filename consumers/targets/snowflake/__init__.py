"""Snowflake: a batch is one Parquet file or some, a PUT of each, one COPY, and one transaction with a MERGE.

config     what can be set
target     how it is opened
connect    the driver's connections, by a key pair
session    a conversation: statements, transactions, loads
service    its catalogue
types      what each kind of value is there
dialect    its SQL, as a value; how tables are made
limits     what it holds no value of, as data
refusals   what it refuses
check      findings of the preflight check
"""

from typing import TYPE_CHECKING

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.staged.places import read_layout
from wrackline.consumers.targets.snowflake import config
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.pipelines.plugin_finder import driver_named
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wrackline.consumers.staged.target import StagedTarget

__all__ = ["PLUGIN"]


class SnowflakePlugin:
    """What this folder offers."""

    kind = "snowflake"
    settings: Declared = config.SETTINGS

    def needs(self, settings: Values) -> SparkNeeds:
        """Spark needs nothing of its own for this target."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: "SparkSession") -> "StagedTarget[DataFrame]":
        """Connect once; a frame brings the session that it lives in."""
        del spark
        with driver_named("target", self.kind, besides=("pyspark",)):
            from wrackline.consumers.targets.snowflake.target import open_snowflake  # noqa: PLC0415 - a pipeline's file is checked without the driver
        return open_snowflake(settings)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where readers find a table."""
        view = read_layout(settings, IDENTIFIERS).place(table).view
        account, database = settings.text("target.account"), settings.text("target.dbname").upper()
        return Located(f"snowflake://{account}", f"{database}.{view.schema}.{view.name}")


PLUGIN = SnowflakePlugin()
