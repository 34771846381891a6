"""Which folder a failed write may not touch, as Java's texts say it.

In: the text of an error of Spark's.  Out: the path and the cause, or None where the text says neither.  A
text that names a folder and no cause counts only if this machine says the same, because such a write may also
have failed while a server was away.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

_CAUSES = frozenset({"Permission denied", "Read-only file system", "Operation not permitted"})
_AROUND = re.compile(r"([\n()\"])")  # what no path is taken across
_DENIED = re.compile(r"AccessDeniedException: (?:file:)?(?P<path>/[^\n:]*)")
_USER = "Permission denied: user="
_INODE = re.compile(r"inode=\"(?P<path>/[^\"\n]*)\"")
_NOT_MADE = re.compile(
    r"(?:Mkdirs failed to create|Cannot create) (?:file:(?://)?)?(?P<path>/[^\n]*?)(?= \(exists=|\n|$)"
)


def find_forbidden_path(text: str) -> tuple[str, str] | None:
    """Return where we may not write, and why."""
    denied = _with_cause(text)
    if denied is not None:
        return denied
    path = _DENIED.search(text) or _of_a_user(text)
    if path is not None:
        return path["path"].strip(), "Permission denied"
    not_made = _NOT_MADE.search(text)
    with suppress(OSError):  # no file can have that name
        return None if not_made is None else _on_this_machine(Path(not_made["path"]))
    return None


def existing_part(path: str) -> str:
    """Return the folder above a file that was never made; a path of another system stays as it is."""
    with suppress(OSError):
        there = next(one for one in (Path(path), *Path(path).parents) if one.exists())
        return path if there == Path(there.anchor) else str(there)
    return path


def _with_cause(text: str) -> tuple[str, str] | None:
    """Return the first path with its cause in parentheses behind it."""
    pieces = _AROUND.split(text)  # texts, with one delimiter between each two
    for at in range(2, len(pieces) - 1, 2):
        if pieces[at] in _CAUSES and pieces[at - 1] == "(" and pieces[at + 1] == ")":
            _, slash, path = pieces[at - 2].partition("/")
            if slash:
                return f"/{path.lstrip('/')}".strip(), pieces[at]
    return None


def _of_a_user(text: str) -> re.Match[str] | None:
    """Find the path in what HDFS says of a user without the right to write."""
    for line in text.split("\n"):
        at = line.find(_USER)
        found = None if at < 0 else _INODE.search(line, at)
        if found is not None:
            return found
    return None


def _on_this_machine(wanted: Path) -> tuple[str, str] | None:
    there = next(one for one in (wanted, *wanted.parents) if one.exists())
    if not there.is_dir():
        return str(there), "it is not a folder"
    return None if os.access(there, os.W_OK | os.X_OK) else (str(there), "this process may not write there")
