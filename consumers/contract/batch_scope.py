"""What a batch of one table means, before any of its rows is read: pure.

In: the outlines of a batch (decode.py) by pair of schemas, and what the table has applied.  Out: what it will
have applied afterwards, and which schemas the batch was written with.  The newest change decides the shape:
a change that comes late, from another partition or after a restart, is older and reshapes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wrackline.consumers.contract.counts import LatestChange
from wrackline.consumers.contract.plan import Applied, NewestChange, TopicPartition


class SchemaPair(NamedTuple):
    """The schema ids that a change was written with; `key_id` is None where the table has no key."""

    key_id: int | None
    value_id: int


@dataclass(frozen=True, slots=True)
class Outline:
    """All that a batch holds of one pair of schemas."""

    pair: SchemaPair
    newest: str  # seq
    floor: str | None  # seq of the newest truncate
    changes: int  # truncates aside
    truncates: int = 0
    unsent: frozenset[str] = frozenset()  # columns that some change lacks, as the source names them
    latest: LatestChange | None = None
    oldest: str = ""  # seq of the oldest change; empty: it is not known


def applied_after(
    before: Applied, topic: str, ends: Mapping[int, int], outlines: Iterable[Outline]
) -> Applied:
    """Return what is applied once the batch is merged."""
    seen = tuple(outlines)
    floor = max((one.floor for one in seen if one.floor is not None), default=None)
    newest = max((one for one in seen if one.changes), key=lambda one: one.newest, default=None)
    written = None if newest is None else NewestChange(newest.newest, *newest.pair)
    offsets = {TopicPartition(topic, partition): end for partition, end in ends.items()}
    return before.then(Applied(offsets, floor, written))


def schema_pairs(upto: Applied, outlines: Iterable[Outline]) -> set[SchemaPair]:
    """Return the pairs of schemas that the batch's rows, and the table's shape, are written with."""
    found = {one.pair for one in outlines if one.changes}
    if upto.newest is not None:
        found.add(SchemaPair(upto.newest.key_id, upto.newest.value_id))
    return found


@dataclass(frozen=True, slots=True)
class BatchRange:
    """What to read of one topic: by partition, from (inclusive) and to (exclusive)."""

    topic: str
    start: Mapping[int, int]
    end: Mapping[int, int]

    @property
    def empty(self) -> bool:
        """Whether there is nothing new."""
        return self.start == self.end

    @property
    def offsets(self) -> int:
        """How many offsets there are, control records among them."""
        return sum(self.end.values()) - sum(self.start.values())

    def up_to(self, ends: Mapping[int, int]) -> "BatchRange":
        """Return its beginning: some partitions end earlier."""
        return BatchRange(self.topic, self.start, {**self.end, **ends})

    def at_most(self, offsets: int) -> "BatchRange":
        """Return its first part, so that a batch has a bound; partitions give in proportion."""
        if self.offsets <= offsets:
            return self
        has = {partition: end - self.start[partition] for partition, end in self.end.items()}
        gives = {partition: -(-have * offsets // self.offsets) for partition, have in has.items()}
        return BatchRange(self.topic, self.start, {p: self.start[p] + give for p, give in gives.items()})
