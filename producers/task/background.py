"""Calls in threads of their own: the loop still answers servers while Kafka or one of them is slow.

The threads are daemons: a call that never returns must not keep the process from ending.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Final, Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

LOOK: Final = 0.1  # seconds between two looks at a wish to stop
_AT_ONCE: Final = 8  # calls about several databases
_SILENCE_S: Final = 3.0  # without an answer, after which nothing waits for it


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


class Crew(Generic[K]):
    """A few threads that make the same call about one of several things each; one thread begins calls.

    A call that has lasted for a while waits for something, and is not one of the few any more: however many
    databases hang, the others are asked.
    """

    def __init__(self, call: Callable[[K], None], name: str) -> None:
        self._call, self._name = call, name
        self._wanted: SimpleQueue[K | None] = SimpleQueue()
        self._under_way: dict[K, float | None] = {}  # since when; None: it waits for a thread
        self._threads: list[Thread] = []

    def begin(self, about: K) -> None:
        """Have the call made soon, unless the one before about the same thing has not ended."""
        if about not in self._under_way:
            self._under_way[about] = None
            self._wanted.put(about)
        begun, late = [*self._under_way.values()], monotonic() - _SILENCE_S
        slow = sum(since is not None and since < late for since in begun)
        self._threads = [one for one in self._threads if one.is_alive()]  # a fault in a call ends its thread
        if len(self._threads) < min(len(begun), _AT_ONCE + slow):
            self._threads.append(Thread(target=self._serve, name=self._name, daemon=True))
            self._threads[-1].start()

    def close(self, patience: float) -> None:
        """Let the threads end, and wait for them at most so many seconds."""
        for _ in self._threads:
            self._wanted.put(None)
        until = monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))

    def _serve(self) -> None:
        while (about := self._wanted.get()) is not None:
            self._under_way[about] = monotonic()
            try:
                self._call(about)
            finally:
                del self._under_way[about]


def ask_each(ask: Callable[[K], T], things: Sequence[K], name: str) -> Mapping[K, Future[T]]:
    """Ask about each; return when all answers are there, or none has come for a while if there are several.

    What has not been answered has a future that is not done.
    """
    answers = {thing: Future[T]() for thing in things}
    crew = Crew[K](lambda thing: _run(partial(ask, thing), answers[thing]), name)
    for thing in things:
        crew.begin(thing)
    left = set(answers.values())
    while left:
        came, left = wait(left, _SILENCE_S if len(things) > 1 else None, FIRST_COMPLETED)
        if not came:
            break
    crew.close(0.0)
    return answers
