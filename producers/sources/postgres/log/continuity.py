"""Whether the log continues where we stopped.  Pure.

    saved position + the server's current state  ->  where to begin, or why that is not possible

If a server's slot has passed the requested place, the server silently begins later.  A server that was
restored from a backup, or promoted too early, has another history at the same numbers.  The changes in
between would silently be missing from the copy: so each of these cases is an error here, without a
workaround.  To read the tables again instead, the operator sets `snapshot.mode`.
"""

from dataclasses import dataclass

from wrackline.producers.sources.postgres.log.position import PgHistory, PgPosition, lsn_text
from wrackline.schemas.errors import Definite, WracklineError, define

FIRST_EPOCH = 1
_ANEW = "wrackline offsets reset <pipeline.toml>, and the next start reads all rows"

SLOT_FOREIGN = define(
    "pg.slot_foreign",
    Definite,
    "the stored position belongs to system {ours}, but this server is system {theirs}",
    hint=f"connect to the previous server, or start over: {_ANEW}",
)
TIMELINE_BACK = define(
    "pg.timeline_back",
    Definite,
    "the stored position belongs to timeline {ours}, but this server is on timeline {theirs}: it was"
    " restored from an older backup, or is not the primary",
    hint=f"connect to the primary, which answers false to: SELECT pg_is_in_recovery(); or start"
    f" over: {_ANEW}",
)
TIMELINE_FORKED = define(
    "pg.timeline_forked",
    Definite,
    "this server left timeline {ours} at {left}, but the pipeline had published up to {position}: the copy"
    " already contains changes that the server did not have when it was promoted",
    hint=f"start over: {_ANEW}; and from PostgreSQL 17 on let standbys receive changes first: ALTER SYSTEM"
    " SET synchronized_standby_slots = '<the standbys'' slots>'; SELECT pg_reload_conf()",
)
LOG_BEHIND = define(
    "pg.log_behind",
    Definite,
    "the stored position is {position}, but this server's log ends at {end}: it was restored from an older"
    " copy",
    hint=f"connect to the previous server, or start over: {_ANEW}",
)
SLOT_MISSING = define(
    "pg.slot_missing",
    Definite,
    "replication slot {slot} no longer exists; what was written after {position} can't be read from the log",
    hint=f"create a new slot and read the tables again: {_ANEW}",
)
SLOT_LOST = define(
    "pg.slot_lost",
    Definite,
    "replication slot {slot} was invalidated ({reason}); the log after {position} is lost",
    hint="{fix}; drop it: SELECT pg_drop_replication_slot('{slot}'); then start over:" + f" {_ANEW}",
)
SLOT_AHEAD = define(
    "pg.slot_ahead",
    Definite,
    "replication slot {slot} was confirmed up to {confirmed}, beyond the stored position {position}",
    hint=f"another reader used the slot, or it was dropped and created again: {_ANEW}",
)

LOST = frozenset(  # the log is another log, or lacks later changes
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
_LOST_FIXES = {  # PostgreSQL's invalidation reasons
    "wal_removed": _KEEP_MORE,
    "rows_removed": "set hot_standby_feedback = on, with a slot for the standby",
    "wal_level_insufficient": "set wal_level = logical on the primary again",
    "idle_timeout": "raise idle_replication_slot_timeout",
}


@dataclass(frozen=True, slots=True)
class PgSlot:
    """A replication slot as the server shows it; `lost` is the reason why it was invalidated."""

    confirmed: int | None
    lost: str | None = None


@dataclass(frozen=True, slots=True)
class PgLogState:
    """The server's state: its log, the end of the log, our slot.

    `left` is where this server's history left the saved timeline for a later one; None when it is still on
    that timeline, or never was.
    """

    history: PgHistory
    end: int
    slot: PgSlot | None
    left: int | None = None


def slot_lost(slot: str, reason: str, position: int | None) -> WracklineError:
    """Return the error that a slot was invalidated, with the setting that preserves the next slot."""
    place = "the slot's own place" if position is None else lsn_text(position)
    return SLOT_LOST(slot=slot, reason=reason, position=place, fix=_LOST_FIXES.get(reason, _KEEP_MORE))


def resume_position(name: str, saved: PgPosition | None, found: PgLogState) -> PgPosition | None:
    """Return where to begin, None when the slot must still be made, or raise why we can't continue."""
    slot = found.slot
    if saved is None:
        if slot is None:
            return None
        start = _confirmed_lsn(name, slot, None)
        return PgPosition(FIRST_EPOCH, start, 0, start, found.history)
    epoch = saved.epoch + _same_log(saved, found)
    if slot is None:
        raise SLOT_MISSING(slot=name, position=lsn_text(saved.resume))
    confirmed = _confirmed_lsn(name, slot, saved.resume)
    if confirmed > saved.resume:
        raise SLOT_AHEAD(slot=name, confirmed=lsn_text(confirmed), position=lsn_text(saved.resume))
    return PgPosition(epoch, saved.lsn, saved.done, saved.resume, found.history, saved.committed)


def _same_log(saved: PgPosition, found: PgLogState) -> bool:
    """Raise unless this log contains all up to the saved position; return whether its timeline is later."""
    then, now = saved.history, found.history
    if then is not None and then.system != now.system:
        raise SLOT_FOREIGN(ours=then.system, theirs=now.system)
    if then is not None and then.timeline > now.timeline:
        raise TIMELINE_BACK(ours=then.timeline, theirs=now.timeline)
    later = then is not None and then.timeline < now.timeline
    if then is not None and later and (found.left is None or _needed_lsn(saved) > found.left):
        left = "a place before" if found.left is None else lsn_text(found.left)
        raise TIMELINE_FORKED(ours=then.timeline, left=left, position=lsn_text(saved.lsn))
    if _needed_lsn(saved) > found.end:
        raise LOG_BEHIND(position=lsn_text(saved.lsn), end=lsn_text(found.end))
    return later


def _needed_lsn(saved: PgPosition) -> int:
    """Return up to where the log must be the same; inside a transaction, past the start of its commit."""
    return saved.lsn + (saved.done > 0)


def _confirmed_lsn(name: str, slot: PgSlot, position: int | None) -> int:
    if slot.lost is not None or slot.confirmed is None:
        raise slot_lost(name, slot.lost or "unknown reason", position)
    return slot.confirmed
