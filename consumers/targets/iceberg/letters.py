"""Where an Iceberg target keeps its dead letters: a table in the namespace of the tables they belong to."""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.letters import NAME
from wrackline.consumers.lake.letters_table import LettersTableFormat
from wrackline.consumers.lake.merge_sql import literal, quote
from wrackline.consumers.targets.iceberg.connect import CATALOG, IcebergPlace
from wrackline.schemas.tables.table import TableId

_USING = (
    "USING iceberg TBLPROPERTIES ('write.metadata.delete-after-commit.enabled' = 'true',"
    " 'write.metadata.previous-versions-max' = '1')"
)


def letters_table_format(place: IcebergPlace) -> LettersTableFormat:
    """Return how its table is named, made, and freed of what was removed."""

    def name(table: TableId) -> str:
        return f"{place.quoted_namespace(table)}.{quote(NAME)}"

    def create(session: SparkSession, table: TableId, columns: str) -> None:
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {place.quoted_namespace(table)}")
        session.sql(f"CREATE TABLE IF NOT EXISTS {name(table)} ({columns}) {_USING}")

    return LettersTableFormat(name, lambda session, name: session.catalog.tableExists(name), create, _purge)


def _purge(session: SparkSession, name: str) -> None:
    """Let every snapshot but the last go, and with them the bytes."""
    session.sql(
        f"CALL {quote(CATALOG)}.system.expire_snapshots(table => {literal(name)},"
        " older_than => current_timestamp(), retain_last => 1)"
    ).collect()
