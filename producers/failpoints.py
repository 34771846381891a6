"""Named places where a test lets the process die, stop or fail; off unless the environment says so.

    WRACKLINE_FAILPOINTS="before_commit=kill@3,after_commit=raise"

The action happens at the given time that the place is reached (the first, if none is given), once.
`kill_soon` lets the process go on for a moment, so that what comes next is under way when it dies.
"""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from wrackline.schemas.errors import Transient, define

VARIABLE: Final = "WRACKLINE_FAILPOINTS"

REACHED = define(
    "failpoint.reached",
    Transient,
    "the failpoint {name} was reached",
    hint="unset " + VARIABLE,
)

NAMES: Final = (
    "before_begin",  # nothing of the transaction exists
    "after_begin",  # the begin record is with the client
    "inside_events",  # some events have been handed to the client
    "after_events",  # all events are acknowledged, the offsets are not sent
    "before_commit",  # the offsets are acknowledged
    "after_commit",  # Kafka has it, nobody knows
    "before_confirm",  # the task knows, the database does not
)


_SOON: Final = 0.001  # seconds; a commit takes longer


def _raise(name: str) -> None:
    raise REACHED(name=name)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_ACTIONS: Mapping[str, Callable[[str], None]] = MappingProxyType(
    {
        "kill": lambda _: _kill(),
        "kill_soon": lambda _: threading.Timer(_SOON, _kill).start(),
        "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
        "raise": _raise,
    }
)


def parse(text: str) -> dict[str, tuple[str, int]]:
    """Read the variable: each place with its action and how often it is reached before that."""
    armed = {}
    for item in filter(None, text.split(",")):
        name, _, rest = item.partition("=")
        action, _, times = rest.partition("@")
        if name not in NAMES or action not in _ACTIONS:
            raise ValueError(f"{VARIABLE} names no place or no action: {item}")
        armed[name] = (action, int(times or 1))
    return armed


_armed = parse(os.environ.get(VARIABLE, ""))


def arm(text: str) -> None:
    """Arm places from inside the process; an empty text disarms all."""
    _armed.clear()
    _armed.update(parse(text))


def reach(name: str) -> None:
    """Say that the place is reached."""
    if name not in _armed:
        return
    action, times = _armed[name]
    if times > 1:
        _armed[name] = (action, times - 1)
        return
    del _armed[name]
    _ACTIONS[action](name)
