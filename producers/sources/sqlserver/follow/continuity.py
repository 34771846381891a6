"""Whether the log continues where we stopped.  Pure.

    saved position + the database as it is now  ->  where to begin, or why that is not possible

LSNs mean something in one log only.  A database that was restored, or a copy, has other transactions at the
same LSNs: its changes would be taken for old ones, or old ones for new.  The server's ids say which log it is
where we may see them; and the log that we have read has our last commit at its LSN, also after a failover of
which the ids show nothing.  So whatever makes the log another
one is an error here; a new epoch begins only when the operator, or `snapshot.mode`, says so.  Where the ids
are of another kind than before, because the database has come into a group or our login sees more, our last
commit must do.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.follow.capture_instances import CatalogueInstance
from wrackline.producers.sources.sqlserver.log.lsn import ZERO, Lsn, lsn_text
from wrackline.producers.sources.sqlserver.log.position import (
    DatabaseIdentity,
    FollowedInstance,
    SqlServerPosition,
)
from wrackline.schemas.errors import Definite, Transient, define

FIRST_EPOCH: Final = 1
_ANEW = "wrackline offsets reset <pipeline.toml>, and the next start reads all rows"

LOG_NOT_BEGUN = define(
    "sqlserver.log_not_begun",
    Transient,
    "the capture job has not yet read the log of {database}",
    hint="it is tried again; if it stays so, start SQL Server Agent, then: EXEC"
    " {quoted}.sys.sp_cdc_start_job @job_type = N'capture';",
)
DATABASE_FOREIGN = define(
    "sqlserver.database_foreign",
    Definite,
    "the stored position belongs to another database than {database}: its family was {ours}, and is {theirs}",
    hint=f"connect to the previous server, or start over: {_ANEW}",
)
HISTORY_FORKED = define(
    "sqlserver.history_forked",
    Definite,
    "{database} was restored, or failed over with a loss, since the stored position: its log has another"
    " history now",
    hint=f"start over: {_ANEW}",
)
LOG_BEHIND = define(
    "sqlserver.log_behind",
    Definite,
    "the stored position is {position}, but the log of {database} was captured only up to {end}",
    hint=f"connect to the server that the pipeline has read from; or, if the database was restored, start"
    f" over: {_ANEW}",
)
REPLICA_BEHIND = define(
    "sqlserver.replica_behind",
    Transient,
    "this secondary has received the log of {database} up to {end}, and the stored position is {position}",
    hint="it is tried again; if it stays so, look at its lag: SELECT * FROM"
    " sys.dm_hadr_database_replica_states;",
)
CAPTURE_RENEWED = define(
    "sqlserver.capture_renewed",
    Definite,
    "change data capture of {database} was disabled and enabled again since the stored position",
    hint=f"the changes in between were captured by nobody, so start over: {_ANEW}",
)

LOST = frozenset(  # the log is another log, or lacks later changes, or we have passed changes that came late
    one.code for one in (DATABASE_FOREIGN, HISTORY_FORKED, LOG_BEHIND, CAPTURE_RENEWED)
) | {"sqlserver.cleaned_away", "sqlserver.late_rows"}


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """A database as it is now: its log, the newest commit that was captured, its capture instances."""

    name: str
    identity: DatabaseIdentity
    newest: Lsn | None  # of cdc.lsn_time_mapping; None: it is empty
    instances: Sequence[CatalogueInstance]
    oldest: Lsn | None = None  # of the same table, which the cleanup job shortens
    transaction: bytes | None = None  # the commit at our place; None: none is listed there
    secondary: bool = False
    tables: Collection[int] = ()  # the object_ids of all tables


def resume_position(saved: SqlServerPosition | None, found: DatabaseState) -> SqlServerPosition:
    """Return where to begin, or raise why we can't continue."""
    followed = followed_instances(found.instances)
    if saved is None:
        starts = [one.start_lsn for one in followed.values()]
        if found.newest is None and not starts:
            raise LOG_NOT_BEGUN(database=found.name, quoted=identifier(found.name))
        at = max([found.newest or ZERO, *starts])
        return SqlServerPosition(FIRST_EPOCH, at, identity=found.identity, ddl=at, instances=followed)
    _same_log(saved, found)
    return replace(saved, identity=found.identity)


def followed_instances(instances: Iterable[CatalogueInstance]) -> dict[str, FollowedInstance]:
    """Return what a position keeps of them."""
    return {one.name: kept for one in instances if (kept := one.followed) is not None}


def _same_log(saved: SqlServerPosition, found: DatabaseState) -> None:
    then, now = saved.identity, found.identity
    listed = found.oldest is not None and found.oldest <= saved.lsn
    known = listed and saved.transaction is not None and saved.transaction == found.transaction
    moved = then is not None and then.kind != now.kind and then.name == now.name  # into a group, or out of it
    if then is not None and not (moved and known):
        if then.family != now.family:
            raise DATABASE_FOREIGN(database=found.name, ours=then.family, theirs=now.family)
        if then.fork != now.fork:
            raise HISTORY_FORKED(database=found.name)
    numbers = {one.object_id for one in found.instances}
    gone = [one for one in saved.instances.values() if one.object_id not in numbers]
    lost = any(one.source in found.tables for one in gone)  # an instance goes together with its table
    if lost and len(gone) == len(saved.instances) and not known:
        raise CAPTURE_RENEWED(database=found.name)
    starts = (one.start_lsn for one in saved.instances.values())  # a first position may be one of these
    if found.newest is not None and found.newest < saved.lsn and saved.lsn not in starts:
        error = REPLICA_BEHIND if found.secondary else LOG_BEHIND
        raise error(database=found.name, position=lsn_text(saved.lsn), end=lsn_text(found.newest))
    if saved.transaction is not None and listed and not known:
        raise HISTORY_FORKED(database=found.name)
