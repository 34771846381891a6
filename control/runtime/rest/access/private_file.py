"""A file that holds secrets or grants access: it is read only if nobody else can read or write it.

In: a path.  Out: its bytes, and a mark that changes when the file does.  The rule is libpq's rule for keys:
only the owner may access a user's own file; root's file may be read by its group, as containers mount it.
"""

import os
import stat
from pathlib import Path
from typing import Final

from wrackline.schemas.errors import OperatorNeeded, define

_LARGEST: Final = 1 << 20  # bytes

UNREADABLE = define(
    "rest.file_unreadable",
    OperatorNeeded,
    "{file} can't be read: {reason}",
    hint="name a file that this user may read, of 1 MB at most",
)
TOO_OPEN = define(
    "rest.file_open",
    OperatorNeeded,
    "{file} belongs to another user, or others may read or change it",
    hint="let only the worker's user read it: chown <user> {file} && chmod 600 {file}",
)

Mark = tuple[int, ...]
GONE: Final[Mark] = ()


def mark(path: Path) -> Mark:
    """Return what changes whenever the file does."""
    try:
        return _mark(path.stat())
    except OSError:
        return GONE


def read(path: Path) -> tuple[bytes, Mark]:
    """Read the whole file."""
    try:
        with path.open("rb") as opened:
            found = os.fstat(opened.fileno())
            _refuse_open(path, found)
            content = opened.read(_LARGEST + 1)
    except OSError as error:
        raise UNREADABLE(file=path, reason=error.strerror or type(error).__name__) from error
    if len(content) > _LARGEST:
        raise UNREADABLE(file=path, reason="it is too large")
    return content, _mark(found)


def _refuse_open(path: Path, found: os.stat_result) -> None:
    shared = stat.S_IMODE(found.st_mode)
    ours = found.st_uid == os.geteuid() and not shared & 0o077
    roots = found.st_uid == 0 and not shared & 0o037
    if not stat.S_ISREG(found.st_mode) or not (ours or roots):
        raise TOO_OPEN(file=path)


def _mark(found: os.stat_result) -> Mark:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
