"""Which log this is: an SCN means nothing in another database, or behind a RESETLOGS.  Pure."""

from typing import NamedTuple

from wrackline.schemas.errors import Definite, define

_ANEW = "wrackline offsets reset <pipeline.toml>, and the next start reads all rows"

DATABASE_FOREIGN = define(
    "oracle.database_foreign",
    Definite,
    "the stored position belongs to another database: its DBID was {ours}, and is {theirs}",
    hint=f"connect to the previous database, or start over: {_ANEW}",
)
LOGS_RESET = define(
    "oracle.resetlogs",
    Definite,
    "the database was opened with RESETLOGS at SCN {theirs} since the stored position, whose log began at"
    " SCN {ours}: its log has another history now",
    hint=f"start over: {_ANEW}",
)


class Incarnation(NamedTuple):
    """`RESETLOGS_CHANGE#` and `DBID` of V$DATABASE."""

    resetlogs_scn: int
    database_id: int


def check_same(ours: Incarnation, theirs: Incarnation) -> None:
    """Refuse a log that is not the one of the stored position."""
    if ours.database_id != theirs.database_id:
        raise DATABASE_FOREIGN(ours=ours.database_id, theirs=theirs.database_id)
    if ours.resetlogs_scn != theirs.resetlogs_scn:
        raise LOGS_RESET(ours=ours.resetlogs_scn, theirs=theirs.resetlogs_scn)
