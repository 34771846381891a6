"""Values that the newest change of a key did not send, from earlier changes of the same batch: pure.

In: all changes of some keys, by where they are among them, without their values.  Out: for each key and each
column that its newest change lacks, which change has the value, or whether what is stored has it.  It is what
records/dedupe.py does:

    c a=1 b=1 | u a=2 (b unsent)   -> a=2 b=1
    u a=2 (b unsent)               -> a=2, unsent [b]: the stored value stays
    d | c a=3 (b unsent)           -> a=3, missing [b]: what is stored belongs to another row
"""

from collections.abc import Collection, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

_BEGINNINGS: Final = frozenset("crd")


class Lacks(Enum):
    """Where a value is that no change of the batch has."""

    STORED = auto()
    NOWHERE = auto()


class EarlierChange(NamedTuple):
    """One change of a key."""

    seq: str
    lives: bool  # a row that lives is newer than its delete, at one seq
    offset: int
    op: str
    unsent: frozenset[int]  # columns, by the plan's places
    place: int


def find_unsent(changes: Collection[EarlierChange]) -> dict[int, int | Lacks]:
    """Return by column what the newest of a key's changes lacks: the change that has it, or who else may."""
    in_order: Sequence[EarlierChange] = sorted(changes)
    newest = in_order[-1]
    if not newest.lives:
        return {}
    begin = max((one.seq for one in in_order if one.op in _BEGINNINGS), default=None)
    found: dict[int, int | Lacks] = {}
    for column in newest.unsent:
        sent = next((one for one in reversed(in_order) if one.lives and column not in one.unsent), None)
        if sent is not None and (begin is None or sent.seq >= begin):
            found[column] = sent.place
        else:
            found[column] = Lacks.STORED if begin is None else Lacks.NOWHERE
    return found
