"""Cuts a batch into commits: by what Spanner counts as mutations, and by bytes.

    rows          ->  lists of rows, each of which fits into one commit with room to spare
    what is written  ->  as much of it as one commit takes

Spanner counts one mutation for each column that a row writes, and more for indexes that somebody has made on
the table; of what it refuses all the same, a commit takes half.  What a chunk of a history changes of stored
events is known only when they have been read.  Pure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from wrackline.consumers.targets.spanner.rows import ChangedRow, WrittenRow

MOST_MUTATIONS: Final = 80_000  # of one commit
MOST_BYTES: Final = 100 << 20


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How much one commit of ours takes."""

    mutations: int = MOST_MUTATIONS * 9 // 10
    bytes: int = MOST_BYTES // 2  # cells without their frames
    deletes: int = MOST_MUTATIONS // 20  # of rows that a truncate has voided, beside the rows of a chunk
    voids: int = MOST_MUTATIONS // 4  # keys that a truncate of a history ends, looked for at once

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


def fit(written: Iterable[WrittenRow], mutations: int, most_bytes: int) -> tuple[list[WrittenRow], bool]:
    """Return the rows that one commit takes, at least one, and whether they are all."""
    taken, count, size = list[WrittenRow](), 0, 0
    for row in written:
        count += max(1, len(row.columns))
        size += row.bytes
        if taken and (count > mutations or size > most_bytes):
            return taken, False
        taken.append(row)
    return taken, True
