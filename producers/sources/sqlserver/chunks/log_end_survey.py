"""Where the logs of all databases of a task end, in one round trip: each is asked for once a second.

    USE [a]; the place of a savepoint; USE [b]; ...  ->  a place for each database that can be entered

A database that is away fails the whole batch.  Then each is asked by itself, and one that fails is left out
for a while.  Azure SQL Database refuses USE: that is the caller's to know.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from wrackline.producers.kit.lent_connection import LentConnection
from wrackline.producers.sources.sqlserver.chunks.marks import FENCE_SQL, place_in
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.connect.server_errors import STATEMENT_REFUSED
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.session.server import as_it_is
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError

AGAIN_S: Final = 30.0  # until a database that could not be entered is tried again


class LogEndSurvey:
    """Asks over one connection; one thread at a time calls it."""

    def __init__(self, connect: Callable[[], TdsSession], clock: Callable[[], float]) -> None:
        self._connection = LentConnection(connect, lambda one: not one.closed, as_it_is)
        self._clock = clock
        self._away: dict[str, float] = {}  # when it is tried again

    def ends(self, databases: Sequence[str]) -> Mapping[str, Lsn]:
        """Return a place above all that is committed in each; raise where one connection can't enter them."""
        now = self._clock()
        names = [name for name in databases if self._away.get(name, now) <= now]
        with self._connection.lend() as session:
            try:
                return _ends(session, names)
            except WracklineError:
                if session.closed:
                    raise
            found: dict[str, Lsn] = {}
            for name in names:
                try:
                    found |= _ends(session, [name])
                except WracklineError as error:
                    if session.closed or error.code == STATEMENT_REFUSED.code:
                        raise
                    self._away[name] = now + AGAIN_S
            return found

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def ends_sql(names: Sequence[str]) -> str:
    """Make a savepoint in each database, and select its place."""
    return " ".join(f"USE {identifier(name)}; {FENCE_SQL}" for name in names)


def _ends(session: TdsSession, names: Sequence[str]) -> Mapping[str, Lsn]:
    if not names:
        return {}
    answers = session.answers(ends_sql(names), "say where its logs are")
    return {name: place_in([answer]) for name, answer in zip(names, answers, strict=True)}
