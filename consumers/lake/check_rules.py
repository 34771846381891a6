"""Findings that every target whose tables Spark writes can have.

In: a folder, or a table that belongs to another.  Out: findings.
"""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from wrackline.schemas.language.findings import Finding, Severity, rule

NOT_WRITABLE = rule(
    "target.warehouse_not_writable",
    Severity.ERROR,
    "warehouse not writable",
    "we may not write to {folder}",
    "no table can be created or merged into",
    "sudo install -d -o {user} {quoted}; where the file system is read-only, name another"
    " target.warehouse; how it is mounted: findmnt -T {quoted}",
)
NOT_OURS = rule(
    "target.table_not_ours",
    Severity.ERROR,
    "another table of this name",
    "{target} is there, and is not the copy of {source}",
    "{source} is not merged",
    "set another target.namespace; or, if it is not needed: {drop}",
)


def check_folder(path: str) -> Iterator[Finding]:
    """Report a folder of this machine that can't be written to, or made."""
    wanted = Path(path)
    there = next(one for one in (wanted, *wanted.parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield NOT_WRITABLE(folder=wanted, user=os.geteuid(), quoted=shlex.quote(str(wanted)))
