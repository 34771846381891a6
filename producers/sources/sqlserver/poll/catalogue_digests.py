"""Asks what the polls of quiet databases would find in their catalogues, and whether somebody captures.

    capture instances, DDL, names of all databases   one batch   ->  a digest of each, which changes with them
    SQL Server Agent                                 once for all ->  whether it stands

A digest proves nothing: it says that a poll is worth while, and the poll proves.  One that can't be had, as a
session changes a table or our login lacks a right, is tried again later; until then nobody relies on it.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.check.facts_sql import AGENT
from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.poll.capture_watch import halted
from wrackline.producers.sources.sqlserver.session.server import ask_values
from wrackline.producers.sources.sqlserver.session.shared_question import AGAIN_S, LOCKS
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError

DIGEST_S: Final = 5.0  # between two looks


class Digest(NamedTuple):
    """What differs once a catalogue has changed."""

    instances: int | None
    ddl: bytes | None
    names: int | None


class CatalogueDigests:
    """What is known of the catalogues of a task's databases; one thread calls `look`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._digests: dict[str, Digest] = {}
        self._due: dict[str, float] = {}
        self._agent_due = -inf
        self.agent_stands = False

    def of(self, database: str) -> Digest | None:
        """Return what is known of a database."""
        return self._digests.get(database)

    def look(self, session: TdsSession, databases: Sequence[str]) -> None:
        """Look at those that are due; raise only if the connection is lost."""
        now = self._clock()
        self._look_for_agent(session, now)
        due = [name for name in databases if self._due.get(name, now) <= now]
        if not due or self._has_looked(session, due, now):
            return
        for name in due:  # one of them is locked, or not ours to see: nobody says which
            if not self._has_looked(session, [name], now):
                self._digests.pop(name, None)
                self._due[name] = now + AGAIN_S

    def _has_looked(self, session: TdsSession, databases: Sequence[str], now: float) -> bool:
        sql = f"{page_sql.catalogue_digests(databases)}\n{LOCKS}"
        try:
            results = ask_values(session, sql, "show which catalogues have changed")
        except WracklineError:
            if session.closed:
                raise
            session.execute(LOCKS, "take a session's settings")  # a batch that failed did not come to it
            return False
        self._digests |= {databases[number]: Digest(*row) for rows in results for number, *row in rows}
        # the same moments for all, whenever each was opened: else they would not share a statement
        self._due |= dict.fromkeys(databases, now - now % DIGEST_S + DIGEST_S)
        return True

    def _look_for_agent(self, session: TdsSession, now: float) -> None:
        if now < self._agent_due:
            return
        self._agent_due = now + DIGEST_S
        try:
            (found,) = ask_values(session, AGENT, "say whether its agent runs")
        except WracklineError as error:
            if session.closed:
                raise
            if isinstance(error, OperatorNeeded):  # we may not see it; nor may a database's own connection
                self._agent_due, self.agent_stands = inf, False
            return
        self.agent_stands = halted(found) is not None
