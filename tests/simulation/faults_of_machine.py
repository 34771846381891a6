"""Faults of the machine itself: a piece of it replaced."""

from collections.abc import Sequence
from dataclasses import replace

from tests.simulation.planting import more, replaced
from wrackline.producers.contract.row_chunks import Bound, Mark
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Commit
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.gate import Gate
from wrackline.producers.snapshot.shape_changes import RefreshNeed
from wrackline.producers.snapshot.snapshot_table import SnapshotTable
from wrackline.producers.snapshot.table_state import Job, Outcome, TableDeparture, TableState
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.splice import Pieces
from wrackline.schemas.tables.table import TableSchema

seen = Gate.seen
settle, patch, truncate = Window.settle, Window.patch, Window.truncate
shaped = SnapshotTable.shaped


def settles_late(window: Window, key: bytes | None) -> None:
    """Events that come before the chunk does are forgotten."""
    if window.arrived:
        settle(window, key)


def patches_late(window: Window, key: bytes, pieces: Pieces, shape: TableSchema) -> None:
    """Partial events that come before the chunk does are forgotten."""
    if window.arrived:
        patch(window, key, pieces, shape)


def patches_once(window: Window, key: bytes, pieces: Pieces, shape: TableSchema) -> None:
    """A second partial event forgets what the first one said."""
    if not window.arrived and window._fates.get(key):
        window._fates[key] = pieces
    else:
        patch(window, key, pieces, shape)


def patches_the_settled(window: Window, key: bytes, pieces: Pieces, shape: TableSchema) -> None:
    """A partial event brings back a row that a full image had taken out."""
    if not window.arrived and window._fates.get(key, {}) is None:
        del window._fates[key]
    patch(window, key, pieces, shape)


def leaves_by_the_new_key(window: Window, key: bytes) -> None:
    """A row that has moved is no longer struck by the key under which it was found."""
    held = window._rows()
    found = window._found_keys.pop(key, key)
    if window._moved.get(found, found) == key:
        window._moved.pop(found, None)
        held.pop(found, None)


def moves_nothing(window: Window, old: bytes, new: bytes, pieces: Pieces, shape: TableSchema) -> None:
    """A partial event that changed the key leaves the window as it is."""


def truncates_late(window: Window) -> None:
    """A truncate that comes before the chunk does is forgotten."""
    if window.arrived:
        truncate(window)


def sees_all(gate: Gate, given: Sequence[Commit], hidden: Sequence[Commit] = ()) -> None:
    """One reader that is back has seen all that was streamed, also what came after its start."""
    del given
    gate._streamed.clear()
    gate._hidden = {commit.transaction: commit for commit in hidden}


def sees_the_hidden(gate: Gate, given: Sequence[Commit], hidden: Sequence[Commit] = ()) -> None:
    """Whoever only looked has seen all that it looked for."""
    del hidden
    seen(gate, given)


def passes_never_early(gate: Gate, mark: Mark) -> bool:
    """A mark that came back before its reader did is not remembered."""
    del gate, mark
    return False


def misses_nothing(table: SnapshotTable, key: bytes, shape: TableSchema) -> None:
    """A row of which the log has only a part is not read."""


def fails_never(table: SnapshotTable, job: str | None, error: WracklineError, now: float) -> None:
    """An error ends the job as if its rows had been read."""
    del error, now
    found = next((one for one in table.state.jobs if one.id == job), None)
    if found is not None:
        table.change(jobs.finish_job(jobs.take_plan(table.state, found, ("id",), ())))


def needs_nothing(*_: object, **__: object) -> RefreshNeed:
    """No schema change alters stored values."""
    return RefreshNeed.NOTHING


def keeps_windows(
    table: SnapshotTable, shape: TableSchema | None, filled: frozenset[int], *, refresh: bool
) -> None:
    """A schema change leaves the windows as they are."""
    kept, plan = dict(table.windows), table.plan
    shaped(table, shape, filled, refresh=refresh)
    table.windows, table.plan = kept, plan


def moves_no_cursor(
    state: TableState, job: Job, number: int, upto: object, rows: int, *, over: bool
) -> TableState:
    """A slice goes out and the range's cursor stays."""
    del upto
    return released(state, job, number, None, rows, over=over)


def finishes_early(
    state: TableState, job: Job, number: int, upto: Bound | None, rows: int, *, over: bool
) -> TableState:
    """A range is over with its first slice."""
    del over
    return released(state, job, number, upto, rows, over=True)


def forgets_too_much(window: Window, key: bytes, pieces: Pieces | None) -> None:
    """A window that would remember too many keys forgets them and continues."""
    remember(window, key, pieces)
    if window.stale:
        window._fates.clear()
        window._fate_bytes, window.stage = 0, WindowStage.READING


def gone_for_good(state: TableState, left_out: FaultReason | None, departure: TableDeparture) -> TableState:
    """A table that goes is not set aside any more, while the stream leaves its name out."""
    del left_out
    return gone(state, None, departure)


def stops_all(state: TableState, new_id: jobs.NewId) -> TableState:
    """A stop ends the table's first read."""
    for job in state.jobs:
        if job.purpose is Purpose.INITIAL and job.failed is None:
            state = state.without_job(job.id, Outcome.CANCELLED)
    return stopped(state, new_id)


def asks_for_less(state: TableState, job: Job, new_id: jobs.NewId) -> TableState:
    """A request that makes a failed first read good may be stopped."""
    return asked(state, job, new_id).with_job(job)


def closes_the_gap(state: TableState, left_out: FaultReason | None, departure: TableDeparture) -> TableState:
    """A table that goes takes with it that its log has a gap."""
    return replace(gone(state, left_out, departure), gap=False)


def knows_nothing(state: TableState, request_id: str) -> bool:
    """A request's id is not remembered."""
    del state, request_id
    return False


released, gone, stopped, asked = jobs.move_cursor, jobs.drop_jobs, jobs.stop_requests, jobs.add_request
remember = Window._remember

replaced("events_before_the_chunk_forgotten", Window, "settle", settles_late)
replaced("patches_before_the_chunk_forgotten", Window, "patch", patches_late, more(partial=0.7))
replaced("second_patch_forgets_the_first", Window, "patch", patches_once, more(partial=0.8))
replaced("patch_brings_back_the_settled", Window, "patch", patches_the_settled, more(partial=0.5))
replaced("found_key_forgotten", Window, "_leave", leaves_by_the_new_key, more(partial=0.9, key_change=0.5))
replaced("moved_row_ignored", Window, "move", moves_nothing, more(partial=0.7, key_change=0.4))
replaced("truncate_before_the_chunk_forgotten", Window, "truncate", truncates_late, more(truncate=0.06))
replaced("gate_thinks_all_was_seen", Gate, "seen", sees_all, more(hidden=0.7, shown=0.05))
replaced(
    "look_lets_the_hidden_go",
    Gate,
    "seen",
    sees_the_hidden,
    more(hidden=0.7, shown=0.05, look_at=1, fails=0.05),
)
replaced("early_mark_forgotten", Gate, "passed", passes_never_early)
replaced("error_counts_as_read", SnapshotTable, "fail", fails_never, more(fails=0.05))
replaced("windows_kept_over_a_change", SnapshotTable, "shaped", keeps_windows, more(alter=0.06))
replaced("cursor_stays", jobs, "released", moves_no_cursor, more(crashes=0.03))
replaced("range_over_with_a_slice", jobs, "released", finishes_early)
replaced("request_not_remembered", TableState, "knows", knows_nothing, more(orders=0.08))
replaced("window_forgets_too_much", Window, "_remember", forgets_too_much, more(most_bytes=2_000))
replaced("gone_forgets_that_it_is_set_aside", jobs, "gone", gone_for_good, more(spoil=0.05, crashes=0.03))
replaced("first_read_stopped", jobs, "stopped", stops_all, more(orders=0.08))
replaced("first_read_given_up", Job, "needed", property(lambda _: False), more(fails=0.3, most_tries=2))
replaced("what_makes_good_stopped", jobs, "asked", asks_for_less, more(spoil=0.05, orders=0.1))
replaced(
    "gap_without_truncate",
    SnapshotTable,
    "voids",
    lambda *_: False,
    more(spoil=0.05, losses=0.02, delete=0.4),
)
replaced("whole_read_without_truncate", Window, "void", lambda *_: None, more(bag=True, tables=3))
replaced(
    "read_goes_on_behind_a_lost_piece",
    SnapshotTable,
    "_drop_read",
    lambda _: None,
    more(bag=True, tables=3, fails=0.1),
)
replaced("gap_forgotten", jobs, "gone", closes_the_gap, more(spoil=0.05, delete=0.4))
replaced("partial_create_not_read", SnapshotTable, "_miss", misses_nothing, more(partial=0.7, key_change=0.4))
