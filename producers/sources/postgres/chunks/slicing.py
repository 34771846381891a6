"""Lines of COPY into the slices of a chunk: one call of compiled code for as many lines as are there.

    line, line, line ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

Most lines hold no escape, so their cells are read in place; other lines, and the lines of a table with
rules for its columns, are first made into the log's own tuple.
"""

from collections.abc import Callable, Sequence

import cython

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.rows.unfit_values import SettledRow
from wrackline.producers.sources.postgres.rows.rows import text_cells

if not cython.compiled:
    from wrackline.producers.rows.slices import Slices
    from wrackline.producers.sources.postgres.rows.copy_text import CopyText
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
else:
    from cython.cimports.wrackline.producers.rows.slices import Slices
    from cython.cimports.wrackline.producers.sources.postgres.rows.copy_text import CopyText
    from cython.cimports.wrackline.producers.sources.postgres.rows.rows import PgRowDecoder

_AT_ONCE = cython.declare(cython.longlong, 1_000)  # lines between two looks at the clock


@cython.final
@cython.cclass
class PgSlicing(Slices):
    """Takes the lines of one statement."""

    def __init__(self, decoder: PgRowDecoder, columns: Sequence[str], request: ChunkRequest) -> None:
        """Take the columns as the statement names them."""
        super().__init__(request)
        self.decoder = decoder
        self.text = CopyText(len(columns))
        self.columns = len(columns)
        self.places = [columns.index(name) for name in request.key]

    def fill(self, next_line: Callable[[int], tuple[int, memoryview]]) -> int:
        """Take lines until many were taken (above 0), none is there now (0) or none is left (below 0)."""
        length: cython.Py_ssize_t
        for _ in range(_AT_ONCE):
            length, view = next_line(1)
            if length <= 0:
                return length
            line = bytes(view)
            try:
                row = self.decoder.read_line(line)
                if row is None:
                    row = self.decoder.read(self.text.tuple_of(line))
            except SettledRow as settled:
                self.settle(line, settled)
            else:
                self.add(line, row)
            if self.full:
                break
        return 1

    def bound(self, raw: bytes) -> Bound:
        """Return a line's key as the server writes it."""
        cells = text_cells(self.text.tuple_of(raw), 0, self.columns)
        return tuple(None if (cell := cells[place]) is None else cell.decode() for place in self.places)
