"""The demo's folder: only its own while it runs, and empty when it begins.

In: a path.  Out: an empty folder, held until the block ends.  It is right to empty it because only a folder
that is new, empty or marked as a demo's is taken.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wrackline.schemas.errors import OperatorNeeded, define

FOLDER_FOREIGN = define(
    "demo.folder_foreign",
    OperatorNeeded,
    "{folder} contains files that do not belong to a demo, and the demo begins with an empty folder",
    hint="choose another one: ./run demo --folder <a new folder>",
)
FOLDER_TAKEN = define(
    "demo.folder_taken",
    OperatorNeeded,
    "another demo runs in {folder}",
    hint="end it with Ctrl-C, or choose another folder: ./run demo --folder <a new folder>",
)
MARK = "wrackline-demo"  # the file that marks the folder as a demo's; the running demo holds its lock


@contextmanager
def hold_folder(folder: Path) -> Iterator[Path]:
    """Hold an empty folder for the block; what the demo leaves in it stays until the next one."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in folder.iterdir()}
    if names and MARK not in names:
        raise FOLDER_FOREIGN(folder=folder)
    lock = os.open(folder / MARK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise FOLDER_TAKEN(folder=folder) from exc
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARK:
                path.unlink()
        yield folder
    finally:
        os.close(lock)
