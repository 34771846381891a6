"""Lines of COPY into the slices of a chunk: one call of compiled code for as many lines as are there.

    line, line, line ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

Most lines hold no escape, so their cells are told where they lie; the others, and those of a table with
rules for its columns, are made the log's own tuple first.
"""

from collections.abc import Callable, Sequence

import cython

from wrackline.producers.chunks import Bound, ChunkRequest, ChunkRow, Slice
from wrackline.producers.sources.postgres.rows import text_cells

if not cython.compiled:
    from wrackline.producers.sources.postgres.copy_text import CopyText
    from wrackline.producers.sources.postgres.rows import RowDecoder
else:
    from cython.cimports.wrackline.producers.sources.postgres.copy_text import CopyText
    from cython.cimports.wrackline.producers.sources.postgres.rows import RowDecoder

_AT_ONCE = cython.declare(cython.longlong, 1_000)  # lines between two looks at the clock


@cython.final
@cython.cclass
class Slicing:
    """Takes the lines of one statement."""

    def __init__(self, decoder: RowDecoder, columns: Sequence[str], request: ChunkRequest) -> None:
        """Take the columns as the statement names them."""
        self.decoder = decoder
        self.text = CopyText(len(columns))
        self.columns = len(columns)
        self.places = [columns.index(name) for name in request.key]
        self.slice_rows, self.slice_bytes = request.slice_rows, request.slice_bytes
        self.most_bytes = request.most_bytes
        self.slices: list[Slice] = []
        self.rows: list[ChunkRow] = []
        self.line = b""
        self.count = self.size = self.total = 0
        self.full = False

    def fill(self, next_line: Callable[[int], tuple[int, memoryview]]) -> int:
        """Take lines until many were taken (above 0), none is there now (0) or none is left (below)."""
        for _ in range(_AT_ONCE):
            length, line = next_line(1)
            if length <= 0:
                return length
            self._take(bytes(line))
            if self.full:
                break
        return 1

    def end(self) -> tuple[Slice, ...]:
        """Return all slices, the last one too."""
        self._cut()
        return tuple(self.slices)

    @cython.cfunc
    def _take(self, line: bytes) -> None:
        row = self.decoder.read_line(line)
        if row is None:
            row = self.decoder.read(self.text.tuple_of(line))
        key: bytes | None = row[0]
        head: bytes = row[1]
        self.line = line
        self.rows.append(row)
        self.count += 1
        self.size += len(head)
        if key is not None:
            self.size += len(key)
        self.full = self.total + self.size >= self.most_bytes
        if self.full or len(self.rows) >= self.slice_rows or self.size >= self.slice_bytes:
            self._cut()

    def _cut(self) -> None:
        if self.rows:
            self.slices.append(Slice(self.rows, self._bound(), self.size))
            self.total += self.size
            self.rows, self.size = [], 0

    def _bound(self) -> Bound:
        """The last row's key as the server writes it."""
        cells = text_cells(self.text.tuple_of(self.line), 0, self.columns)
        return tuple(None if (cell := cells[place]) is None else cell.decode() for place in self.places)
