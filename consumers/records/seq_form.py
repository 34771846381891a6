"""The form of a seq: one that no source of ours writes is not believed, whatever it sorts behind.

In: the seq of an event, the width of its source's positions as the value's schema says it, and the greatest
seq that the table has.  Out: whether it is `epoch | position | class | ordinal` (schemas/tables/seq.py) and
its epoch is near the table's.  A schema of an older worker contains no width; there a seq is as wide as the
table's.
"""

import re
from dataclasses import dataclass

from pyspark.sql import Column

from wrackline.schemas.tables.seq import EPOCH_MAX

_HEX = "[0-9a-f]"
_EPOCH_DIGITS = 4
_EPOCHS = 1024  # a history is cut by hand or by a failover: not so often between two batches


@dataclass(frozen=True, slots=True)
class SeqForm:
    """The form that the seqs of one writer have."""

    pattern: re.Pattern[str]
    below: str | None  # no seq of this or a later epoch is believed

    @classmethod
    def of(cls, position_bytes: int | None, known: str | None) -> "SeqForm":
        """Take the width of the writer's positions, if it is known, and the table's greatest seq."""
        form = re.compile(_pattern(position_bytes))
        known = known if known and form.fullmatch(known) else None  # a believed one may be malformed
        if position_bytes is None and known:
            form = re.compile(f"{_HEX}{{{len(known)}}}")
        epoch = EPOCH_MAX if known is None else int(known[:_EPOCH_DIGITS], 16) + _EPOCHS
        return cls(form, None if epoch >= EPOCH_MAX else f"{epoch:0{_EPOCH_DIGITS}x}")

    def fits(self, seq: str) -> bool:
        """Whether a source of ours may have written it."""
        return self.pattern.fullmatch(seq) is not None and (self.below is None or seq < self.below)


def is_well_formed(seq: Column, position_bytes: int | None, known: str | None) -> Column:
    """Whether a source of ours may have written it."""
    form = SeqForm.of(position_bytes, known)
    sound = seq.rlike(f"\\A{form.pattern.pattern}\\z")
    return sound if form.below is None else sound & (seq < form.below)


def _pattern(position_bytes: int | None) -> str:
    if position_bytes is None:
        return f"{_HEX}{{{_EPOCH_DIGITS},}}"
    return f"{_HEX}{{{_EPOCH_DIGITS + 2 * position_bytes}}}(00|ff){_HEX}{{8}}"
