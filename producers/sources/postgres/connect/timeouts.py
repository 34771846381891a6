"""Limits on a server that says nothing, where libpq would wait for ever.

A connection whose other end is silently gone looks like a connection to a server that is still working; TCP
shows the difference only if something is sent.  So statements that are answered at once have a time limit,
and statements that may wait for other sessions' locks and transactions say so.  Another thread can end any
wait.
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


def wait_within(steps: PQGen[T], limit: float, given_up: Callable[[], bool] = lambda: False) -> PQGen[T]:
    """Run psycopg's steps on a connection; raise when the server is silent for longer than the limit."""
    try:
        wanted = next(steps)
        heard = monotonic()
        while True:
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif given_up():
                raise psycopg.OperationalError("the answer is no longer needed")
            elif monotonic() - heard > limit:
                raise psycopg.OperationalError(f"the server has not answered for {limit:g} s")
            wanted = steps.send(ready)
    except StopIteration as done:
        answer: T = done.value
        return answer


def wait_on(steps: PQGen[T], wire: psycopg.pq.abc.PGconn, limit: float) -> T:
    """Do such steps on a bare connection."""
    return waiting.wait(wait_within(steps, limit), wire.socket, _LOOK_S)


class TimedConnection(psycopg.Connection[tuple[object, ...]]):
    """A connection whose statements have a time limit, and end with it."""

    most_silence: float | None = None  # seconds
    given_up: Event | None = None  # set by another thread: end the statement that runs

    def wait(self, gen: PQGen[T], interval: float = _LOOK_S, timeout: float | None = None) -> T:
        """Wait as any connection does, but within the limit."""
        limit = inf if self.most_silence is None else self.most_silence
        ended = self.given_up.is_set if self.given_up is not None else lambda: False
        return super().wait(wait_within(gen, limit, ended), interval, timeout)

    def close(self) -> None:
        """End it; a statement that runs is cancelled, or the server would continue it."""
        if not self.closed and self.info.transaction_status is psycopg.pq.TransactionStatus.ACTIVE:
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_S)
        super().close()


@contextmanager
def without_timeout(connection: psycopg.Connection[tuple[object, ...]]) -> Iterator[None]:
    """Let statements wait as long as they must: for locks, or for transactions to end."""
    if not isinstance(connection, TimedConnection):
        yield
        return
    limit, connection.most_silence = connection.most_silence, None
    try:
        yield
    finally:
        connection.most_silence = limit
