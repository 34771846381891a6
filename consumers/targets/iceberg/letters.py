"""Where an Iceberg target keeps its dead letters: a table in the namespace of the tables they belong to."""

from pyspark.sql import SparkSession

from wrackline.consumers.letters import NAME
from wrackline.consumers.merge_sql import literal, quoted
from wrackline.consumers.spark_letters import Making
from wrackline.consumers.targets.iceberg.connect import CATALOG, Place
from wrackline.schemas.table import TableId

_USING = (
    "USING iceberg TBLPROPERTIES ('write.metadata.delete-after-commit.enabled' = 'true',"
    " 'write.metadata.previous-versions-max' = '1')"
)


def making(place: Place) -> Making:
    """Return how its table is named, made, and freed of what was removed."""

    def name(table: TableId) -> str:
        return f"{place.quoted_namespace(table)}.{quoted(NAME)}"

    def create(session: SparkSession, table: TableId, columns: str) -> None:
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {place.quoted_namespace(table)}")
        session.sql(f"CREATE TABLE IF NOT EXISTS {name(table)} ({columns}) {_USING}")

    return Making(name, lambda session, name: session.catalog.tableExists(name), create, _purge)


def _purge(session: SparkSession, name: str) -> None:
    """Let every snapshot but the last go, and with them the bytes."""
    session.sql(
        f"CALL {quoted(CATALOG)}.system.expire_snapshots(table => {literal(name)},"
        " older_than => current_timestamp(), retain_last => 1)"
    ).collect()
