"""The lines of a COPY as they come, without a call that only the server could end.

    statement --> the server thinks, as long as it must --> line, line, line ... --> its last word
                                                            '---- piece ----'

A sort or a lock may keep the first line back for as long as it likes; once lines come, a server that falls
silent is dead.  Either wait ends when another thread gives the connection up.
"""

from collections.abc import Callable
from typing import TypeAlias

from psycopg import generators, pq, waiting
from psycopg.abc import PQGen

from wrackline.producers.sources.postgres.patience import Guarded, unhurried

NextLine: TypeAlias = Callable[[int], tuple[int, memoryview]]  # PGconn.get_copy_data


class RefusedError(Exception):
    """The server does not give the lines, or not all of them."""

    def __init__(self, answer: pq.abc.PGresult) -> None:
        super().__init__()
        self.answer = answer


def copied(
    connection: Guarded, statement: bytes, take: Callable[[NextLine], int], ended: Callable[[], bool]
) -> bool:
    """Give a COPY TO STDOUT to `take`; whether all of it: who ends it earlier has to close the connection."""
    begun(connection, statement)
    return taken(connection, take, ended)


def begun(connection: Guarded, statement: bytes) -> None:
    """Send a COPY TO STDOUT, and wait until its lines come."""
    wire = connection.pgconn
    wire.send_query(statement)
    with unhurried(connection):
        answer = connection.wait(generators.execute(wire))[0]
    if answer.status != pq.ExecStatus.COPY_OUT:
        raise RefusedError(answer)


def taken(connection: Guarded, take: Callable[[NextLine], int], ended: Callable[[], bool]) -> bool:
    """Give the lines of a COPY that has begun to `take`, until it ends or is ended; whether it is over.

    `take` asks for line after line, without waiting, and says as it was told last: that none is there now
    (0), or none any more (below 0); above 0 it only asks for a look at the clock.
    """
    wire = connection.pgconn
    while (said := take(wire.get_copy_data)) >= 0:
        if ended():
            return False
        if said == 0 and not connection.wait(_more(wire, ended)):
            return False
    for last in connection.wait(generators.fetch_many(wire)):
        if last.status == pq.ExecStatus.FATAL_ERROR:
            raise RefusedError(last)
    return True


def _more(wire: pq.abc.PGconn, ended: Callable[[], bool]) -> PQGen[bool]:
    """Take what the server sends next; false where the end comes first."""
    while not (yield waiting.Wait.R):
        if ended():
            return False
    wire.consume_input()
    return True
