"""Looks at the catalogue beside the stream: every ten seconds, and soon after the log told of a table.

A thread of its own looks; the stream takes a picture when the log has passed it, and never waits.  One
picture waits at most: until it is taken, later ones are dropped, for the log is behind anyway.  A look that
fails is made again; the third failure in a row is the stream's, which is then opened anew.
"""

import threading
from collections.abc import Callable
from typing import Final, Protocol

import psycopg

from wrackline.producers.sources.postgres.facts import Picture
from wrackline.producers.sources.postgres.picture import Looker
from wrackline.schemas.errors import Transient, WracklineError, define

CATALOGUE_UNSEEN = define(
    "pg.catalogue_unseen",
    Transient,
    "tables that come and go could not be looked for: {reason}",
    hint="it is tried again by itself, on a new connection; see the server's log",
)

EVERY_S: Final = 10.0
_SOON_S: Final = 0.5
_FAILURES: Final = 3
_PATIENCE_S: Final = 5.0


class Telling(Protocol):
    """What the log has told so far, in numbers that rise."""

    @property
    def told(self) -> int:
        """All of it, and the pictures that were taken."""
        ...

    @property
    def stirs(self) -> int:
        """What makes it worth to look."""
        ...


class Watch:
    """The thread and the picture that waits; it looks from the start on."""

    def __init__(self, looker: Looker, log: Telling, every: float = EVERY_S) -> None:
        self._looker, self._log, self._every = looker, log, every
        self._picture: Picture | None = None
        self._error: Exception | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="catalogue", daemon=True)
        self._thread.start()

    def take(self, passed: Callable[[int], bool]) -> Picture | None:
        """Return the picture that waits, if the log has passed it."""
        if self._error is not None:
            raise CATALOGUE_UNSEEN(reason=self._error)
        picture = self._picture
        if picture is None or not passed(picture.upto):
            return None
        self._picture = None
        return picture

    def stop(self) -> None:
        """Let it end, without waiting."""
        self._stopping.set()

    def close(self) -> None:
        """End it."""
        self._stopping.set()
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            stirs = self._log.stirs
            try:
                picture = self._looker.look(self._log.told)
                failures = 0
            except (psycopg.Error, WracklineError) as exc:
                failures += 1
                self._looker.close()
                if failures >= _FAILURES:
                    self._error = exc
                    break
            else:
                if self._picture is None:
                    self._picture = picture
                    self._looker.handed_over(picture)
            self._rest(stirs)
        self._looker.close()

    def _rest(self, stirs: int) -> None:
        """Wait until it is time again, or there is a reason."""
        for _ in range(round(self._every / _SOON_S)):
            if self._stopping.wait(_SOON_S) or self._log.stirs != stirs:
                return
