"""What happens to a table's jobs: one state in, the next one out.

If a request for a whole table fails, the next request for the whole table repairs it; what the worker itself
needs (the first read, a refresh) is never dropped, neither by a stop nor by a request for less.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.shape_changes import RefreshNeed
from wrackline.producers.snapshot.table_state import Job, Outcome, PendingRange, TableDeparture, TableState
from wrackline.producers.snapshot.work_items import KeySpan
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

MOST_KEYS = 1_000  # in one read

KEY_CHANGED = define(
    "snapshot.key_changed",
    OperatorNeeded,
    "the key of {table} changed while requested keys were still to be read",
    hint="send the request again, with the columns of the current key: wrackline snapshot start"
    " <pipeline.toml> '{table}'",
)

NewId = Callable[[], str]


def add_request(state: TableState, job: Job, new_id: NewId) -> TableState:
    """Take a request for this table: what had failed is tried again, or is part of it.

    A request that repairs what the copy needs can't be stopped either.
    """
    makes_good = job.whole and state.gap
    for failed in state.jobs:
        if failed.failed is not None:
            state = state.without_job(failed.id, Outcome.FAILED)
            if failed.needed and job.whole:
                makes_good = True
            elif failed.needed:
                again = replace(failed.anew(), id=new_id(), failed=None, begun=False)
                state = state.with_job(again)
    if state.set_aside is not None:
        state = replace(state, set_aside=None)
        if not (job.whole or any(one.whole for one in state.jobs)):
            state = state.with_job(Job(new_id(), Purpose.REFRESH))
    return state.with_job(replace(job, also_refresh=makes_good))


def take_shape(state: TableState, need: RefreshNeed, new_id: NewId) -> TableState:
    """Add the reads that a new shape needs."""
    if need is RefreshNeed.NOTHING:
        return state
    if need is RefreshNeed.RESTART:
        state = replace(drop_plans(state), missing={}, lacking=frozenset())
    whole = [job for job in state.jobs if job.whole and job.failed is None]
    if not whole:
        return state.with_job(Job(new_id(), Purpose.REFRESH))
    for job in whole:
        state = state.with_job(replace(job.anew(), also_refresh=True))
    return state


def read_all_again(state: TableState, new_id: NewId) -> TableState:
    """Read all rows, after what has begun, because a row is missing that can't be read by itself."""
    for job in state.jobs:
        if job.whole and not job.begun and job.failed is None:
            return state if job.needed else state.with_job(replace(job, also_refresh=True))
    return state.with_job(Job(new_id(), Purpose.REFRESH))


def stop_requests(state: TableState, new_id: NewId) -> TableState:
    """Stop requested reads; a read that the copy needs continues under a name of the worker's own."""
    for job in state.jobs:
        if job.failed is None and job.purpose is Purpose.REQUESTED:
            state = state.without_job(job.id, Outcome.CANCELLED)
            if job.also_refresh:
                state = state.with_job(replace(job, id=new_id(), purpose=Purpose.REFRESH))
    return state


def drop_jobs(state: TableState, left_out: FaultReason | None, departure: TableDeparture) -> TableState:
    """Drop the jobs of a table that no longer exists.

    If the stream leaves its name out, it does so for the next table of that name as well: that it is
    set aside must stay known, or nobody would miss that table's log (INV-4).  And the copy keeps
    its rows: they are void once the name is another table's.
    """
    for job in state.jobs:
        state = state.without_job(job.id, Outcome.FAILED if job.failed else Outcome.CANCELLED)
    state = replace(state, lacking=frozenset(), lacks_more=False)
    return replace(state, shape=None, missing={}, set_aside=left_out, gap=True, departure=departure)


def come(state: TableState, new_id: NewId, *, complete: bool) -> TableState:
    """Take that a table has this name: of a whole one the copy has the rows of the earlier table."""
    state = replace(state, departure=TableDeparture())
    return read_all_again(state, new_id) if complete and state.gap and state.set_aside is None else state


def set_aside(state: TableState, reason: FaultReason) -> TableState:
    """Fail all jobs: the log hands out no more changes of the table, so nothing can be read beside it."""
    for job in state.jobs:
        if job.failed is None:
            state = state.with_job(replace(job, failed=reason))
    return replace(state, set_aside=reason, gap=True)


def fail_job(state: TableState, job: Job | None, error: WracklineError, new_id: NewId) -> TableState:
    """Give up a job, or, if it is None, the reading of missing rows; the state contains the reason."""
    reason = FaultReason(error.code, error.sentence, error.hint)
    if job is None:
        job = Job(new_id(), Purpose.REFRESH)
    return state.with_job(replace(job, failed=reason))


def is_overfull(state: TableState) -> bool:
    """Whether there may be letters whose keys were not remembered since the last whole read began."""
    return state.lacks_more and len(state.lacking) >= MOST_KEYS


def take_plan(
    state: TableState, job: Job, key: Sequence[str], spans: Sequence[KeySpan], expected: int | None = None
) -> TableState:
    """Take a job's key columns and ranges, and the database's estimate of its rows.

    A whole read finds all letters that there are, so earlier ones are forgotten if there were too many.
    """
    if job.whole and state.lacks_more:
        state = replace(state, lacking=frozenset())
    if job.keys:
        spans = [
            KeySpan(only=job.keys[start : start + MOST_KEYS]) for start in range(0, len(job.keys), MOST_KEYS)
        ]
    ranges = tuple(PendingRange(number, span) for number, span in enumerate(spans))
    most = ranges[-1].span.upto if ranges else None
    return state.with_job(replace(job, key=tuple(key), ranges=ranges, most=most, expected=expected))


def take_void(state: TableState) -> TableState:
    """Note that the table's `t` event is out: the copy has no row until the job under way brings them all.

    So the job can no longer be stopped, and can't fail like a mere request.
    """
    job = state.active
    if job is not None:
        needed = job.also_refresh or job.purpose is Purpose.REQUESTED
        state = state.with_job(replace(job, rows=0, also_refresh=needed))
    return replace(state, gap=False)


def move_cursor(
    state: TableState, job: Job, number: int, upto: Bound | None, rows: int, *, over: bool
) -> TableState:
    """Move a range's cursor to the last released key; a range that is over is left out."""
    ranges = []
    for one in job.ranges:
        if one.number != number:
            ranges.append(one)
        elif not over:
            ranges.append(one if upto is None else replace(one, span=replace(one.span, after=upto)))
    return state.with_job(replace(job, ranges=tuple(ranges), rows=job.rows + rows))


def finish_job(state: TableState) -> TableState:
    """End the job under way if none of its ranges is left."""
    job = state.active
    if job is None or job.key is None or job.ranges:
        return state
    if job.whole:  # it has read what other jobs failed to read
        for other in state.jobs:
            if other.failed is not None:
                state = state.without_job(other.id, Outcome.FAILED)
        state = replace(state, lacks_more=is_overfull(state))
    return state.without_job(job.id, Outcome.SUCCEEDED)


def drop_plans(state: TableState) -> TableState:
    """Drop all plans, because other columns order the rows now: bounds of the old ones mean nothing."""
    error = KEY_CHANGED(table="this table" if state.shape is None else state.shape.id)
    reason = FaultReason(error.code, error.sentence, error.hint)
    for job in state.jobs:
        bounded = job.low is not None or job.high is not None or job.keys
        if job.failed is None:
            state = state.with_job(replace(job.anew(), failed=reason if bounded else None))
    return state
