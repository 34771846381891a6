"""Named places of batches and upkeep where a test lets the process die; off unless the environment says so.

    WRACKLINE_MERGE_FAILPOINTS="before_apply=kill@2"     at the second time, once

The sources' half has its own places, and consumers import nothing from it.
"""

import os
import signal
from typing import Final

from wrackline.schemas.errors import Transient, define

VARIABLE: Final = "WRACKLINE_MERGE_FAILPOINTS"
BATCH: Final = (
    "before_shape",  # the batch is outlined and planned
    "before_stage",  # the target's table has the plan's shape, and the newest changes are known
    "before_apply",  # rows are staged
    "after_apply",  # rows and offsets are committed, nobody knows
)
UPKEEP: Final = (  # of a table in a lake, in the order in which upkeep reaches them
    "after_forget",  # old deletes are gone
    "after_compact",  # small files are replaced, and still there
    "after_restate",  # what is applied was written again, where it was due
    "while_cutting",  # Delta: everybody's checkpoint may cut the log
    "after_expire",  # old snapshots, or the old log, are gone
    "after_sweep",  # files without an owner are gone, and nothing says so
)
NAMES: Final = BATCH + UPKEEP

REACHED = define(
    "failpoint.merge_reached",
    Transient,
    "the failpoint {name} was reached",
    hint="unset " + VARIABLE,
)


def parse(text: str) -> dict[str, tuple[str, int]]:
    """Read the variable: each place with its action and at which time it acts."""
    armed = {}
    for item in filter(None, text.split(",")):
        name, _, rest = item.partition("=")
        action, _, times = rest.partition("@")
        if name not in NAMES or action not in ("kill", "raise"):
            raise ValueError(f"{VARIABLE} names no place or no action: {item}")
        armed[name] = (action, int(times or 1))
    return armed


_armed = parse(os.environ.get(VARIABLE, ""))


def reach(name: str) -> None:
    """Say that the place is reached."""
    if name not in _armed:
        return
    action, times = _armed.pop(name)
    if times > 1:
        _armed[name] = (action, times - 1)
    elif action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        raise REACHED(name=name)
