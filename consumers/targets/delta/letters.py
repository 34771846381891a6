"""Where a Delta target keeps its dead letters: a table in the folder of the tables they belong to."""

from pyspark.sql import SparkSession

from wrackline.consumers.letters import NAME
from wrackline.consumers.spark_letters import Making
from wrackline.consumers.targets.delta.connect import Place
from wrackline.consumers.targets.delta.table import is_there
from wrackline.schemas.table import TableId

_USING = (
    "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false',"
    " 'delta.deletedFileRetentionDuration' = 'interval 0 hours')"
)


def making(place: Place) -> Making:
    """Return how its table is named, made, and freed of what was removed."""

    def name(table: TableId) -> str:
        return place.named_beside(table, NAME)

    def create(session: SparkSession, table: TableId, columns: str) -> None:
        session.sql(f"CREATE TABLE IF NOT EXISTS {name(table)} ({columns}) {_USING}")

    return Making(name, is_there, create, _purge)


def _purge(session: SparkSession, name: str) -> None:
    """Let the files of older versions go, and with them the bytes; no file that is just being written."""
    session.sql(f"VACUUM {name} LITE")
