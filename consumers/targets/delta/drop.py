"""How a Delta table is removed: Delta's own DROP TABLE leaves the files, and so the table.

In: the folder of a table that says it is ours.  Out: nothing of it.  The log goes last, its newest version
first: what a crash leaves is an older version, which says whose it is too, and the same call finishes.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import SparkSession

from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.spark import folders
from wrackline.consumers.spark.folders import Folder
from wrackline.consumers.targets.delta.connect import DeltaPlace
from wrackline.schemas.errors import OperatorNeeded, define

LOG = "_delta_log"
_HINT = "_last_checkpoint"  # leads to a version that is about to go
_DIGITS = 20  # of a version's number
_VERSION = re.compile(r"\d{20}\.(json|checkpoint\..*)")

NOT_REACHED = define(
    "delta.files_not_reached",
    OperatorNeeded,
    "{target} is not dropped: the Spark at spark.remote allows no removal of files",
    hint="on that machine, as a user who may write to the warehouse: {drop}; then repeat the command",
)


def removal(session: SparkSession, table: LakeTable, *, place: DeltaPlace) -> Callable[[], None]:
    """Return what removes the table's folder; refuse if it can't be reached from here."""
    folder = folders.folder(session, place.path(table.origin.table))
    if folder is None:
        raise NOT_REACHED(target=table.name, drop=table.address.drop)
    return partial(remove_table, folder)


def remove_table(folder: Folder) -> None:
    """Remove data, then versions, then what is left."""
    for name in folder.names():
        if name != LOG:
            folder.remove(name)
    for name in newest_first(folder.names(LOG)):
        folder.remove(f"{LOG}/{name}")
    folder.remove()  # with the oldest version, which said whose the folder is


def newest_first(names: Sequence[str]) -> list[str]:
    """Return a log's versions except the oldest, as they go: no checkpoint is read without its commit."""
    versions = [name for name in names if _VERSION.fullmatch(name)]
    oldest = min((name[:_DIGITS] for name in versions), default="")
    newer = (name for name in versions if name[:_DIGITS] != oldest)
    return [
        _HINT,
        *sorted(newer, key=lambda name: (name[:_DIGITS], not name.endswith(".json")), reverse=True),
    ]
