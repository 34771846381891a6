"""Asks in one round trip a poll which of a task's databases have listed a commit, so that quiet ones rest.

    SELECT the newest commit of each database  ->  one that has changed is polled at once, the others seldom
    digests of their catalogues, the agent     ->  the same, and the others very seldom

Only that there is news is asked here: rows and their proof come over the database's own connection.  Locked
rows are left out, so no database waits for the capture job of another; such a commit is news once it is
committed.  What can't be asked so, because it is away, hangs, or our login may not, is polled by itself as if
this were not there, and asked for again after a while.
"""

from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Thread
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.poll.catalogue_digests import CatalogueDigests, Digest
from wrackline.producers.sources.sqlserver.session.server import ask_values
from wrackline.producers.sources.sqlserver.session.shared_question import AGAIN_S, SharedQuestion
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError

REST_S: Final = 5.0  # between two polls of a database without news: they also find changes of the catalogue
LONG_REST_S: Final = 60.0  # the same, where the digest of its catalogue is known
REFUSED_S: Final = 900.0  # behind a refusal: each is a line in the server's log, and may lock the account
_PATIENCE_S: Final = 5.0


class DatabaseNews(NamedTuple):
    """What a quiet database leaves as it is."""

    commit: bytes | None  # the newest that is listed
    digest: Digest | None  # None: it is not known


class NewsWatch:
    """One thread and one connection for the databases of a task."""

    def __init__(
        self, connect: Callable[[float], TdsSession], interval_s: float, clock: Callable[[], float]
    ) -> None:
        self._connect, self._interval, self._clock = connect, interval_s, clock
        self._lock = Condition()
        self._rings: dict[str, Callable[[], None]] = {}
        self._newest: Mapping[str, DatabaseNews] = {}  # of those that answer
        self._digests = CatalogueDigests(clock)
        self._stood = False  # whether all were rung for an agent that stands
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

    def rest_s(self, database: str, most_s: float | None) -> float:
        """Return how long a database without news may rest, which has something to look at after `most_s`.

        None: its last poll has seen nothing, so it may have news that were rung for before.
        """
        if most_s is None or (news := self._newest.get(database)) is None:
            return self._interval
        is_watched = news.digest is not None and not self.agent_stands()
        rest_s = min(max(REST_S, most_s), LONG_REST_S) if is_watched else REST_S
        return max(rest_s, self._interval)

    def agent_stands(self) -> bool:
        """Whether nothing is captured, as the server itself says."""
        return self._digests.agent_stands

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE_S)

    def _run(self) -> None:
        question = SharedQuestion(self._connect, self._news, self._clock)
        try:
            while not self._is_over():
                wait_s = self._interval
                try:
                    self._take(question.answers(self._followed()))
                except WracklineError as error:
                    self._take({})
                    wait_s = REFUSED_S if isinstance(error, OperatorNeeded) else AGAIN_S
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

    def _news(self, session: TdsSession, names: Sequence[str]) -> Mapping[str, DatabaseNews]:
        commits = _newest(session, names)
        self._digests.look(session, names)
        return {name: DatabaseNews(commit, self._digests.of(name)) for name, commit in commits.items()}

    def _take(self, newest: Mapping[str, DatabaseNews]) -> None:
        """Ring for what has changed, and for what is not asked any more; for all while nobody captures."""
        before, self._newest = self._newest, newest
        all_of_them = self.agent_stands() and not self._stood
        self._stood = self.agent_stands()
        with self._lock:
            rings = [
                ring
                for name, ring in self._rings.items()
                if all_of_them or before.get(name) != newest.get(name)
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

    def rest_s(self, most_s: float | None) -> float:
        """Return the time to the next poll."""
        return self._watch.rest_s(self._database, most_s)

    def end(self, hear: Callable[[], None]) -> None:
        """Leave it."""
        self._watch.leave(self._database, hear)


def _newest(session: TdsSession, names: Sequence[str]) -> Mapping[str, bytes | None]:
    results = ask_values(session, page_sql.newest_commits(names), "show which databases have news")
    return {names[number]: lsn for rows in results for number, lsn in rows}
