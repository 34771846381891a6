"""Rows whose whole the log did not send: one state of a table in, the next one out.

The log told of such a row in part, and no older event has the rest.  Its key is remembered, and the row is
read by itself; where its key can't be told, or too many are missing, all rows are read.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from wrackline.producers.chunks import Bound
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.state import Missing, TableState


def missed(state: TableState, key: bytes, bound: Bound | None, number: int, new_id: jobs.NewId) -> TableState:
    """Remember a row; `bound` is its key as the server writes it, None where that can't be told."""
    if bound is None or len(state.missing) >= jobs.MOST_KEYS:
        missing = state.missing if bound is None else {}
        return jobs.unsure(replace(state, missing=missing), new_id)
    return replace(state, missing={**state.missing, key: Missing(bound, number)})


def all_to_be_read(state: TableState) -> bool:
    """Whether all rows are going to be read anyway, so that none need be remembered."""
    return any(job.whole and job.needed and not job.begun and not job.failed for job in state.jobs)


def told(state: TableState, keys: Collection[bytes | None]) -> TableState:
    """The rows of these keys are known whole, or gone."""
    if not state.missing or state.missing.keys().isdisjoint(keys):
        return state
    return replace(state, missing={key: one for key, one in state.missing.items() if key not in keys})


def unfound(state: TableState, asked: Mapping[bytes, Missing], new_id: jobs.NewId) -> TableState:
    """A missing row that no SELECT finds under its key: its key can't be told, so all rows are read."""
    lost = [key for key, one in asked.items() if state.missing.get(key) == one]
    return jobs.unsure(told(state, lost), new_id) if lost else state
