"""The Spark session that consumers work in.

In: jar files, a warehouse folder, and how much of the machine Spark may have.  Out: a session with the
Kafka reader, Avro and the Iceberg catalogue `lake`.  It is right for values because the zone is UTC,
names keep their case, and ANSI rules make a cast that loses something an error.

One warehouse folder belongs to one pipeline: topic `server.database.schema.table` becomes the table
`lake.schema.table`, so two pipelines with the same schema names must not share a folder.
"""

from collections.abc import Sequence
from pathlib import Path

from pyspark import __version__ as pyspark_version
from pyspark.sql import SparkSession

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.versions import PYSPARK_LINE

CATALOG = "lake"

WRONG_SPARK = define(
    "spark.wrong_version",
    OperatorNeeded,
    "PySpark {found} is installed; the Kafka, Avro and Iceberg jars are for {wanted}",
    hint="pip install 'pyspark~={wanted}.0'",
)


def build_session(
    jars: Sequence[Path], warehouse: Path, *, cores: int = 2, memory: str = "1g", name: str = "wrackline"
) -> SparkSession:
    """Start Spark in this process, small enough for a laptop; whoever calls it stops it."""
    if not pyspark_version.startswith(f"{PYSPARK_LINE}."):
        raise WRONG_SPARK(found=pyspark_version, wanted=PYSPARK_LINE)
    builder = SparkSession.builder.appName(name).master(f"local[{cores}]")
    for key, value in _settings(jars, warehouse, cores, memory).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _settings(jars: Sequence[Path], warehouse: Path, cores: int, memory: str) -> dict[str, str]:
    catalog = f"spark.sql.catalog.{CATALOG}"
    return {
        # On the driver's own class path: `spark.jars` would copy every jar at each start.
        "spark.driver.extraClassPath": ":".join(str(jar.absolute()) for jar in jars),
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": warehouse.absolute().as_uri(),
        f"{catalog}.cache-enabled": "false",  # a cached table is an old view of it
    }
