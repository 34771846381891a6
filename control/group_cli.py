"""`wrackline worker --group group.toml`: its file is read, or the command ends with what is found in it."""

import os
from pathlib import Path

from wrackline.control.group.settings import Group, load
from wrackline.control.group.work import work
from wrackline.control.logs.lines import Log
from wrackline.control.pipeline_file import Unfit


def take_part(file: Path, log: Log, *, rest_port: int) -> int:
    """Take part in a group, and return the exit code."""
    group = load(file, os.environ)
    if isinstance(group, Group):
        return work(group, log, rest_port=rest_port)
    raise Unfit(file, group)
