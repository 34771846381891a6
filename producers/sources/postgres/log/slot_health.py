"""The slot and the log seen from outside the task: used by metrics, edits of the offsets, and operators.

Nothing here is on the path of a row, and nothing changes the server.  A slot that was never made, and a
position without a place yet, are answers, not errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.server_errors import translate_errors
from wrackline.producers.sources.postgres.log.continuity import (
    FIRST_EPOCH,
    PgLogState,
    PgSlot,
    resume_position,
)
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number, lsn_text, position_of
from wrackline.producers.sources.postgres.log.slot import find_slot, log_end, log_history
from wrackline.schemas.untrusted import is_number

_SLOT = ("slot", "system")  # beside it, if the position before it named this slot
_NAMED = 3  # slots in an error
_EPOCH_ALONE = {"epoch"}  # a position that says: where the log begins, in this epoch
_STATE = """
SELECT s.slot_name::text, coalesce(nullif(a.application_name, ''), 'somebody') || ' on '
       || coalesce(host(a.client_addr), 'the server itself') || ' (server process ' || s.active_pid || ')',
       e.lsn - '0/0', e.lsn - s.confirmed_flush_lsn, e.lsn - s.restart_lsn,
       s.safe_wal_size, s.wal_status
FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid,
     LATERAL (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                          ELSE pg_current_wal_lsn() END) e (lsn)
WHERE s.slot_name = ANY (%s)"""


def log_state(connection: Connection, slot: str) -> LogState | None:
    """Return the slot's figures; None while it does not exist."""
    return log_states(connection, [slot]).get(slot)


def log_states(connection: Connection, slots: Sequence[str]) -> Mapping[str, LogState]:
    """Return the figures of those of these slots that exist."""
    with translate_errors(connection, f"describe replication slot {', '.join(slots[:_NAMED])}"):
        rows = connection.execute(_STATE, [list(slots)]).fetchall()
    return {str(slot): _state_of(str(slot), *figures) for slot, *figures in rows}


def _state_of(
    slot: str, holder: object, end: object, behind: object, retained: object, spare: object, status: object
) -> LogState:
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
    """Write a position in a readable form."""
    epoch = fresh_epoch(saved)
    if epoch is not None:
        return f"the slot's own position (epoch {epoch})"
    position = position_of(saved, slot)
    inside = f", {position.done} changes into its transaction" if position.done else ""
    return f"{lsn_text(position.lsn)} (epoch {position.epoch}{inside})"


def resumable(connection: Connection, saved: Saved, slot: str) -> None:
    """Raise the error of a start that neither makes nor takes the slot."""
    if fresh_epoch(saved) is not None:
        return
    position = position_of(saved, slot)
    row = find_slot(connection, slot)
    then, now = position.history, log_history(connection, slot)
    if then is not None and then.system == now.system and then.timeline < now.timeline:
        return  # only the start reads the timelines' history
    kept = None
    if row is not None:
        kept = PgSlot(None if row.confirmed is None else lsn_number(row.confirmed), row.lost)
    resume_position(slot, position, PgLogState(now, log_end(connection), kept))


def anew(saved: Saved | None, newest: Saved | None, slot: str) -> Saved:
    """Put a position into an epoch in which nothing was published."""
    epoch = max((_epoch(known, slot) for known in (saved, newest) if known), default=FIRST_EPOCH - 1) + 1
    if saved is None:
        # a slot that no position has named is not shown to be the pipeline's own
        named = newest if newest is not None and newest.get("slot") == slot else {}
        return {"epoch": epoch, **{name: named[name] for name in _SLOT if name in named}}
    return replace(position_of(saved, slot), epoch=epoch).saved()


def fresh_epoch(saved: Saved) -> int | None:
    """Return the epoch of a position that has nothing else; None for a position that names a place."""
    epoch = saved.get("epoch")
    return epoch if saved.keys() - {*_SLOT} == _EPOCH_ALONE and is_number(epoch) else None


def begins(saved: Saved | None, slot: str) -> PgPosition | None:
    """Return the place to continue from; None where the log itself says where it begins."""
    return None if saved is None or fresh_epoch(saved) is not None else position_of(saved, slot)


def _epoch(saved: Saved, slot: str) -> int:
    fresh = fresh_epoch(saved)
    return position_of(saved, slot).epoch if fresh is None else fresh


def _bytes(value: object) -> int | None:
    return None if value is None else int(str(value))
