"""A feed's sequence, as people know it: what a version's place in the order is shown as.

    text     what every target compares (auto_cdc/sequence.py writes it), with a hash behind it
    value    what `__START_AT` and `__END_AT` hold; each target writes the way back from the text as its SQL

A sequence is one value, or a struct, whose fields stand one after the other, each behind whether it is
there.  Pure.
"""

import json
from dataclasses import dataclass
from typing import Any

from wrackline.schemas.types import ColumnType, Kind

PARTS = "\x01"  # what stands between the parts of a text
THERE, ABSENT = "1", "0"  # before a struct's field
ESCAPES = {"\x02": "\x02\x03", "\x01": "\x02\x02", "\x00": "\x02\x01"}  # in this order
BELOW_ALL_LONGS = 2**63  # added to a whole number, so that texts of 20 digits sort as numbers do


@dataclass(frozen=True, slots=True)
class Sequence:
    """The type of a flow's sequence; the one field of a value that is no struct has no name."""

    fields: tuple[tuple[str, ColumnType], ...]

    @property
    def is_struct(self) -> bool:
        """Whether it has fields of its own."""
        return self.fields[0][0] != ""

    def text(self) -> str:
        """Write it, to be kept with a table."""
        return json.dumps([[name, of.kind.value, of.precision, of.scale] for name, of in self.fields])

    @classmethod
    def parse(cls, text: str) -> "Sequence":
        """Read it again."""
        found: list[list[Any]] = json.loads(text)
        return cls(
            tuple((name, ColumnType(Kind(kind), "feed", *digits)) for name, kind, *digits in found),
        )
