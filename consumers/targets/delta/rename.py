"""Gives a Delta table another name: its folder moves, because its name is its path.

In: the folder of a table that says it is ours.  Out: the same below another name, with its log and its files,
whose paths are relative.  Only where a file system renames a folder in one step.
"""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.identifiers import suffixed_names
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.spark import folders
from wrackline.consumers.targets.delta.connect import IN_A_PATH, DeltaPlace, by_path
from wrackline.consumers.targets.delta.drop import NOT_REACHED

_IN_ONE_STEP = ("file:", "hdfs:", "viewfs:")


def can_rename(place: DeltaPlace) -> bool:
    """Whether the warehouse is where a folder is renamed in one step."""
    return place.warehouse.startswith(_IN_ONE_STEP)


def rename(session: SparkSession, table: LakeTable, suffix: str, *, place: DeltaPlace) -> str:
    """Move the table's folder; refuse if it can't be reached from here."""
    folder = folders.folder(session, place.path(table.origin.table))
    if folder is None:
        raise NOT_REACHED(target=table.name, drop=table.address.drop)
    names = suffixed_names(table.origin.table.name, suffix, IN_A_PATH)
    return next(by_path(moved) for name in names if (moved := folder.move(name)) is not None)
