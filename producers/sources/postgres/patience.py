"""Limits on a server that says nothing, where libpq would wait for ever.

A connection whose other end is gone without a word looks like one to a server that is still thinking;
TCP tells them apart only where the network itself is asked.  So what answers at once is waited for so long
and no longer, and what may wait for other people's locks and transactions says so.  Whatever is waited for,
another thread can have the wait end.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from threading import Event
from time import monotonic
from typing import Final, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

T = TypeVar("T")

_LOOK_S: Final = 0.1
_CANCEL_S: Final = 2.0


def bounded(steps: PQGen[T], limit: float, given_up: Callable[[], bool] = lambda: False) -> PQGen[T]:
    """Go through what psycopg does on a connection; raise when the server is silent for longer."""
    try:
        wanted = next(steps)
        heard = monotonic()
        while True:
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif given_up():
                raise psycopg.OperationalError("nobody waits for the answer any more")
            elif monotonic() - heard > limit:
                raise psycopg.OperationalError(f"the server has not answered for {limit:g} s")
            wanted = steps.send(ready)
    except StopIteration as done:
        answer: T = done.value
        return answer


def waited_for(steps: PQGen[T], wire: psycopg.pq.abc.PGconn, limit: float) -> T:
    """Do such steps on a bare connection."""
    return waiting.wait(bounded(steps, limit), wire.socket, _LOOK_S)


class Guarded(psycopg.Connection[tuple[object, ...]]):
    """A connection whose statements are waited for so long and no longer, and end with it."""

    most_silence: float | None = None  # seconds
    given_up: Event | None = None  # set by another thread: let what is under way end

    def wait(self, gen: PQGen[T], interval: float = _LOOK_S, timeout: float | None = None) -> T:
        """Wait as any connection does, within the limit."""
        limit = inf if self.most_silence is None else self.most_silence
        ended = self.given_up.is_set if self.given_up is not None else lambda: False
        return super().wait(bounded(gen, limit, ended), interval, timeout)

    def close(self) -> None:
        """End it; a statement under way is cancelled, or the server would go on with it."""
        if not self.closed and self.info.transaction_status is psycopg.pq.TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_S)
        super().close()


@contextmanager
def unhurried(connection: psycopg.Connection[tuple[object, ...]]) -> Iterator[None]:
    """Let statements wait as long as they must: for locks, or for transactions to end."""
    if not isinstance(connection, Guarded):
        yield
        return
    limit, connection.most_silence = connection.most_silence, None
    try:
        yield
    finally:
        connection.most_silence = limit
