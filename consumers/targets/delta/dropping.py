"""How a Delta table goes: Delta's own DROP TABLE leaves the files, and so the table.

In: the folder of a table that says it is ours.  Out: nothing of it.  The log goes last, its newest version
first: what a crash leaves is an older version, which says whose it is too, and the same call finishes.
"""

import re
from collections.abc import Sequence

from wrackline.consumers.spark_files import Folder

LOG = "_delta_log"
_HINT = "_last_checkpoint"  # leads to a version that is about to go
_DIGITS = 20  # of a version's number
_VERSION = re.compile(r"\d{20}\.(json|checkpoint\..*)")


def remove(folder: Folder) -> None:
    """Remove data, then versions, then what is left."""
    for name in folder.names():
        if name != LOG:
            folder.remove(name)
    for name in newest_first(folder.names(LOG)):
        folder.remove(f"{LOG}/{name}")
    folder.remove()  # with the oldest version, which said whose the folder is


def newest_first(names: Sequence[str]) -> list[str]:
    """Return a log's versions but the oldest, as they go: no checkpoint is read without its commit."""
    versions = [name for name in names if _VERSION.fullmatch(name)]
    oldest = min((name[:_DIGITS] for name in versions), default="")
    newer = (name for name in versions if name[:_DIGITS] != oldest)
    return [
        _HINT,
        *sorted(newer, key=lambda name: (name[:_DIGITS], not name.endswith(".json")), reverse=True),
    ]
