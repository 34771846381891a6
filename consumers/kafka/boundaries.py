"""Where a batch of one table may end so that each source transaction is all inside, or not at all: pure.

    partition 0   T1 T1 r  T3 | T4 ...        T4 has not ended, or not all of it can be read yet:
    partition 1   T2 T3 |  T4 ...             the batch ends before it, in every partition

In: a window of the topic, which offsets of it hold events of which transaction, and what is known to have
ended.  Out: its greatest part that ends at a boundary; rows that were read, and events that name no
transaction, belong to none and never block.

A source's transactions are published one after another, in the order of their commits, which is that of seq
(INV-3).  So a transaction is over when its END was read, or the END of a later one.  None of it lies behind
the window of a partition where a later one was seen; or where the window holds all that was there when the
END had been read (`shown`).  The union of two cuts that split no transaction splits none either: there is one
greatest cut, and it is found by leaving out, again and again, what the cut so far would split.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from wrackline.consumers.contract.batch_scope import BatchRange


class TransactionSpan(NamedTuple):
    """All events that one transaction has in one partition of a window."""

    transaction: str
    partition: int
    first: int  # offsets
    last: int
    low: str  # seqs
    high: str
    published_ms: int  # its newest record


def cut(
    window: BatchRange, stretches: Iterable[TransactionSpan], ended: Collection[str], shown: Collection[int]
) -> BatchRange:
    """Return the greatest part of a window that splits no transaction."""
    parts: defaultdict[str, list[TransactionSpan]] = defaultdict(list)
    newest = dict.fromkeys(window.end, "")  # seq of each partition's newest event
    for stretch in stretches:
        parts[stretch.transaction].append(stretch)
        newest[stretch.partition] = max(newest[stretch.partition], stretch.high)
    over = max((part.low for name in ended if name in parts for part in parts[name]), default="")
    hidden = min((seq for at, seq in newest.items() if at not in shown), default=None)
    seen = min((seq for at, seq in newest.items() if at in shown), default=None)

    def whole(name: str) -> bool:
        low, high = min(part.low for part in parts[name]), max(part.high for part in parts[name])
        return (hidden is None or high < hidden) and (low <= over or seen is None or high < seen)

    end = dict(window.end)
    left_out = {name for name in parts if not whole(name)}
    splits = left_out
    while splits:
        for name in splits:
            for part in parts[name]:
                end[part.partition] = min(end[part.partition], part.first)
        splits = {
            name
            for name in parts.keys() - left_out
            if any(part.last >= end[part.partition] for part in parts[name])
        }
        left_out |= splits
    return BatchRange(window.topic, window.start, end)
