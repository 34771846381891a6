"""A feed's sequence, as people know it: how a version's place in the order is shown.

    text     what every target compares (auto_cdc/feed_sequence.py writes it), with a hash behind it
    value    what `__START_AT` and `__END_AT` hold; each target reads it back from the text in its own SQL

A sequence is one value, or a struct, whose fields follow one another, each behind a mark of whether it is
there.  Pure.
"""

import json
from dataclasses import dataclass
from typing import Any

from wrackline.schemas.tables.types import ColumnType, Kind

PARTS = "\x01"  # between the parts of a text
THERE, ABSENT = "1", "0"  # before a struct's field
# in this order; none holds the mark between parts, by which each target splits the text
ESCAPES = {"\x02": "\x02\x04", "\x01": "\x02\x03", "\x00": "\x02\x02"}
BELOW_ALL_LONGS = 2**63  # added to a whole number, so that texts of 20 digits sort as numbers do


@dataclass(frozen=True, slots=True)
class FeedSequence:
    """The type of a flow's sequence; the one field of a value that is not a struct has no name."""

    fields: tuple[tuple[str, ColumnType], ...]

    @property
    def is_struct(self) -> bool:
        """Whether it has fields of its own."""
        return self.fields[0][0] != ""

    def text(self) -> str:
        """Write it, to be kept with a table."""
        return json.dumps([[name, of.kind.value, of.precision, of.scale] for name, of in self.fields])

    @classmethod
    def parse(cls, text: str) -> "FeedSequence":
        """Read it back."""
        found: list[list[Any]] = json.loads(text)
        return cls(
            tuple((name, ColumnType(Kind(kind), "feed", *digits)) for name, kind, *digits in found),
        )
