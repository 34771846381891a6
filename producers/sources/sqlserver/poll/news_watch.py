"""Asks in one round trip a poll which of a task's databases have listed a commit, so that quiet ones rest.

    SELECT the newest commit of each database  ->  one that has changed is polled at once, the others seldom

Only that there is news is asked here: rows and their proof come over the database's own connection.  Locked
rows are left out, so no database waits for the capture job of another; such a commit is news once it is
committed.  What can't be asked so, because it is away or our login may not, is polled by itself as if this
were not there, and asked for again after a while.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Thread
from typing import Any, Final

from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.session.server import ask_values
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError

REST_S: Final = 5.0  # between two polls of a database without news: they also find changes of the catalogue
AGAIN_S: Final = 30.0  # until a database that could not be asked is asked again
_PATIENCE_S: Final = 5.0
_UNASKED: Final = object()  # None: no commit was listed yet
_LOCKS: Final = "SET LOCK_TIMEOUT 500;"  # a locked table of one database is not waited for


class NewsWatch:
    """One thread and one connection for the databases of a task."""

    def __init__(
        self, connect: Callable[[], TdsSession], interval_s: float, clock: Callable[[], float]
    ) -> None:
        self._connect, self._interval, self._clock = connect, interval_s, clock
        self._lock = Condition()
        self._rings: dict[str, Callable[[], None]] = {}
        self._newest: Mapping[str, Any] = {}  # of those that answer
        self._away: dict[str, float] = {}  # those that do not, and when they are asked again
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
        session: TdsSession | None = None
        try:
            while not self._is_over():
                wait_s = self._interval
                try:
                    if session is None:
                        session = self._connected()
                    self._take(self._answers(session))
                except WracklineError as error:
                    if session is None and isinstance(error, OperatorNeeded):
                        return  # each refusal is a line in the server's log, and may lock the account
                    if session is not None and session.closed:
                        session = None
                    self._take({})
                    wait_s = AGAIN_S
                with self._lock:
                    self._lock.wait_for(lambda: self._closed or not self._rings, wait_s)
        finally:
            self._take({})
            if session is not None:
                session.close()

    def _connected(self) -> TdsSession:
        made = self._connect()
        try:
            made.execute(_LOCKS, "take a session's settings")
        except BaseException:
            made.close()
            raise
        return made

    def _is_over(self) -> bool:
        with self._lock:
            over = self._closed or not self._rings
            if over:
                self._thread = None
            return over

    def _answers(self, session: TdsSession) -> Mapping[str, Any]:
        """Ask all that are not known to be away; if one fails all, ask each, and note those that do."""
        now = self._clock()
        with self._lock:
            names = [name for name in self._rings if self._away.get(name, now) <= now]
        try:
            return _newest(session, names)
        except WracklineError:
            if session.closed:
                raise
        found: dict[str, Any] = {}
        for name in names:
            try:
                found |= _newest(session, [name])
            except WracklineError:
                if session.closed:
                    raise
                self._away[name] = now + AGAIN_S
        return found

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
    if not names:
        return {}
    results = ask_values(session, page_sql.newest_commits(names), "show which databases have news")
    return {names[number]: lsn for rows in results for number, lsn in rows}
