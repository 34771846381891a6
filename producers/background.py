"""One call in a thread of its own, so that the loop goes on answering servers while Kafka is slow.

The thread is a daemon: a call that never returns must not keep the process from ending.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Event, Thread
from typing import Final, TypeVar

T = TypeVar("T")

LOOK: Final = 0.1  # seconds between two looks at a wish to stop


def begin(call: Callable[[], T], name: str) -> Future[T]:
    """Start the call; its result or error is the future's."""
    future: Future[T] = Future()
    Thread(target=_run, args=(call, future), name=name, daemon=True).start()
    return future


def _run(call: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
        future.set_exception(error)
    finally:
        del (
            call,
            future,
        )  # an error's traceback holds this frame, and all that it names


def ended(future: Future[T], stopping: Event, patience: float) -> bool:
    """Wait for a call; once the process is asked to stop, for so many seconds more. Whether it has ended."""
    while not wait([future], LOOK).done:
        if stopping.is_set():
            return bool(wait([future], patience).done)
    return True
