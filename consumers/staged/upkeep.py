"""What keeps a table small: old tombstones go, and pairs that nobody sees, and stages that nobody merged.

In: a session, what is kept about the table, and before which moment a delete may be forgotten.  Out: what
went, and how many rows wait for a value.  One statement counts, and another deletes only if there is
something; each is committed by itself.  The service compacts.  Events are kept.
"""

from wrackline.consumers.contract.plan import TableMode
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.staged.places import StagedLayout, StagedPlace
from wrackline.consumers.staged.service import StagedService, StagedSession
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.staged.view import committed_before, pairs, settle


def upkeep(
    service: StagedService,
    session: StagedSession,
    place: StagedPlace,
    shape: StagedShape,
    *,
    forget_before_ms: int,
) -> UpkeepResult:
    """Do what there is to do; events of an append table are shown with what they lack."""
    dialect = service.dialect
    table = dialect.path(place.table)
    if shape.mode is TableMode.APPEND:
        return UpkeepResult()
    if shape.mode is TableMode.HISTORY:
        start, missing = dialect.quoted(shape.ours.start), dialect.quoted(shape.ours.missing)
        hidden = f"{start} IS NOT NULL AND {missing} IS NOT NULL"
        ((incomplete,),) = session.rows(f"SELECT COUNT(*) FROM {table} WHERE {hidden}")  # noqa: S608 - names are quoted, here and below
        return UpkeepResult(incomplete=int(incomplete))
    deleted, missing = dialect.quoted(shape.ours.deleted), dialect.quoted(shape.ours.missing)
    old = f"{deleted} AND {committed_before(shape, dialect, forget_before_ms)}"
    hidden = f"NOT {deleted} AND {missing} IS NOT NULL"
    if shape.keyless:
        ((went,),) = session.rows(
            f"SELECT COUNT(*) FROM ({pairs(table, shape, dialect, forget_before_ms)}) pairs"  # noqa: S608
        )
        ((incomplete,),) = session.rows(f"SELECT COUNT(*) FROM {table} WHERE {hidden}")  # noqa: S608
        forget = settle(table, shape, dialect, forget_before_ms)
    else:
        counts = ", ".join(f"COUNT(CASE WHEN {condition} THEN 1 END)" for condition in (old, hidden))
        ((went, incomplete),) = session.rows(f"SELECT {counts} FROM {table}")  # noqa: S608
        forget = f"DELETE FROM {table} WHERE {old}"  # noqa: S608
    if went:
        session.run(forget)
    return UpkeepResult({UpkeepRemoval.TOMBSTONES: int(went)}, int(incomplete))


def forget_stages(
    service: StagedService, session: StagedSession, place: StagedPlace, layout: StagedLayout
) -> int:
    """Drop the stages that a consumer of this table left when it ended; return how many."""
    names = [name for name in service.old_tables(session, layout.stages) if place.has_stage(name)]
    for name in names:
        session.run(f"DROP TABLE IF EXISTS {service.dialect.path(place.table._replace(name=name))}")
    return len(names)
