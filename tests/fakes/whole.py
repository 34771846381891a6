"""The fake's one read of all rows, as the log had them at one place, whatever a SELECT sees."""

from collections.abc import Callable, Sequence

from tests.fakes.database import Database
from tests.fakes.place import Place
from tests.fakes.wire import TableWriter
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark, Piece, Slice, TailOf
from wrackline.producers.contract.steps import Position
from wrackline.testing.sources.source_world import Values

MarkAt = Callable[[str, int], Mark]
TailsOf = Callable[[TableWriter, str, bytes], TailOf]


class FakeWhole:
    """Begins at the end of the log, at a place that no other read has."""

    def __init__(self, database: Database, writer: TableWriter, tail: TailsOf, mark: MarkAt) -> None:
        database.commit()
        self._shape, self._writer, self._tail = database.shape, writer, tail
        self._rows: Sequence[Values] = tuple(database.logged())
        self._place, self._mark = Place(0, database.end), mark("c", database.end)
        self._out = 0

    def next(self, request: ChunkRequest) -> Chunk:
        rows = self._rows[self._out : self._out + request.most_rows]
        held = [(self._writer.key(one), self._writer.head(None, one)) for one in rows]
        slices = tuple(
            Slice(held[at : at + request.slice_rows], (), 1) for at in range(0, len(held), request.slice_rows)
        )
        piece = Piece(self._out, self._as_of("t", self._writer.head(None, None)))
        self._out += len(rows)
        complete = self._out == len(self._rows)
        return Chunk(self._shape, slices, complete, self._as_of("r", b""), self._mark, piece)

    def give_up(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is open."""

    def _as_of(self, op: str, head: bytes) -> TailOf:
        made = self._tail(self._writer, op, head)

        def tail(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
            del released_at
            return made(self._place, ts_ms=ts_ms, snapshot=snapshot, chunk=chunk)

        return tail
