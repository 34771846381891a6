"""Whether the log continues where we stopped, and where a first start begins.  Pure.

    first start:   ... T begins ... [current SCN] ... T ends        mining begins with T, and T comes whole

A reader of existing rows sees what was committed up to its SCN, so a transaction that was open at the first
start must come with all of its rows: the oldest of them is where mining begins.
"""

from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.oracle.mining.incarnation import (
    DATABASE_FOREIGN,
    LOGS_RESET,
    Incarnation,
    check_same,
)
from wrackline.producers.sources.oracle.mining.log_files import LOG_MISSING
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at, position_of

FIRST_EPOCH: Final = 1

LOST: Final = frozenset(  # the log is another log, or lacks a part
    one.code for one in (DATABASE_FOREIGN, LOGS_RESET, LOG_MISSING)
)


@dataclass(frozen=True, slots=True)
class OracleLogState:
    """The log as it is now."""

    incarnation: Incarnation
    current_scn: int
    oldest_open: int | None  # where the oldest open transaction began; None: none is open


def fresh_epoch(saved: Saved | None) -> int | None:
    """Return the epoch of a position that begins at the log's end; None: it is a place."""
    if saved is None:
        return FIRST_EPOCH
    return epoch_of(saved) if "done" not in saved else None


def epoch_of(saved: Saved) -> int:
    """Return a position's epoch."""
    epoch = saved.get("epoch")
    return epoch if isinstance(epoch, int) else FIRST_EPOCH


def start_position(saved: Saved | None, found: OracleLogState) -> OraclePosition:
    """Return where to begin, or raise why that is not possible."""
    epoch = fresh_epoch(saved)
    if saved is not None and epoch is None:
        position = position_of(saved)
        check_same(position.incarnation, found.incarnation)
        return position
    scn = found.current_scn
    oldest = min(scn + 1, found.oldest_open or scn + 1)
    return OraclePosition(
        FIRST_EPOCH if epoch is None else epoch,
        last_at(scn),
        oldest=max(oldest, 1),
        seen=scn,
        incarnation=found.incarnation,
        done=last_at(scn),
    )
