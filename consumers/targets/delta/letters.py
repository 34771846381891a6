"""Where a Delta target keeps its dead letters: a table in the folder of the tables they belong to."""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.letters import NAME
from wrackline.consumers.lake.letters_table import LettersTableFormat
from wrackline.consumers.targets.delta.connect import DeltaPlace
from wrackline.consumers.targets.delta.table import is_there
from wrackline.schemas.tables.table import TableId

_USING = (
    "USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false',"
    " 'delta.deletedFileRetentionDuration' = 'interval 0 hours')"
)


def letters_table_format(place: DeltaPlace) -> LettersTableFormat:
    """Return how its table is named, made, and freed of what was removed."""

    def name(table: TableId) -> str:
        return place.named_beside(table, NAME)

    def create(session: SparkSession, table: TableId, columns: str) -> None:
        session.sql(f"CREATE TABLE IF NOT EXISTS {name(table)} ({columns}) {_USING}")

    return LettersTableFormat(name, is_there, create, _purge)


def _purge(session: SparkSession, name: str) -> None:
    """Let the files of older versions go, and with them the bytes; no file that is just being written."""
    session.sql(f"VACUUM {name} LITE")
