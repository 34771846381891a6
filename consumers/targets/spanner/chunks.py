"""Cuts a batch into commits: by what Spanner counts as mutations, and by bytes.

    rows  ->  lists of rows, each of which fits into one commit with room to spare

Spanner counts one mutation for each column that a row writes, and more for indexes that somebody has made on
the table; a commit that it refuses all the same is halved.  Pure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from wrackline.consumers.targets.spanner.rows import ChangedRow

MOST_MUTATIONS: Final = 80_000  # of one commit
MOST_BYTES: Final = 100 << 20


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How much one commit of ours takes."""

    mutations: int = MOST_MUTATIONS * 9 // 10
    bytes: int = MOST_BYTES // 2  # cells without their frames
    deletes: int = MOST_MUTATIONS // 20  # of rows that a truncate has voided, beside the rows of a chunk
    voids: int = MOST_MUTATIONS // 4  # the same, of a commit without rows

    def rows(self, mutations: int) -> int:
        """Return how many rows of so many mutations a commit takes."""
        return max(1, self.mutations // mutations)


def cut(
    rows: Iterable[ChangedRow], mutations: int, limits: ChunkLimits
) -> Iterator[tuple[list[ChangedRow], bool]]:
    """Yield the chunks, each with whether it is the last; a batch without rows is one empty chunk."""
    most, chunk, size = limits.rows(mutations), list[ChangedRow](), 0
    for row in rows:
        if chunk and (len(chunk) >= most or size + row.bytes > limits.bytes):
            yield chunk, False
            chunk, size = [], 0
        chunk.append(row)
        size += row.bytes
    yield chunk, True
