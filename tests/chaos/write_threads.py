"""Several writers in threads of their own, until they are stopped; they survive the server's faults.

In: how one writer is opened, which a subclass says.  Out: transactions, and how many were committed.
"""

import contextlib
import random
import threading
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Protocol, Self

from tests.integration.running.world import PATIENCE


class OneWriter(Protocol):
    """One session that writes."""

    def transaction(self) -> bool:
        """Write one transaction; whether it was committed."""
        ...


class WriteThreads(ABC):
    """The threads, and how much they have committed."""

    gone: tuple[type[BaseException], ...]
    """What a writer ends with where the server is away, or went; another is then opened."""

    def __init__(self, seed: int, count: int, pace: float) -> None:
        """Take how many write, and how long each rests between two transactions, about."""
        self._pace = pace
        self._stopping, self._lock = threading.Event(), threading.Lock()
        self.committed = 0  # transactions, as far as the writers know
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(number, count, random.Random(f"{seed} {number}")))
            for number in range(count)
        ]

    @abstractmethod
    def opened(self, number: int, of: int, chance: random.Random) -> AbstractContextManager[OneWriter]:
        """Open one of so many, which is closed behind the block."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a writer does not stop"
        if self._errors:
            raise self._errors[0]

    def more(self, transactions: int) -> None:
        """Wait until so many more transactions are committed."""
        wanted, deadline = self.committed + transactions, time.monotonic() + PATIENCE
        while self.committed < wanted and not self._errors:
            assert time.monotonic() < deadline, "nothing is written"
            self._stopping.wait(0.01)

    def _guarded(self, number: int, of: int, chance: random.Random) -> None:
        try:
            while not self._stopping.is_set():
                with contextlib.suppress(*self.gone), self.opened(number, of, chance) as writer:
                    self._write(writer, chance)
                self._stopping.wait(0.1)
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it
            self._errors.append(error)

    def _write(self, writer: OneWriter, chance: random.Random) -> None:
        while not self._stopping.wait(self._pace * chance.random() * 2):
            kept = writer.transaction()
            with self._lock:
                self.committed += kept
