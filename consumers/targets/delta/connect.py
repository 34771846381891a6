"""Where a Delta target's tables lie, and what a Spark session needs to reach them.

In: the settings.  Out: the session's configuration, and each table's name in it: its path, so that no
catalogue has to be kept.  Every table is two folders below the warehouse, because a table inside another's
folder would be swept away with its old files.  Names are safe as parts of a path, whatever the source calls
its tables; two that get the same name are distinguished by what the first says of itself
(lake/table_shape.py).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from wrackline.consumers.contract.identifiers import Identifiers, target_name
from wrackline.consumers.contract.place_settings import storage_conf
from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.lake.merge_sql import quote
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.versions import DELTA, HADOOP_AWS

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
SESSION = {
    "spark.sql.extensions": EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
TUNED = {
    "spark.databricks.delta.snapshotPartitions": "4",  # of a table's log; 50 of them are slow on few cores
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",  # a VACUUM's tasks; else 10000
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")
_OBJECT_STORE = re.compile("s3[an]?:")
# The last two names are Delta's own: a table is looked for above them.
IN_A_PATH = Identifiers(
    most_characters=200,
    most_bytes=200,
    refused=r"[/\\:*?%{}\[\]\x00-\x1f\x7f]|^\.|\.$|(?<=^_delta_lo)g$|(?<=^_sample)s$",
)


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """Where the tables lie."""

    warehouse: str  # an address without the last slash
    namespace: str  # with {database} and {schema}

    def path(self, table: TableId) -> str:
        """Return a table's folder."""
        return f"{self._folder(table)}/{target_name(table.name, IN_A_PATH)}"

    def named_beside(self, table: TableId, name: str) -> str:
        """Return what Spark SQL calls a table of ours in the same folder."""
        return by_path(f"{self._folder(table)}/{name}")

    def _folder(self, table: TableId) -> str:
        own = {"database": table.database, "schema": table.schema}
        return f"{self.warehouse}/{target_name(self.namespace.format_map(own), IN_A_PATH)}"


def by_path(path: str) -> str:
    """Return the name of a path's table as Spark SQL has it."""
    return f"delta.{quote(path)}"


def place(settings: Values) -> DeltaPlace:
    """Return where the settings put the tables."""
    given = settings.text("target.warehouse")
    if _SCHEME.match(given) is None:
        given = f"file:{Path(given).absolute()}"
    return DeltaPlace(
        _OBJECT_STORE.sub("s3a:", given, count=1).rstrip("/"), settings.text("target.namespace")
    )


def needs(settings: Values) -> SparkNeeds:
    """Return the jars and the configuration of a session that reaches the tables."""
    on_s3 = place(settings).warehouse.startswith("s3a:")
    return SparkNeeds(
        (DELTA, HADOOP_AWS) if on_s3 else (DELTA,), {**SESSION, **TUNED, **storage_conf(settings)}
    )
