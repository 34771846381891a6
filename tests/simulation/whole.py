"""The model's one read of a table without a key: its rows as the log has them at one place, in pieces."""

from typing import cast

from tests.fakes.place import Place
from tests.fakes.source import FenceMark
from tests.simulation.database import Database, Table
from tests.simulation.shapes import Row
from tests.simulation.stream import read_tail, void_tail
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Piece, Slice, TailOf
from wrackline.producers.contract.steps import Position
from wrackline.producers.snapshot.work_items import Ticket


class WholeRead:
    """Begun at the end of the log; what is hidden from a SELECT is in it."""

    def __init__(self, database: Database, table: Table) -> None:
        database.append()  # a record of its own says where a slot begins: no two begin at one place
        self.database, self.table, self.place = database, table, database.end
        self.shape = table.shape
        self.rows = logged(database, table)
        self.out = 0
        self.last: Ticket | None = None  # the piece that was handed out last

    def next(self, request: ChunkRequest, most: int) -> Chunk:
        """The next rows."""
        rows = self.rows[self.out : self.out + most]
        held = [(None, self.shape.head(None, row)) for row in rows]
        slices = tuple(
            Slice(held[at : at + request.slice_rows], (), 1) for at in range(0, len(held), request.slice_rows)
        )
        piece = Piece(self.out, self.tail("t"))
        self.out += len(rows)
        complete = self.out >= len(self.rows) and (len(rows) < most or most % 2 == 0)
        mark = FenceMark("c", self.place)
        return Chunk(self.shape.schema, slices, complete or not rows, self.tail("r"), mark, piece)

    def tail(self, op: str) -> TailOf:
        """What stands behind a row of it, or is its truncate."""
        head = self.shape.head(None, None) + b"" if op == "t" else b""
        of = void_tail if op == "t" else read_tail

        def made(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
            del ts_ms, snapshot, chunk
            return head + of(self.seen_at(cast("Place", released_at)))

        return made

    def seen_at(self, released_at: Place) -> Place:
        """The place that its rows carry."""
        return Place(released_at.epoch, self.place)


def logged(database: Database, table: Table) -> list[Row]:
    """The rows of a table as the log has them."""
    found = dict(table.rows)
    for transaction in database.hidden:
        for (at, key), row in transaction.left.items():
            if at == table.shape.table and row is not None:
                found[key] = row
    return list(found.values())
