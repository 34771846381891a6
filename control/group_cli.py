"""`wrackline worker --group group.toml`: its file is read, or its findings are shown."""

import os
from pathlib import Path

from wrackline.control.check_file import Checked
from wrackline.control.exits import Exit
from wrackline.control.group.settings import load
from wrackline.control.group.work import work
from wrackline.control.pipeline_file import show_findings


def take_part(file: Path, *, json: bool, rest_port: int) -> int:
    """Take part in a group, and return the exit code."""
    group = load(file, os.environ)
    if isinstance(group, Checked):
        show_findings(file, group)
        return Exit.FINDINGS
    return work(group, json=json, rest_port=rest_port)
