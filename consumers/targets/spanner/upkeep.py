"""What keeps a table small: old tombstones go, and pairs that nobody sees.

In: a session, what is kept about the table, and before which moment a delete may be forgotten.  Out: what
went, and how many rows wait for a value.  Events and histories are kept.  Spanner compacts by itself.
"""

from functools import partial
from typing import Final

from google.cloud.spanner_v1 import KeySet
from google.cloud.spanner_v1.transaction import Transaction

from wrackline.consumers.contract.plan import TableMode
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.staged.places import StagedPlace
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.targets.spanner.session import SCAN_S, SpannerSession, full_name
from wrackline.consumers.targets.spanner.texts import incomplete, old_tombstones, pairs
from wrackline.consumers.targets.spanner.types import moment

_ROUNDS: Final = 100  # of an upkeep: each looks at the whole table
_PAIRS: Final = 10_000  # of one round, and of its commit


def upkeep(
    session: SpannerSession, place: StagedPlace, shape: StagedShape, *, forget_before_ms: int
) -> UpkeepResult:
    """Do what there is to do; events of an append table are shown with what they lack."""
    if shape.mode is TableMode.APPEND:
        return UpkeepResult()
    before, removed = moment(forget_before_ms * 1000), dict[UpkeepRemoval, int]()
    if shape.keyless:
        removed[UpkeepRemoval.TOMBSTONES] = 2 * _settle(session, place, shape, before)
    elif shape.mode is TableMode.UPSERT:
        removed[UpkeepRemoval.TOMBSTONES] = session.change(
            old_tombstones(place.table, shape.ours), before=before
        )
    ((waiting,),) = session.ask(incomplete(place.table, shape), within_s=SCAN_S)
    return UpkeepResult(removed, int(waiting))


def _settle(session: SpannerSession, place: StagedPlace, shape: StagedShape, before: str) -> int:
    """Delete pairs of what came and went, both halves together; the rest is for the next upkeep."""
    settled = 0
    for _ in range(_ROUNDS):
        found = session.ask(pairs(place.table, shape, _PAIRS), within_s=SCAN_S, before=before)
        if not found:
            break
        keys = KeySet(keys=[[key] for pair in found for key in pair])
        session.together(partial(_delete, table=full_name(place.table), keys=keys))
        settled += len(found)
    return settled


def _delete(work: Transaction, *, table: str, keys: KeySet) -> None:
    work.delete(table, keys)
