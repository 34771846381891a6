"""SIGTERM, SIGINT and SIGHUP as questions: was a stop, or a retry, requested?

A signal handler may take no lock, so it only makes a note; the running loop checks the note.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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


@contextmanager
def hear_stop_signals() -> Iterator[Callable[[], bool]]:
    """Hear SIGTERM and SIGINT; a handler may take no lock, so it only makes a note."""
    heard: list[int] = []
    before = {
        number: signal.signal(number, lambda caught, _: heard.append(caught))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
