"""Whose a row is that was mined without the start of its transaction.  Pure.

    00050017 000012A4    undo segment and slot, then the sequence
    00050017 FFFFFFFF    the same where the mined range does not hold the transaction's start

A slot has one transaction at a time.  The row is that transaction's only if exactly one with this slot can
have written it; a guess would publish what was rolled back, or lose what was not.
"""

from collections import defaultdict
from typing import Final, TypeAlias

from wrackline.producers.sources.oracle.mining.mined_row import NO_SEQUENCE, MinedRow

TransactionKey: TypeAlias = tuple[int, str]  # container, XID: two pluggable databases may use one XID

_SLOT_DIGITS: Final = 8


def lacks_sequence(xid: str) -> bool:
    """Whether an XID has only undo segment and slot."""
    return xid.endswith(NO_SEQUENCE)


def same_slot(one: MinedRow, other: MinedRow) -> bool:
    """Whether two rows are of transactions with one slot."""
    return _slot(one.container, one.xid) == _slot(other.container, other.xid)


class SlotIndex:
    """The transactions of each slot."""

    def __init__(self) -> None:
        """Begin with none."""
        self._keys: defaultdict[TransactionKey, list[TransactionKey]] = defaultdict(list)

    def add(self, key: TransactionKey) -> None:
        """Add a transaction."""
        self._keys[_slot(*key)].append(key)

    def remove(self, key: TransactionKey) -> None:
        """Remove a transaction."""
        keys = self._keys[_slot(*key)]
        keys.remove(key)
        if not keys:
            del self._keys[_slot(*key)]

    def of(self, row: MinedRow) -> list[TransactionKey]:
        """Return the transactions that have the slot of a row."""
        return self._keys.get(_slot(row.container, row.xid), [])


def _slot(container: int, xid: str) -> TransactionKey:
    return container, xid[:_SLOT_DIGITS]
