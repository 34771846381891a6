"""Wishes that come while another one is written: whoever may write next writes all of them at once.

In: wishes, each on the thread of its request, and what grants several of different connectors.  Out: each
caller returns when its own is granted, or gets its own error.  So a wish waits for at most two writes,
however many others ask.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import WracklineError


class Wish:
    """What one caller asks of a connector, or of one of its tasks."""

    def __init__(self, name: str, state: DesiredState, task: int | None) -> None:
        self.name, self.state, self.task = name, state, task
        self.is_done = False
        self.error: BaseException | None = None


class WishQueue:
    """Wishes that wait for the lock of all who write."""

    def __init__(self, lock: Lock, grant: Callable[[Sequence[Wish]], None]) -> None:
        self._lock, self._grant = lock, grant
        self._waiting: list[Wish] = []

    def ask(self, wish: Wish) -> None:
        """Return when it is granted."""
        self._waiting.append(wish)
        while not wish.is_done:
            with self._lock:
                if not wish.is_done:
                    self._grant_next()
        if wish.error is not None:
            raise wish.error

    def _grant_next(self) -> None:
        """Grant what waits; of several wishes for a connector the first: the next one builds on it."""
        first: dict[str, Wish] = {}
        for one in tuple(self._waiting):
            first.setdefault(one.name, one)
        try:
            self._grant(list(first.values()))
        except BaseException as error:
            for one in first.values():
                one.error = one.error or error
            if not isinstance(error, WracklineError):
                raise
        finally:
            for one in first.values():
                one.is_done = True
                self._waiting.remove(one)
