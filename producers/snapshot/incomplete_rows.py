"""Rows that the log did not send whole: one state of a table in, the next one out.

The log contains such a row in part, and no older event has the rest.  Its key is remembered, and the row is
read by itself; where its key is not known, or too many rows are missing, all rows are read.

A dead letter is a row that the copy lacks.  Nothing reads it again, because it does not fit; but its key is
remembered: once the log sends a part of it, the row is missing.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from wrackline.producers.contract.row_chunks import Bound, Halves
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.table_state import MissingRow, TableState
from wrackline.producers.snapshot.window import Window


def remember_row(
    state: TableState, key: bytes, bound: Bound | None, number: int, new_id: jobs.NewId
) -> TableState:
    """Remember a row; `bound` is its key as the server writes it, None where that is not known."""
    if bound is None or len(state.missing) >= jobs.MOST_KEYS:
        missing = state.missing if bound is None else {}
        return jobs.read_all_again(replace(state, missing=missing), new_id)
    return replace(state, missing={**state.missing, key: MissingRow(bound, number)})


def reads_everything(state: TableState) -> bool:
    """Whether all rows will be read anyway, so that no row has to be remembered."""
    return any(job.whole and job.needed and not job.begun and not job.failed for job in state.jobs)


def lacks(state: TableState, key: bytes) -> bool:
    """Whether the copy may have an older row of this key, or none, because the newer one is a letter."""
    return state.lacks_more or key in state.lacking


def remember_letters(state: TableState, letters: Collection[bytes]) -> TableState:
    """Remember that these rows are letters; of too many, only as many as fit into the state."""
    new = [key for key in letters if key not in state.lacking]
    room = jobs.MOST_KEYS - len(state.lacking)
    lacking = state.lacking.union(new[:room]) if new else state.lacking
    return replace(state, lacking=lacking, lacks_more=state.lacks_more or len(new) > room)


def forget_letters(state: TableState, keys: Collection[bytes | None]) -> TableState:
    """Forget the letters of these keys: the log or a read has their rows whole, or says that they are gone.

    If there were too many letters, the keys stay: the full set shows that at the end of the next whole read.
    """
    if jobs.is_overfull(state) or state.lacking.isdisjoint(keys):
        return state
    return replace(state, lacking=state.lacking.difference(keys))


def complete_row(state: TableState, key: bytes) -> TableState:
    """Note that the log has this row whole, or its end: no older part of it is to be read."""
    return forget_letters(completed(state, (key,)), (key,))


def complete_read_rows(state: TableState, rows: Halves) -> TableState:
    """Note that these rows were read and go out; letters among them are found, but the copy lacks them."""
    return forget_letters(completed(state, rows.keys), {key for key, _ in rows.rows})


def completed(state: TableState, keys: Collection[bytes | None]) -> TableState:
    """Note that the rows of these keys are known whole, or gone."""
    if state.missing.keys().isdisjoint(keys):
        return state
    return replace(state, missing={key: one for key, one in state.missing.items() if key not in keys})


def rows_to_read(state: TableState, windows: Collection[Window]) -> dict[bytes, MissingRow]:
    """Return missing rows that no window will bring; none while the table is failed."""
    if state.reason is not None:
        return {}
    if any(window.job is None and not window.arrived for window in windows):
        return {}
    found = [
        (key, one)
        for key, one in state.missing.items()
        if not any(window.holds(key) or window.missing.get(key) == one for window in windows)
    ]
    return dict(found[: jobs.MOST_KEYS])


def not_found(state: TableState, asked: Mapping[bytes, MissingRow], new_id: jobs.NewId) -> TableState:
    """Read all rows if a SELECT did not find a missing row under its key: the key is then not known."""
    lost = [key for key, one in asked.items() if state.missing.get(key) == one]
    return jobs.read_all_again(completed(state, lost), new_id) if lost else state
