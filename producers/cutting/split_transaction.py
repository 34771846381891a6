"""What is saved of a source transaction that Kafka takes in several parts, beside a position inside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import Field, TypeAdapter

from wrackline.schemas.kafka.offsets_records import Json, canonical_json, read_as
from wrackline.schemas.tables.table import TableId


@dataclass(frozen=True, slots=True)
class _SavedSplit:
    transaction: str
    counts: tuple[tuple[str, str, str, Annotated[int, Field(ge=0)]], ...]
    announced: bool


_KEPT: Final = TypeAdapter(_SavedSplit)


@dataclass(frozen=True, slots=True)
class SplitTransaction:
    """A source transaction of which a part is published: what its END will need."""

    transaction: str
    counts: Mapping[TableId, int]
    announced: bool = True  # its BEGIN is out; False if only messages are out

    def saved(self) -> Json:
        """Render it for the offsets record."""
        counts = [[*table, count] for table, count in self.counts.items()]
        return canonical_json(
            {"transaction": self.transaction, "counts": counts, "announced": self.announced}
        )

    @classmethod
    def parse(cls, saved: Json) -> Self:
        """Read back what `saved` wrote."""
        read = read_as(_KEPT, saved, "a transaction that is published in part")
        counts = {TableId(*names): count for *names, count in read.counts}
        return cls(read.transaction, counts, read.announced)
