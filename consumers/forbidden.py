"""Which folder a failed write may not touch, as Java's texts say it.

In: the text of an error of Spark's.  Out: the path and the cause, or None where the text says neither.  A
text that names a folder and no cause counts only if this machine says the same, because such a write may also
have failed while a server was away.
"""

import os
import re
from pathlib import Path

_DENIED = re.compile(
    r"(?:file:(?://)?)?(?P<path>/[^\n()\"]*?) ?"
    r"\((?P<why>Permission denied|Read-only file system|Operation not permitted)\)"
    r"|AccessDeniedException: (?:file:)?(?P<denied>/[^\n:]*)"
    r"|Permission denied: user=[^\n]*?inode=\"(?P<inode>/[^\"\n]*)\""
)
_NOT_MADE = re.compile(
    r"(?:Mkdirs failed to create|Cannot create) (?:file:(?://)?)?(?P<path>/[^\n]*?)(?= \(exists=|\n|$)"
)


def forbidden(text: str) -> tuple[str, str] | None:
    """Return where we may not write, and why."""
    denied = _DENIED.search(text)
    if denied:
        path = denied["path"] or denied["denied"] or denied["inode"]
        return path.strip(), denied["why"] or "Permission denied"
    not_made = _NOT_MADE.search(text)
    if not_made is None:
        return None
    wanted = Path(not_made["path"])
    there = next(one for one in (wanted, *wanted.parents) if one.exists())
    if not there.is_dir():
        return str(there), "it is not a folder"
    return None if os.access(there, os.W_OK | os.X_OK) else (str(there), "this process may not write there")
