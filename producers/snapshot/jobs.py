"""What happens to a table's jobs: one state in, the next one out.

A request that read a whole table and failed is made good by the next one that does; what the worker itself
needs (the first read, a refresh) is never dropped, neither by a stop nor by a request for less.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from wrackline.producers.chunks import Bound
from wrackline.producers.set_aside import Reason
from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.shapes import Need
from wrackline.producers.snapshot.state import Job, Outcome, Range, TableState
from wrackline.producers.snapshot.work import Span
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

MOST_KEYS = 1_000  # in one read

KEY_CHANGED = define(
    "snapshot.key_changed",
    OperatorNeeded,
    "the key of {table} changed while some of its keys were to be read",
    hint="ask again, with the columns that are the key now:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)

NewId = Callable[[], str]


def asked(state: TableState, job: Job, new_id: NewId) -> TableState:
    """Take a request for this table: what had failed is tried again, or is part of it.

    One that makes good what the copy needs can't be stopped either.
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
    return state.with_job(replace(job, also_refresh=job.also_refresh or makes_good))


def reshaped(state: TableState, need: Need, new_id: NewId) -> TableState:
    """Take what a new shape asks for."""
    if need is Need.NOTHING:
        return state
    if need is Need.RESTART:
        state = replace(unplanned(state), missing={})
    whole = [job for job in state.jobs if job.whole and job.failed is None]
    if not whole:
        return state.with_job(Job(new_id(), Purpose.REFRESH))
    for job in whole:
        state = state.with_job(replace(job.anew(), also_refresh=True))
    return state


def unsure(state: TableState, new_id: NewId) -> TableState:
    """Some row is missing that can't be asked for by itself: read all, after what has begun."""
    for job in state.jobs:
        if job.whole and not job.begun and job.failed is None:
            return state if job.needed else state.with_job(replace(job, also_refresh=True))
    return state.with_job(Job(new_id(), Purpose.REFRESH))


def stopped(state: TableState, new_id: NewId) -> TableState:
    """Stop what somebody asked for; what of it the copy needs goes on under a name of the worker's own."""
    for job in state.jobs:
        if job.failed is None and job.purpose is Purpose.REQUESTED:
            state = state.without_job(job.id, Outcome.CANCELLED)
            if job.also_refresh:
                state = state.with_job(replace(job, id=new_id(), purpose=Purpose.REFRESH))
    return state


def gone(state: TableState, left_out: Reason | None) -> TableState:
    """The table is no more, and all that was to be done about it.

    If the stream leaves its name out, it does so for the next table of that name as well: that it is
    set aside must stay known, or nobody would miss what that table's log says (INV-4).  And the copy keeps
    its rows: they are void once the name is another table's.
    """
    for job in state.jobs:
        state = state.without_job(job.id, Outcome.FAILED if job.failed else Outcome.CANCELLED)
    return replace(state, shape=None, missing={}, set_aside=left_out, gap=True)


def set_aside(state: TableState, reason: Reason) -> TableState:
    """The log hands out no more changes of the table, so nothing can be read beside it."""
    for job in state.jobs:
        if job.failed is None:
            state = state.with_job(replace(job, failed=reason))
    return replace(state, set_aside=reason, gap=True)


def failed(state: TableState, job: Job | None, error: WracklineError, new_id: NewId) -> TableState:
    """Give up a job, or with none the reading of missing rows; the table says why."""
    reason = Reason(error.code, error.sentence, error.hint)
    if job is None:
        job = Job(new_id(), Purpose.REFRESH)
    return state.with_job(replace(job, failed=reason))


def planned(
    state: TableState, job: Job, key: Sequence[str], spans: Sequence[Span], expected: int | None = None
) -> TableState:
    """Take a job's key columns and ranges, and how many rows the database guesses."""
    if job.keys:
        spans = [
            Span(only=job.keys[start : start + MOST_KEYS]) for start in range(0, len(job.keys), MOST_KEYS)
        ]
    ranges = tuple(Range(number, span) for number, span in enumerate(spans))
    most = ranges[-1].span.upto if ranges else None
    return state.with_job(replace(job, key=tuple(key), ranges=ranges, most=most, expected=expected))


def voided(state: TableState) -> TableState:
    """Take that the table's `t` event is out: the copy has no row until the job under way brings them all.

    So that can't be stopped any more, nor fail as a mere request does.
    """
    job = state.active
    if job is not None:
        needed = job.also_refresh or job.purpose is Purpose.REQUESTED
        state = state.with_job(replace(job, rows=0, also_refresh=needed))
    return replace(state, gap=False)


def released(
    state: TableState, job: Job, number: int, upto: Bound | None, rows: int, *, over: bool
) -> TableState:
    """Move a range's cursor to the last key released; a range that is over is left out."""
    ranges = []
    for one in job.ranges:
        if one.number != number:
            ranges.append(one)
        elif not over:
            ranges.append(one if upto is None else replace(one, span=replace(one.span, after=upto)))
    return state.with_job(replace(job, ranges=tuple(ranges), rows=job.rows + rows))


def finished(state: TableState) -> TableState:
    """End the job under way if none of its ranges is left."""
    job = state.active
    if job is None or job.key is None or job.ranges:
        return state
    if job.whole:  # it has read what others had failed to read
        for other in state.jobs:
            if other.failed is not None:
                state = state.without_job(other.id, Outcome.FAILED)
    return state.without_job(job.id, Outcome.SUCCEEDED)


def unplanned(state: TableState) -> TableState:
    """Make all plans anew, for the columns that order the rows are others: bounds of theirs mean nothing."""
    error = KEY_CHANGED(table="this table" if state.shape is None else state.shape.id)
    reason = Reason(error.code, error.sentence, error.hint)
    for job in state.jobs:
        bounded = job.low is not None or job.high is not None or job.keys
        if job.failed is None:
            state = state.with_job(replace(job.anew(), failed=reason if bounded else None))
    return state
