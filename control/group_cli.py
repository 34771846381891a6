"""`wrackline worker --group group.toml`: its file is read, or its findings are shown."""

import os
from pathlib import Path

from wrackline.control.exits import Exit
from wrackline.control.group.settings import Group, load
from wrackline.control.group.work import work
from wrackline.control.logs.lines import Log
from wrackline.control.pipeline_file import tell_findings
from wrackline.control.rest.settings import RestSettings


def take_part(file: Path, log: Log, of_findings: Log | None, rest: RestSettings) -> int:
    """Take part in a group, and return the exit code; its findings are shown, or said to a log."""
    group = load(file, os.environ)
    if isinstance(group, Group):
        return work(group, log, rest)
    tell_findings(file, group, of_findings)
    return Exit.FINDINGS
