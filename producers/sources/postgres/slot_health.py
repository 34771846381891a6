"""The slot and the log seen from outside the task: for metrics, for edits of the offsets, for people.

Nothing here is on the path of a row, and nothing changes the server.  A slot that was never made, and a
position that belongs nowhere yet, are answers and no errors.
"""

from dataclasses import replace

from wrackline.producers.changes import Saved
from wrackline.producers.plugin import LogState
from wrackline.producers.sources.postgres.connect import Connection, history
from wrackline.producers.sources.postgres.continuity import FIRST_EPOCH, Found, Slot, resumed
from wrackline.producers.sources.postgres.position import (
    PgPosition,
    lsn_number,
    lsn_text,
    position_of,
)
from wrackline.producers.sources.postgres.slot import find_slot, log_end
from wrackline.producers.sources.postgres.sqlstates import asking

_SLOT = {"slot"}  # may stand beside it, where it is another than the pipeline's own
_EPOCH_ALONE = {"epoch"}  # a position that says: wherever the log begins, in this epoch
_STATE = """
SELECT coalesce(a.application_name, s.active_pid::text),
       e.lsn - '0/0', e.lsn - s.confirmed_flush_lsn, e.lsn - s.restart_lsn,
       s.safe_wal_size, s.wal_status
FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid,
     LATERAL (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                          ELSE pg_current_wal_lsn() END) e (lsn)
WHERE s.slot_name = %s"""


def log_state(connection: Connection, slot: str) -> LogState | None:
    """Return the slot's figures; None while it is not there."""
    with asking(connection, f"say how replication slot {slot} is"):
        row = connection.execute(_STATE, [slot]).fetchone()
    if row is None:
        return None
    holder, end, behind, retained, spare, status = row
    return LogState(
        f"replication slot {slot}",
        None if holder is None else str(holder),
        _bytes(end) or 0,
        _bytes(behind),
        _bytes(retained),
        _bytes(spare),
        None if status is None else str(status),
        f"SELECT pg_drop_replication_slot('{slot}')",
    )


def place(saved: Saved, slot: str) -> str:
    """Write a position as people read it."""
    epoch = fresh_epoch(saved)
    if epoch is not None:
        return f"wherever the slot begins (epoch {epoch})"
    position = position_of(saved, slot)
    inside = f", {position.done} changes into its transaction" if position.done else ""
    return f"{lsn_text(position.lsn)} (epoch {position.epoch}{inside})"


def resumable(connection: Connection, saved: Saved, slot: str) -> None:
    """Raise what a start would raise that neither makes nor takes the slot."""
    if fresh_epoch(saved) is not None:
        return
    position = position_of(saved, slot)
    row = find_slot(connection, slot)
    then, now = position.history, history(connection, slot)
    if then is not None and then.system == now.system and then.timeline < now.timeline:
        return  # the start reads the timelines' history; a bystander does not
    kept = None
    if row is not None:
        kept = Slot(None if row.confirmed is None else lsn_number(row.confirmed), row.lost)
    resumed(slot, position, Found(now, log_end(connection), kept))


def anew(saved: Saved | None, newest: Saved | None, slot: str) -> Saved:
    """Put a position into an epoch that nothing was published in."""
    epoch = max((_epoch(known, slot) for known in (saved, newest) if known), default=FIRST_EPOCH - 1) + 1
    if saved is None:
        return {"epoch": epoch}
    return replace(position_of(saved, slot), epoch=epoch).saved()


def fresh_epoch(saved: Saved) -> int | None:
    """Return the epoch of a position that is nothing else; None for one that names a place."""
    epoch = saved.get("epoch")
    return epoch if saved.keys() - _SLOT == _EPOCH_ALONE and isinstance(epoch, int) else None


def begins(saved: Saved | None, slot: str) -> PgPosition | None:
    """Return the place to go on from; None where the log itself says where it begins."""
    return None if saved is None or fresh_epoch(saved) is not None else position_of(saved, slot)


def _epoch(saved: Saved, slot: str) -> int:
    fresh = fresh_epoch(saved)
    return position_of(saved, slot).epoch if fresh is None else fresh


def _bytes(value: object) -> int | None:
    return None if value is None else int(str(value))
