"""Whether the log goes on where we stopped.  Pure.

    saved position + what the server has now  ->  where to begin, or why that can't be

A server asked for a place that its slot has passed begins later and says nothing; one that was
restored from a backup, or promoted too early, has another history at the same numbers.  What was
written in between would be missing from the copy, and nobody would know: so each of these is an
error here, and none is worked around.  Who wants the tables read again instead says so in `snapshot.mode`.
"""

from dataclasses import dataclass

from wrackline.producers.sources.postgres.position import History, PgPosition, lsn_text
from wrackline.schemas.errors import Definite, WracklineError, define

FIRST_EPOCH = 1
_ANEW = "wrackline offsets reset <pipeline.toml>, and the next start reads all rows"

SLOT_FOREIGN = define(
    "pg.slot_foreign",
    Definite,
    "our position belongs to system {ours}, this server is system {theirs}",
    hint=f"connect to the server of before, or begin anew: {_ANEW}",
)
TIMELINE_BACK = define(
    "pg.timeline_back",
    Definite,
    "our position belongs to timeline {ours}, this server is on timeline {theirs}: it was restored from an"
    " older backup, or is not the primary",
    hint=f"connect to the primary, which says false to: SELECT pg_is_in_recovery(); or begin anew: {_ANEW}",
)
TIMELINE_FORKED = define(
    "pg.timeline_forked",
    Definite,
    "this server left timeline {ours} at {left}, and we had published up to {position}: what it did not have"
    " when it was promoted is in the copy already",
    hint=f"begin anew: {_ANEW}; and from PostgreSQL 17 on let standbys go first:"
    " ALTER SYSTEM SET synchronized_standby_slots = '<the standbys'' slots>'; SELECT pg_reload_conf()",
)
LOG_BEHIND = define(
    "pg.log_behind",
    Definite,
    "our position is {position}, this server's log ends at {end}: it was restored from an older copy",
    hint=f"connect to the server of before, or begin anew: {_ANEW}",
)
SLOT_MISSING = define(
    "pg.slot_missing",
    Definite,
    "replication slot {slot} is gone; what was written after {position} can't be read from the log",
    hint=f"make a new slot and read the tables again: {_ANEW}",
)
SLOT_LOST = define(
    "pg.slot_lost",
    Definite,
    "replication slot {slot} was invalidated ({reason}); the log after {position} is gone",
    hint="{mend}; drop it: SELECT pg_drop_replication_slot('{slot}'); then begin anew:" + f" {_ANEW}",
)
SLOT_AHEAD = define(
    "pg.slot_ahead",
    Definite,
    "replication slot {slot} was confirmed up to {confirmed}, beyond our position {position}",
    hint=f"somebody else read from it, or it was made anew: {_ANEW}",
)

LOST = frozenset(  # the log is not the one that we read, or lacks what was written since
    one.code
    for one in (
        SLOT_FOREIGN,
        TIMELINE_BACK,
        TIMELINE_FORKED,
        LOG_BEHIND,
        SLOT_MISSING,
        SLOT_LOST,
        SLOT_AHEAD,
    )
)

_KEEP_MORE = "raise max_slot_wal_keep_size"
_LOST_MENDS = {  # PostgreSQL's invalidation reasons
    "wal_removed": _KEEP_MORE,
    "rows_removed": "set hot_standby_feedback = on, with a slot for the standby",
    "wal_level_insufficient": "set wal_level = logical on the primary again",
    "idle_timeout": "raise idle_replication_slot_timeout",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot as the server shows it; `lost` is the reason why it was invalidated."""

    confirmed: int | None
    lost: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What the server has: its log, where that ends, our slot.

    `left` is where this server's history went on from the saved timeline to a later one; None when it
    is on that timeline still, or never was.
    """

    history: History
    end: int
    slot: Slot | None
    left: int | None = None


def slot_lost(slot: str, reason: str, position: int | None) -> WracklineError:
    """Say that a slot was invalidated, and what keeps the next one."""
    place = "the slot's own place" if position is None else lsn_text(position)
    return SLOT_LOST(slot=slot, reason=reason, position=place, mend=_LOST_MENDS.get(reason, _KEEP_MORE))


def resumed(name: str, saved: PgPosition | None, found: Found) -> PgPosition | None:
    """Return where to begin, None when the slot is still to be made, or raise why we can't go on."""
    slot = found.slot
    if saved is None:
        if slot is None:
            return None
        start = _confirmed(name, slot, None)
        return PgPosition(FIRST_EPOCH, start, 0, start, found.history)
    epoch = saved.epoch + _same_log(saved, found)
    if slot is None:
        raise SLOT_MISSING(slot=name, position=lsn_text(saved.resume))
    confirmed = _confirmed(name, slot, saved.resume)
    if confirmed > saved.resume:
        raise SLOT_AHEAD(slot=name, confirmed=lsn_text(confirmed), position=lsn_text(saved.resume))
    return PgPosition(epoch, saved.lsn, saved.done, saved.resume, found.history)


def _same_log(saved: PgPosition, found: Found) -> bool:
    """Raise unless this log holds all up to the saved position; True when it is a later timeline's."""
    then, now = saved.history, found.history
    if then is not None and then.system != now.system:
        raise SLOT_FOREIGN(ours=then.system, theirs=now.system)
    if then is not None and then.timeline > now.timeline:
        raise TIMELINE_BACK(ours=then.timeline, theirs=now.timeline)
    later = then is not None and then.timeline < now.timeline
    if then is not None and later and (found.left is None or _needed(saved) > found.left):
        left = "a place before" if found.left is None else lsn_text(found.left)
        raise TIMELINE_FORKED(ours=then.timeline, left=left, position=lsn_text(saved.lsn))
    if _needed(saved) > found.end:
        raise LOG_BEHIND(position=lsn_text(saved.lsn), end=lsn_text(found.end))
    return later


def _needed(saved: PgPosition) -> int:
    """Up to where the log must be the one that we read; inside a transaction, past its commit's start."""
    return saved.lsn + (saved.done > 0)


def _confirmed(name: str, slot: Slot, position: int | None) -> int:
    if slot.lost is not None or slot.confirmed is None:
        raise slot_lost(name, slot.lost or "unknown reason", position)
    return slot.confirmed
