"""The lines of a COPY as they arrive, without a call that only the server could end.

    statement --> the server works, as long as it must  --> line, line, line ... --> its last word
                                                            '---- piece ----'

A sort or a lock may delay the first line without limit; once lines come, a server that becomes silent is
dead.  Both waits end when another thread gives the connection up.
"""

from collections.abc import Callable
from typing import TypeAlias

from psycopg import generators, pq, waiting
from psycopg.abc import PQGen

from wrackline.producers.sources.postgres.connect.timeouts import TimedConnection, without_timeout

NextLine: TypeAlias = Callable[[int], tuple[int, memoryview]]  # PGconn.get_copy_data


class CopyRefusedError(Exception):
    """The server does not send the lines, or not all of them."""

    def __init__(self, answer: pq.abc.PGresult) -> None:
        super().__init__()
        self.answer = answer


def copy_rows(
    connection: TimedConnection, statement: bytes, take: Callable[[NextLine], int], ended: Callable[[], bool]
) -> bool:
    """Pass a COPY TO STDOUT to `take`; return whether all of it; if not, the caller closes the connection."""
    begin_copy(connection, statement)
    return take_lines(connection, take, ended)


def begin_copy(connection: TimedConnection, statement: bytes) -> None:
    """Send a COPY TO STDOUT, and wait until its lines come."""
    wire = connection.pgconn
    wire.send_query(statement)
    with without_timeout(connection):
        answer = connection.wait(generators.execute(wire))[0]
    if answer.status != pq.ExecStatus.COPY_OUT:
        raise CopyRefusedError(answer)


def take_lines(
    connection: TimedConnection, take: Callable[[NextLine], int], ended: Callable[[], bool]
) -> bool:
    """Pass the lines of a begun COPY to `take`, until it ends or is ended; return whether it is over.

    `take` asks for line after line, without waiting, and returns the last answer: no line is there now (0),
    or no line is left (below 0); above 0 it only asks for a look at the clock.
    """
    wire = connection.pgconn
    while (said := take(wire.get_copy_data)) >= 0:
        if ended():
            return False
        if said == 0 and not connection.wait(_more(wire, ended)):
            return False
    for last in connection.wait(generators.fetch_many(wire)):
        if last.status == pq.ExecStatus.FATAL_ERROR:
            raise CopyRefusedError(last)
    return True


def _more(wire: pq.abc.PGconn, ended: Callable[[], bool]) -> PQGen[bool]:
    """Take what the server sends next; return False where `ended` comes first."""
    while not (yield waiting.Wait.R):
        if ended():
            return False
    wire.consume_input()
    return True
