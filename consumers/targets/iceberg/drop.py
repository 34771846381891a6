"""Deletes an Iceberg table with its files.

In: a table that says it is ours.  Out: nothing of it, and no empty folder where a catalogue leaves one.
"""

from collections.abc import Callable
from functools import partial

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
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
KEEPS_ALL = define(
    "iceberg.deletes_refused",
    OperatorNeeded,
    "{target} is not dropped, because the role may delete nothing in {place}: {why}",
    hint="let it delete there, on S3 by s3:DeleteObject for the bucket's objects, and repeat the command",
)
_TRIED = "wrackline-deletes"  # a file without content
_WITH_FOLDERS = ("file:", "hdfs:", "viewfs:")  # elsewhere a folder without files does not exist


def removal(session: SparkSession, table: LakeTable) -> Callable[[], None]:
    """Return what drops the table; refuse if its files would stay."""
    if table.properties.get("gc.enabled") == "false":
        raise KEEPS_FILES(target=table.name, drop=table.address.drop)
    _delete_one(session, table.name)
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


def _delete_one(session: SparkSession, name: str) -> None:
    """Write a file and delete it: Iceberg drops a table whose files it can't delete, and only logs which."""
    java = getattr(session, "_jsparkSession", None)
    if java is None:  # a session of Spark Connect reaches no files
        return
    spark = session._jvm.org.apache.iceberg.spark  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no other way
    table = spark.Spark3Util.loadIcebergTable(java, name)
    files, path = table.io(), table.locationProvider().newDataLocation(_TRIED)
    try:
        files.newOutputFile(path).createOrOverwrite().close()
        files.deleteFile(path)
    except Py4JJavaError as exc:
        raise KEEPS_ALL(target=name, place=table.location(), why=folders.kind_of(exc)) from None
