"""The second half of the values of rows that were read: a place in the log comes in, bytes go out.

A row's value is known in two halves (`producers/contract/row_chunks.py`).  Only the origin of a row differs
between sources: its `source` record, and the beginning of its seq.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from wrackline.producers.contract.steps import Position
from wrackline.schemas.events.frame import Frame, no_row


class RowOrigin(Protocol):
    """The origin of rows that are released at a place of the log."""

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return the `source` record, and the beginning of each row's seq.

        Rows that were read at a place of their own contain that place, wherever they are released.
        """
        ...


@dataclass(frozen=True, slots=True)
class RowTail:
    """Makes the second half of a chunk's values; with a head, the whole value of a `t` event."""

    origin: RowOrigin
    op: str = "r"
    head: bytes = b""

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
        """Return the tail of every row that is released at this place."""
        source, prefix = self.origin(released_at, ts_ms=ts_ms, snapshot=snapshot)
        return self.head + Frame(source, prefix, ts_ms=ts_ms, chunk=chunk).tail(self.op)

    def void(self, value_id: int) -> "RowTail":
        """Make a `t` event of the same place; behind the id of its schema it has no image."""
        return replace(self, op="t", head=no_row(value_id))
