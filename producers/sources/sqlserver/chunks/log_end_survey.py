"""Where the logs of all databases of a task end, in one round trip: each is asked for once a second.

    USE [a]; the place of a savepoint; USE [b]; ...  ->  a place for each database that can be entered

At the end the connection is at home again, because a session keeps others from changing the database that it
is in.  Azure SQL Database refuses USE: that is the caller's to know.
"""

from collections.abc import Mapping, Sequence

from wrackline.producers.sources.sqlserver.chunks.marks import FENCE_SQL, place_in
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.wire.login import MASTER
from wrackline.producers.sources.sqlserver.wire.session import TdsSession


def log_ends(session: TdsSession, databases: Sequence[str]) -> Mapping[str, Lsn]:
    """Return a place above all that is committed in each."""
    answers = session.answers(ends_sql(databases), "say where its logs are")
    return {name: place_in([answer]) for name, answer in zip(databases, answers, strict=True)}


def ends_sql(databases: Sequence[str]) -> str:
    """Make a savepoint in each database, and select its place."""
    places = (f"USE {identifier(name)}; {FENCE_SQL}" for name in databases)
    return " ".join([*places, f"USE {identifier(MASTER)};"])
