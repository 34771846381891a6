"""Where downloaded and unpacked programs stay between runs, and how one is made there only once.

In: a name and a function that fills a folder. Out: the filled folder. It is right because a folder gets its
final name only when it is complete, and because two processes that want the same one wait for each other.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """The cache's folder: WRACKLINE_CACHE, else ~/.cache/wrackline."""
    named = os.environ.get("WRACKLINE_CACHE")
    return Path(named).absolute() if named else Path.home() / ".cache" / "wrackline"


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock file for the block; the kernel lets go of it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fill_once(name: str, fill: Callable[[Path], None], *, cache: Path | None = None) -> Path:
    """Return the folder `name`, filled by `fill` unless it is filled already."""
    top = cache or folder()
    made = top / name
    if made.is_dir():
        return made
    with hold_lock(top / f"{name}.lock"):
        if not made.is_dir():
            unfinished = made.with_name(made.name + ".part")
            shutil.rmtree(unfinished, ignore_errors=True)  # what a killed process left
            unfinished.mkdir(parents=True)
            fill(unfinished)
            unfinished.rename(made)
    return made
