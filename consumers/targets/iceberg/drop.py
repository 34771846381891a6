"""Deletes an Iceberg table with its files.

In: a table that says it is ours.  Out: nothing of it, and no empty folder where a catalogue leaves one.
"""

from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.spark import folders
from wrackline.schemas.errors import OperatorNeeded, define

KEEPS_FILES = define(
    "iceberg.keeps_files",
    OperatorNeeded,
    "{target} is not dropped: gc.enabled is false there, so others may need its files",
    hint="if they do not: ALTER TABLE {target} SET TBLPROPERTIES ('gc.enabled' = 'true'); if they do: {drop}",
)
_WITH_FOLDERS = ("file:", "hdfs:", "viewfs:")  # elsewhere a folder without files does not exist


def removal(session: SparkSession, table: LakeTable) -> Callable[[], None]:
    """Return what drops the table; refuse if Iceberg would not let its files go."""
    if table.properties.get("gc.enabled") == "false":
        raise KEEPS_FILES(target=table.name, drop=table.address.drop)
    return partial(_drop, session, table.name)


def _drop(session: SparkSession, name: str) -> None:
    """Drop the table with its files; folders that the catalogue leaves behind them go too."""
    told = session.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").collect()
    place = told[-1]["data_type"]  # a column of that name comes before
    session.sql(f"DROP TABLE {name} PURGE")
    if place.startswith(_WITH_FOLDERS):
        folder = folders.folder(session, place)
        if folder is not None and folder.holds_no_file():
            folder.remove()
