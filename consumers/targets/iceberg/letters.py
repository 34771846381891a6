"""Where an Iceberg target keeps its dead letters: a table in the namespace of the tables they belong to."""

from pyspark.sql import SparkSession

from wrackline.consumers.merge_sql import literal, quoted
from wrackline.consumers.spark_letters import Making
from wrackline.consumers.targets.iceberg.connect import CATALOG, Place

_USING = (
    "USING iceberg TBLPROPERTIES ('write.metadata.delete-after-commit.enabled' = 'true',"
    " 'write.metadata.previous-versions-max' = '1')"
)


def making(place: Place) -> Making:
    """Return how its table is named, made, and freed of what was removed."""
    return Making(place.quoted_namespace, _USING, _purge)


def _purge(session: SparkSession, name: str) -> None:
    """Let every snapshot but the last go, and with them the bytes."""
    session.sql(
        f"CALL {quoted(CATALOG)}.system.expire_snapshots(table => {literal(name)},"
        " older_than => current_timestamp(), retain_last => 1)"
    ).collect()
