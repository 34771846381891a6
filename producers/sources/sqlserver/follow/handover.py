"""From one capture instance of a table to the next.  Pure.

    older   start ....................................... still written, until somebody drops it
    newer                    start ......................
            read from older  |  from newer                 a commit at newer's start is older's

Both have the rows of every commit behind the newer's start, so each commit is read from one of them,
whichever we know of when: its LSN decides.  So there is no switch inside a transaction, and a restart
decides the same. Where both start at one LSN, the newer is the one that was made later.

If no instance covers our place, rows between it and the first start are lost: the cleanup job deleted them,
or the instance that had them was dropped.  A start above our place is no loss only if it is still the start
that we knew: then the instance had nothing yet.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.follow.capture_instances import CatalogueInstance, enable_sql
from wrackline.producers.sources.sqlserver.log.change_rows import RowKey
from wrackline.producers.sources.sqlserver.log.lsn import Lsn, lsn_text, next_lsn
from wrackline.producers.sources.sqlserver.log.page_merger import TableRange
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define
from wrackline.schemas.tables.table import TableId

CLEANED_AWAY = define(
    "sqlserver.cleaned_away",
    Definite,
    "the changes of {table} are kept from {start} on, but the stored position is {position}: the cleanup job"
    " has deleted those in between",
    hint="start over: wrackline offsets reset <pipeline.toml>, and the next start reads all rows; to keep"
    " changes for a week: EXEC {database}.sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 10080;",
)
INSTANCE_GONE = define(
    "sqlserver.instance_gone",
    Definite,
    "the capture instance {instance} of {table} was dropped before its changes behind {position} were read",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'; next time let both"
    " instances exist until wrackline status shows a later position",
)
NOT_CAPTURED = define(
    "sqlserver.not_captured",
    OperatorNeeded,
    "the changes of {table} are not captured: it has no capture instance",
    hint="as db_owner: {statement}",
)


class InstancePart(NamedTuple):
    """What is read from an instance: commits above the first LSN, up to the second; None: without end."""

    instance: CatalogueInstance
    above: Lsn
    upto: Lsn | None


def in_order(instances: Sequence[CatalogueInstance]) -> list[tuple[Lsn, CatalogueInstance]]:
    """Return a table's instances that can be read, the oldest first, each with its start."""
    begun = [(one.start_lsn, one) for one in instances if one.start_lsn is not None]
    return sorted(begun, key=lambda pair: (pair[0], pair[1].created, pair[1].object_id))


def parts_behind(instances: Sequence[CatalogueInstance], after: Lsn) -> Sequence[InstancePart]:
    """Return what is still to be read from each instance of a table, if all up to `after` is out."""
    ordered = in_order(instances)
    made = []
    for place, (start, instance) in enumerate(ordered):
        above = after if place == 0 else max(after, start)
        upto = ordered[place + 1][0] if place + 1 < len(ordered) else None
        if upto is None or above < upto:
            made.append(InstancePart(instance, above, upto))
    return made


def ranges(parts: Sequence[InstancePart], behind: RowKey, upto: Lsn) -> Sequence[TableRange]:
    """Return what a poll reads: from our place to the last commit that it has seen."""
    made = [
        TableRange(
            part.instance.object_id,
            max(behind, next_lsn(part.above)),
            upto if part.upto is None else min(part.upto, upto),
        )
        for part in parts
    ]
    return [one for one in made if one.after[: len(upto)] <= one.upto]


def lost(
    table: TableId,
    instances: Sequence[CatalogueInstance],
    known: Mapping[str, FollowedInstance],
    after: Lsn,
) -> WracklineError | None:
    """Say why rows of a table behind `after` can't be read; `known`: its instances in the position."""
    if not known:
        return None if instances else NOT_CAPTURED(table=table, statement=enable_sql(table))
    ordered = in_order(instances)
    covering = [one for start, one in ordered if start <= _needed(known.get(one.name), start, after)]
    numbers = {one.object_id for one in known.values()}
    if any(one.object_id in numbers for one in covering):
        return None
    name, due = _due(known, after)
    start = next((start for start, one in ordered if one.object_id == due.object_id), None)
    if start is None:
        return INSTANCE_GONE(table=table, instance=name, position=lsn_text(after))
    if start == due.start_lsn:
        return None
    return CLEANED_AWAY(
        table=table,
        start=lsn_text(start),
        position=lsn_text(after),
        database=identifier(table.database),
    )


def _due(known: Mapping[str, FollowedInstance], after: Lsn) -> tuple[str, FollowedInstance]:
    """Return the instance that had the rows behind our place: the newest that had begun, or the first to."""
    named = sorted(known.items(), key=lambda item: item[1].start_lsn)
    begun = [item for item in named if item[1].start_lsn <= after]
    return begun[-1] if begun else named[0]


def _needed(known: FollowedInstance | None, start: Lsn, after: Lsn) -> Lsn:
    """Return the highest start with which nothing is missing: the job keeps the commit that it starts at."""
    return next_lsn(after) if known is not None and known.start_lsn < start else after
