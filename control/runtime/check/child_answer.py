"""One answer from a process of its own: for work whose memory, or whose patience, a worker can't spare.

    ask_child     the worker: how the process is started, and for how long it may take
    tell_answer   the process: what makes the answer

Out: the answer, or the error that prevented it.  The process has ended when `ask_child` returns.
"""

import selectors
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.producers.connect.child import Begin, Child, ChildReport
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.schemas.errors import Transient, WracklineError, define, error_of

_LOOK: Final = 1.0

NO_PROCESS = define(
    "worker.no_process",
    Transient,
    "the worker could not start a process for this: {why}",
    hint="check whether the machine has processes, file descriptors and memory left: ulimit -u -n; free -m;"
    " then ask again",
)


def ask_child(
    begin: Begin, patience: float, late: Callable[[], WracklineError], ended: Callable[[int], WracklineError]
) -> Any:  # noqa: ANN401 - as it was told
    """Return the answer; raise what `late` or `ended` make, if the time or the process is over before."""
    until = time.monotonic() + patience
    try:
        child = Child(begin)
    except (OSError, EOFError) as error:  # EOFError: the nursery has just ended, and is started again
        raise NO_PROCESS(why=type(error).__name__) from error
    try:
        with selectors.DefaultSelector() as selector:
            for descriptor in child.descriptors:
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                code = child.exit_code  # first, because all that it sent before its end is there then
                for heard in child.hear():
                    if isinstance(heard, ChildReport):
                        return _read(heard.report)
                if code is not None:
                    raise ended(code)
                if time.monotonic() > until:
                    raise late()
                selector.select(_LOOK)
    finally:
        child.close()


def tell_answer(make: Callable[[], object], line: socket.socket) -> None:
    """Make the answer, as the child, and send it."""
    lifeline = Lifeline(line)
    lifeline.hold()
    try:
        lifeline.tell({"answer": plain_values(make())})
    except WracklineError as error:
        lifeline.tell({"error": error.document()})


def _read(report: Mapping[str, Any]) -> Any:  # noqa: ANN401
    if "error" in report:
        raise error_of(report["error"])
    return report["answer"]
