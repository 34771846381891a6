"""One question to all databases of a task over one connection, of which one may fail or hang.

    those that answered last time   one batch   ->  answers
    each of the others              by itself; after a failure it is left out for a while

A batch that fails does not say which database it failed for, and a lost one shows no answer at all: what a
server has to say about small results stays in its buffer until the end.  So all are asked by themselves
then.  A database that hangs costs the others one short silence in each while, however many hang.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final, Generic, TypeVar

from wrackline.producers.kit.lent_connection import LentConnection
from wrackline.producers.sources.sqlserver.connect.server_errors import STATEMENT_REFUSED
from wrackline.producers.sources.sqlserver.session.server import as_it_is
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError

T = TypeVar("T")

AGAIN_S: Final = 30.0  # until a database that gave no answer is asked again
SILENCE_S: Final = 3.0  # behind which a connection counts as lost: every answer is small
LOCKS: Final = "SET LOCK_TIMEOUT 500;"  # a locked table of one database is not waited for


class SharedQuestion(Generic[T]):
    """Asks over one connection; one thread at a time calls it."""

    def __init__(
        self,
        connect: Callable[[float], TdsSession],
        ask: Callable[[TdsSession, Sequence[str]], Mapping[str, T]],
        clock: Callable[[], float],
    ) -> None:
        """Take what connects, with the longest silence of the server; and what asks some databases."""
        self._connect, self._ask, self._clock = connect, ask, clock
        self._connection = LentConnection(self._connected, lambda one: not one.closed, as_it_is)
        self._alone: dict[str, float] = {}  # those that are asked by themselves, and from when on

    def answers(self, databases: Sequence[str]) -> Mapping[str, T]:
        """Return what those that answer say; raise without a connection, or if the question is refused."""
        now = self._clock()
        together = [name for name in databases if name not in self._alone]
        found: dict[str, T] = {}
        try:
            found.update(self._answered(together))
        except _NoAnswerError:
            self._alone.update(dict.fromkeys(together, now))
        for name in [name for name in databases if self._alone.get(name, inf) <= now]:
            try:
                found.update(self._answered([name]))
            except _NoAnswerError as failure:
                self._alone[name] = self._clock() + AGAIN_S
                if failure.lost:  # it may have been a silence: the answers of the others do not wait for more
                    break
            else:
                del self._alone[name]
        return found

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _answered(self, names: Sequence[str]) -> Mapping[str, T]:
        if not names:
            return {}
        with self._connection.lend() as session:
            try:
                return self._ask(session, names)
            except WracklineError as error:
                if error.code == STATEMENT_REFUSED.code:
                    raise
                raise _NoAnswerError(lost=session.closed) from None

    def _connected(self) -> TdsSession:
        made = self._connect(SILENCE_S)
        try:
            made.execute(LOCKS, "take a session's settings")
        except BaseException:
            made.close()
            raise
        return made


class _NoAnswerError(Exception):
    """No answer has come; `lost`: the connection is lost too."""

    def __init__(self, *, lost: bool) -> None:
        super().__init__()
        self.lost = lost
