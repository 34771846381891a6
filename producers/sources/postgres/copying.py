"""The lines of a COPY as they come, without a call that only the server could end.

    statement --> the server thinks, as long as it must --> line, line, line ... --> its last word

A sort or a lock may keep the first line back for as long as it likes; once lines come, a server that falls
silent is dead.  Either wait ends when another thread gives the connection up.
"""

from collections.abc import Iterator

from psycopg import generators, pq, waiting
from psycopg.abc import PQGen

from wrackline.producers.sources.postgres.patience import Guarded, unhurried


class RefusedError(Exception):
    """The server does not give the lines, or not all of them."""

    def __init__(self, answer: pq.abc.PGresult) -> None:
        super().__init__()
        self.answer = answer


def lines_of(connection: Guarded, statement: bytes) -> Iterator[memoryview]:
    """Send a COPY TO STDOUT; who leaves its lines before the last one has to close the connection."""
    wire = connection.pgconn
    wire.send_query(statement)
    with unhurried(connection):
        answer = connection.wait(generators.execute(wire))[0]
    if answer.status != pq.ExecStatus.COPY_OUT:
        raise RefusedError(answer)
    while True:
        length, line = wire.get_copy_data(1)
        if length > 0:
            yield line
        elif length == 0:
            connection.wait(_more(wire))
        else:
            break
    for last in connection.wait(generators.fetch_many(wire)):
        if last.status == pq.ExecStatus.FATAL_ERROR:
            raise RefusedError(last)


def _more(wire: pq.abc.PGconn) -> PQGen[None]:
    """Take what the server sends next."""
    while not (yield waiting.Wait.R):
        pass
    wire.consume_input()
