"""Named places where a test lets the process die, stop, wait or fail; off unless the environment says so.

    WRACKLINE_FAILPOINTS="before_commit=kill@3,after_commit=raise"

The action happens once, when the place is reached for the given time (the first, if none is given).
`kill_soon` lets the process continue for a moment, so that the next step is under way when it dies.

`hold` keeps the thread that comes there, while the others continue, from the given time on each time: it
makes a file with the place's name, which contains what is under way, and waits until that file is removed.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wrackline.schemas.errors import Transient, define

VARIABLE: Final = "WRACKLINE_FAILPOINTS"
HELD: Final = "WRACKLINE_FAILPOINTS_HELD"  # the folder of the places that hold
ALL_GO: Final = "all go"  # the file there that lets all threads continue

REACHED = define(
    "failpoint.reached",
    Transient,
    "the failpoint {name} was reached",
    hint="unset " + VARIABLE,
)

COMMIT: Final = (  # around a Kafka transaction
    "before_begin",  # nothing of the transaction exists
    "after_begin",  # the begin record is with the client
    "inside_events",  # some events have been handed to the client
    "after_events",  # all events are acknowledged, the offsets are not sent
    "before_commit",  # the offsets are acknowledged
    "after_commit",  # Kafka has it, the task does not know
    "before_confirm",  # the task knows, the database does not
)
READ: Final = (  # around a chunk of existing rows, in the order in which they are reached
    "before_gate",  # a reader has the work
    "after_gate",  # it may read
    "before_select",  # the open mark is set, where there is one
    "after_select",  # the chunk is here, its close mark is not set
    "after_close_mark",  # the log may have passed it, the task does not know of the chunk
    "before_slice",  # the mark is passed: rows are taken for a place in the log, Kafka has none of them
    "after_slice",  # the rows wait for their transaction, the next slice may go out
)
PROBE: Final = (  # where a trial before a start has left something on a server
    "probe_slot",  # a temporary slot
    "probe_signal",  # a row in the signal table
    "probe_topic",  # a topic
    "probe_open",  # a transaction with records, neither committed nor aborted
    "probe_committed",  # a record that readers see
    "probe_subject",  # a subject with a version
    "probe_table",  # a table in the target, empty
    "probe_merged",  # the same with rows
)
GROUP: Final = (  # around a write of a group's coordinator
    "group_decided",  # nothing of it is written
    "group_written",  # Kafka has it, the caller does not know
)
TAKEOVER: Final = (  # where a task takes its databases over
    "before_close",  # a partition is fenced, nothing is written
    "after_close",  # an earlier deal can write nothing there any more
    "before_adopt",  # all others are closed, the task's own partition is fenced
    "after_adopt",  # Kafka has it, the task does not know
)
NAMES: Final = COMMIT + READ + PROBE + GROUP + TAKEOVER


_SOON: Final = 0.001  # seconds; a commit takes longer
_LOOK: Final = 0.002  # seconds between two looks of a thread that is held


def _raise(name: str) -> None:
    raise REACHED(name=name)


def _hold(name: str, of: object) -> None:
    folder = Path(os.environ[HELD])
    everybody, here = folder / ALL_GO, folder / name
    coming = folder / f"{name} {threading.get_ident()}"
    if everybody.exists():
        return
    coming.write_text(str(of))
    coming.replace(here)  # a reader that sees the file can read all of it
    while here.exists() and not everybody.exists():
        time.sleep(_LOOK)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    """Stop all threads, this one first: a signal to the process waits for the main thread to take it."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


_ACTIONS: Mapping[str, Callable[[str, object], None]] = MappingProxyType(
    {
        "kill": lambda *_: _kill(),
        "kill_soon": lambda *_: threading.Timer(_SOON, _kill).start(),
        "stop": lambda *_: _stop(),
        "raise": lambda name, _: _raise(name),
        "hold": _hold,
    }
)
_AGAIN: Final = "hold"  # the only action that stays armed


def parse(text: str) -> dict[str, tuple[str, int]]:
    """Read the variable: each place with its action and at which time it happens."""
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


def reach(name: str, of: object = "") -> None:
    """Note that the place is reached, and with what."""
    if name not in _armed:
        return
    action, times = _armed[name]
    if times > 1:
        _armed[name] = (action, times - 1)
        return
    if action != _AGAIN:
        del _armed[name]
    _ACTIONS[action](name, of)
