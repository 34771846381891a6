"""One call in a thread of its own, so that the loop still answers servers while Kafka is slow.

The thread is a daemon: a call that never returns must not keep the process from ending.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Event, Thread
from typing import Final, TypeVar

T = TypeVar("T")

LOOK: Final = 0.1  # seconds between two looks at a wish to stop


def start_call(call: Callable[[], T], name: str) -> Future[T]:
    """Start the call; the future gets its result or error."""
    future: Future[T] = Future()
    Thread(target=_run, args=(call, future), name=name, daemon=True).start()
    return future


def _run(call: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the caller that waits for the future gets it
        future.set_exception(error)
    finally:
        del (
            call,
            future,
        )  # an error's traceback holds this frame, and all that it names


def wait_for_call(future: Future[T], stopping: Event, patience: float) -> bool:
    """Wait for a call, and this many more seconds after a stop is asked for; return whether it has ended."""
    while not wait([future], LOOK).done:
        if stopping.is_set():
            return bool(wait([future], patience).done)
    return True
