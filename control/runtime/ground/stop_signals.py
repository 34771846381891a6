"""SIGTERM, SIGINT and SIGHUP as questions: was a stop, or a retry, requested?

A signal handler may take no lock, so it only makes a note; the running loop checks the note, or waits for it.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue


@contextmanager
def hear_resume_signal() -> Iterator[Callable[[], bool]]:
    """Hear SIGHUP; each is answered once."""
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda caught, _: heard.append(caught))

    def take_signal() -> bool:
        return bool(heard and heard.pop())

    try:
        yield take_signal
    finally:
        signal.signal(signal.SIGHUP, before)


class Alarm:
    """Ends the wait of one thread; a signal handler may ring it too: a put into its queue never waits."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """End the wait, or the next one."""
        self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Return when it rings, or after so many seconds."""
        with suppress(Empty):
            self._rings.get(timeout=seconds)


@contextmanager
def hear_stop_signals(alarm: Alarm | None = None) -> Iterator[Callable[[], bool]]:
    """Hear SIGTERM and SIGINT; each also rings the alarm."""
    heard: list[int] = []

    def note(caught: int, _: object) -> None:
        heard.append(caught)
        if alarm is not None:
            alarm.ring()

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
