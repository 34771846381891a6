"""Asks in one round trip a poll which of a task's databases have listed a commit, so that quiet ones rest.

    SELECT the newest commit of each database  ->  one that has changed is polled at once, the others seldom

Only that there is news is asked here: rows and their proof come over the database's own connection.  Locked
rows are left out, so no database waits for the capture job of another; such a commit is news once it is
committed.  What can't be asked so, because it is away, hangs, or our login may not, is polled by itself as if
this were not there, and asked for again after a while.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Thread
from typing import Any, Final

from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.session.server import ask_values
from wrackline.producers.sources.sqlserver.session.shared_question import AGAIN_S, SharedQuestion
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError

REST_S: Final = 5.0  # between two polls of a database without news: they also find changes of the catalogue
_PATIENCE_S: Final = 5.0
_UNASKED: Final = object()  # None: no commit was listed yet


class NewsWatch:
    """One thread and one connection for the databases of a task."""

    def __init__(
        self, connect: Callable[[float], TdsSession], interval_s: float, clock: Callable[[], float]
    ) -> None:
        self._connect, self._interval, self._clock = connect, interval_s, clock
        self._lock = Condition()
        self._rings: dict[str, Callable[[], None]] = {}
        self._newest: Mapping[str, Any] = {}  # of those that answer
        self._thread: Thread | None = None
        self._closed = False

    def follow(self, database: str, ring: Callable[[], None]) -> None:
        """Ring at each commit of a database, and when it can't be asked any more; on another thread."""
        with self._lock:
            self._rings[database] = ring
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._run, name="news of databases", daemon=True)
                self._thread.start()

    def leave(self, database: str, ring: Callable[[], None]) -> None:
        """Ring no more, unless the database is followed anew; the thread ends with the last one."""
        with self._lock:
            if self._rings.get(database) == ring:
                del self._rings[database]
            self._lock.notify_all()

    def rest_s(self, database: str) -> float:
        """Return how long a database without news may rest."""
        return max(REST_S, self._interval) if database in self._newest else self._interval

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE_S)

    def _run(self) -> None:
        question = SharedQuestion(self._connect, _newest, self._clock)
        try:
            while not self._is_over():
                wait_s = self._interval
                try:
                    self._take(question.answers(self._followed()))
                except OperatorNeeded:
                    return  # each refusal is a line in the server's log, and may lock the account
                except WracklineError:
                    self._take({})
                    wait_s = AGAIN_S
                with self._lock:
                    self._lock.wait_for(lambda: self._closed or not self._rings, wait_s)
        finally:
            self._take({})
            question.close()

    def _is_over(self) -> bool:
        with self._lock:
            over = self._closed or not self._rings
            if over:
                self._thread = None
            return over

    def _followed(self) -> Sequence[str]:
        with self._lock:
            return list(self._rings)

    def _take(self, newest: Mapping[str, Any]) -> None:
        """Ring for what has changed, and for what is not asked any more."""
        before, self._newest = self._newest, newest
        with self._lock:
            rings = [
                ring
                for name, ring in self._rings.items()
                if before.get(name, _UNASKED) != newest.get(name, _UNASKED)
            ]
        for ring in rings:
            ring()


class PaceByNews:
    """How long one of these databases rests."""

    def __init__(self, watch: NewsWatch, database: str) -> None:
        self._watch, self._database = watch, database

    def begin(self, hear: Callable[[], None]) -> None:
        """Follow it."""
        self._watch.follow(self._database, hear)

    def rest_s(self) -> float:
        """Return the time to the next poll."""
        return self._watch.rest_s(self._database)

    def end(self, hear: Callable[[], None]) -> None:
        """Leave it."""
        self._watch.leave(self._database, hear)


def _newest(session: TdsSession, names: Sequence[str]) -> Mapping[str, Any]:
    results = ask_values(session, page_sql.newest_commits(names), "show which databases have news")
    return {names[number]: lsn for rows in results for number, lsn in rows}
