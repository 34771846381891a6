"""Where the logs of all databases of a task end, in one round trip.

    USE [a]; the place of a savepoint; USE [b]; ...  ->  a place for each database that can be entered

At the end the connection is at home again, behind a failure too, because a session keeps others from changing
the database that it is in.  Azure SQL Database refuses USE: that is the caller's to know.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from wrackline.producers.sources.sqlserver.chunks.marks import FENCE_SQL, place_in
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.wire.login import MASTER
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError

_DOING: Final = "say where its logs are"
_HOME: Final = f"USE {identifier(MASTER)};"


def log_ends(session: TdsSession, databases: Sequence[str]) -> Mapping[str, Lsn]:
    """Return a place above all that is committed in each."""
    try:
        answers = session.answers(ends_sql(databases), _DOING)
    except WracklineError:
        with suppress(WracklineError):  # the first error says what is wrong
            session.execute(_HOME, _DOING)  # a batch that failed did not come to it
        raise
    return {name: place_in([answer]) for name, answer in zip(databases, answers, strict=True)}


def ends_sql(databases: Sequence[str]) -> str:
    """Make a savepoint in each database, and select its place."""
    places = (f"USE {identifier(name)}; {FENCE_SQL}" for name in databases)
    return " ".join([*places, _HOME])
