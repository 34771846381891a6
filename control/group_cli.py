"""`wrackline worker --group group.toml`: its file is read, or the command ends with what is found in it."""

import os
from pathlib import Path

from wrackline.control.group.settings import Group, load
from wrackline.control.group.work import work
from wrackline.control.logs.lines import Log
from wrackline.control.pipeline_file import Unfit
from wrackline.control.rest.settings import RestSettings


def take_part(file: Path, log: Log, rest: RestSettings, most_memory: int) -> int:
    """Take part in a group, and return the exit code."""
    group = load(file, os.environ)
    if isinstance(group, Group):
        return work(group, log, rest, most_memory)
    raise Unfit(file, group)
