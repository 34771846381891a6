"""Looks at a source's catalogue beside its stream: every ten seconds, and soon after the log names a table.

A thread of its own looks; the stream takes a picture when the log has passed it, and never waits.  At most
one picture waits: until it is taken, later ones are dropped, because the log is behind anyway.  A look that
fails is made again; the third failure in a row goes to the stream, which is then opened again.
"""

import threading
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from wrackline.producers.kit.log_reports import LogReports, ReportMoment
from wrackline.schemas.errors import ErrorCode, WracklineError

EVERY_S: Final = 10.0
_SOON_S: Final = 0.5
_FAILURES: Final = 3
_PATIENCE_S: Final = 5.0

P = TypeVar("P")


class CatalogueReader(Protocol[P]):
    """Takes pictures, on connections that it makes."""

    def look(self, begun: ReportMoment) -> P | None:
        """Take one, None if it would show what the stream's last one shows.

        `begun` is how much the log has reported until now.
        """
        ...

    def handed_over(self, picture: P) -> None:
        """The stream will get this picture."""
        ...

    def close(self) -> None:
        """End the connection; the next look makes another."""
        ...


class CataloguePoller(Generic[P]):
    """The thread and the picture that waits."""

    def __init__(
        self,
        looker: CatalogueReader[P],
        reports: LogReports,
        unseen: ErrorCode,
        fails: type[Exception],
        *,
        every: float = EVERY_S,
    ) -> None:
        """Take what a look fails with beside our own errors, and the error for the third failure."""
        self._looker, self._reports, self._every = looker, reports, every
        self._unseen, self._fails = unseen, (fails, WracklineError)
        self._picture: P | None = None
        self._error: Exception | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, ready: Callable[[], None]) -> None:
        """Look from here on; `ready` is called for each picture, because the log may be quiet."""
        self._thread = threading.Thread(target=self._run, args=[ready], name="catalogue", daemon=True)
        self._thread.start()

    def take(self, passed: Callable[[P], bool]) -> P | None:
        """Return the picture that waits, if the log has passed it."""
        if self._error is not None:
            raise self._unseen(reason=self._error)
        picture = self._picture
        if picture is None or not passed(picture):
            return None
        self._picture = None
        return picture

    def stop(self) -> None:
        """Let it end, without waiting."""
        self._stopping.set()
        self._reports.wake()

    def close(self) -> None:
        """End it."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self, ready: Callable[[], None]) -> None:
        failures = 0
        while not self._stopping.is_set():
            wakes = self._reports.wakes
            try:
                picture = self._looker.look(self._reports.moment)
                failures = 0
            except self._fails as exc:
                failures += 1
                self._looker.close()
                if failures >= _FAILURES:
                    self._error = exc
                    ready()
                    break
            else:
                if self._picture is None and picture is not None:
                    self._picture = picture
                    self._looker.handed_over(picture)
                    ready()
            self._rest(wakes)
        self._looker.close()

    def _rest(self, wakes: int) -> None:
        """Wait until the next look is due, or there is a reason for one."""
        if not self._stopping.wait(_SOON_S):
            self._reports.wait_for_wake(wakes, self._every - _SOON_S)
