"""Faults of the readers: the gate, the marks, the bounds, the cursor, the errors."""

from collections.abc import Callable
from dataclasses import replace

from tests.fakes.place import Place
from tests.simulation.database import Database, Table
from tests.simulation.planting import more, planted
from tests.simulation.readers import Job, Readers, Stage
from tests.simulation.shapes import Key, Row, rank
from tests.simulation.whole import WholeRead, logged
from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest
from wrackline.producers.contract.source_plugin import Edge
from wrackline.producers.contract.steps import Commit
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.work_items import Read, Work
from wrackline.schemas.errors import WracklineError


@planted(more(hidden=0.7))
class GateSkipped(Readers):
    """A SELECT does not wait for what was streamed and is not visible."""

    def unseen(self, work: Work) -> list[Commit]:
        del work
        return []


@planted(more(hidden=0.7))
class ReadBeforeTheGate(Readers):
    """The SELECT's view is older than the gate: a transaction that was opened before."""

    def advance(self, job: Job, machine: Machine, now: float, fails: float) -> str:
        if job.chunk is None and isinstance(job.work, Read):
            job.chunk = super().select(job.work.request)
        return super().advance(job, machine, now, fails)

    def select(self, request: ChunkRequest) -> Chunk:
        found = next(
            job.chunk for job in self.jobs if isinstance(job.work, Read) and job.work.request is request
        )
        return found or super().select(request)


@planted()
class MarkBeforeTheSelect(Readers):
    """The close mark is set, or the fence read, before the SELECT."""

    def _read(self, job: Job, read: Read, machine: Machine) -> None:
        if job.stage is Stage.OPEN:
            job.mark = self.mark(read.ticket, Edge.CLOSE)
        elif job.stage is not Stage.CLOSE:
            super()._read(job, read, machine)


@planted(more(tables=1, cuts=0.4))
class ChainOfAnds(Readers):
    """Bounds of a composite key compared column by column."""

    def rows(self, table: Table, request: ChunkRequest) -> list[tuple[Key, Row]]:
        low = () if request.after is None else rank(request.after)
        high = () if request.upto is None else rank(request.upto)
        return [
            (key, row)
            for key, row in super().rows(table, request)
            if all(mine >= theirs for mine, theirs in zip(rank(key), low, strict=False))
            and all(mine <= theirs for mine, theirs in zip(rank(key), high, strict=False))
        ]


@planted(more(tables=2, cuts=0.4))
class NullsFirst(Readers):
    """Chunks put null keys first, where the plan puts them last."""

    def rows(self, table: Table, request: ChunkRequest) -> list[tuple[Key, Row]]:
        def first(key: Key) -> tuple[int, ...]:
            return tuple(-1 if part is None else place for part, place in zip(key, rank(key), strict=True))

        return _between(table, request, first)


@planted(more(cuts=0.4))
class KeysAsTexts(Readers):
    """Chunks order keys as texts, where the plan orders them as the column's collation does."""

    def rows(self, table: Table, request: ChunkRequest) -> list[tuple[Key, Row]]:
        return _between(table, request, lambda key: tuple(part or "~" for part in key))


@planted()
class LastKeyLeftOut(Readers):
    """The upper bound is not part of the range."""

    def rows(self, table: Table, request: ChunkRequest) -> list[tuple[Key, Row]]:
        return [(key, row) for key, row in super().rows(table, request) if key != request.upto]


@planted(more(partial=0.7))
class SeqOfTheRead(Readers):
    """A row's seq is the place of its SELECT, not of its release."""

    def released(self, released_at: Place, read_at: int) -> Place:
        return Place(released_at.epoch, read_at)


@planted(more(crashes=0.06, slice_rows=1))
class CursorOfTheChunk(Readers):
    """The cursor moves to the chunk's last key with its first slice."""

    def last(self, taken: list[tuple[Key, Row]], part: list[tuple[Key, Row]]) -> tuple[Key, Row]:
        del part
        return taken[-1]


@planted()
class FullChunkIsTheLast(Readers):
    """What one statement returned is taken for the whole range."""

    def select(self, request: ChunkRequest) -> Chunk:
        chunk = super().select(request)
        return Chunk(chunk.shape, chunk.slices, True, chunk.tail)


@planted()
class RangeWithoutEnd(Readers):
    """An empty chunk does not say that its range is read."""

    def select(self, request: ChunkRequest) -> Chunk:
        chunk = super().select(request)
        return Chunk(chunk.shape, chunk.slices, False, chunk.tail)


_BAG = more(bag=True, tables=3, steps=250, readers=3, chunk_rows=2, orders=0.0, crashes=0.0, losses=0.0)


class _Later(WholeRead):
    def next(self, request: ChunkRequest, most: int) -> Chunk:
        self.rows = logged(self.database, self.table)
        return super().next(request, most)


@planted(_BAG)
class PiecesOfOtherMoments(Readers):
    """Each piece of a whole read shows the table as it is when the piece is read."""

    whole_of: Callable[..., WholeRead] = _Later


class _Visible(WholeRead):
    def __init__(self, database: Database, table: Table) -> None:
        super().__init__(database, table)
        self.rows = list(table.rows.values())


@planted(_BAG)
class WholeReadOfWhatIsVisible(Readers):
    """A whole read shows what a SELECT shows at its place, not what the log has there."""

    whole_of: Callable[..., WholeRead] = _Visible


class _AsReleased(WholeRead):
    def seen_at(self, released_at: Place) -> Place:
        return released_at


@planted(_BAG)
class WholeReadAsReleased(Readers):
    """Rows of a whole read, and its truncate, carry the place where they are released."""

    whole_of: Callable[..., WholeRead] = _AsReleased


class _Numbered(WholeRead):
    def next(self, request: ChunkRequest, most: int) -> Chunk:
        chunk = super().next(request, most)
        return chunk if chunk.piece is None else replace(chunk, piece=replace(chunk.piece, before=0))


@planted(_BAG)
class PiecesNumberedAnew(Readers):
    """Each piece of a whole read numbers its rows from 0, and is taken for the first."""

    whole_of: Callable[..., WholeRead] = _Numbered


@planted(more(fails=0.05))
class ErrorSkipsTheChunk(Readers):
    """A read that failed counts as an empty one."""

    def failed(self, job: Job, machine: Machine, error: WracklineError, now: float) -> None:
        if not isinstance(job.work, Read):
            super().failed(job, machine, error, now)
        else:
            shape = self.table(job.work.request.table).shape.schema
            empty = Chunk(shape, (), True, super().select(job.work.request).tail)
            machine.chunk(job.work.ticket, empty, self.mark(job.work.ticket, Edge.CLOSE))


@planted(more(fails=0.05))
class ErrorIsSwallowed(Readers):
    """The machine does not learn that a read failed."""

    def failed(self, job: Job, machine: Machine, error: WracklineError, now: float) -> None:
        pass


def _between(
    table: Table, request: ChunkRequest, place: Callable[[Key], tuple[str, ...] | tuple[int, ...]]
) -> list[tuple[Key, Row]]:
    """Rows of a range, in an order that is not the database's."""
    after, upto = request.after, request.upto
    keys = [
        key
        for key in table.rows
        if (not request.only or key in request.only)
        and (after is None or place(key) > place(after))  # type: ignore[operator]  # one kind of place each
        and (upto is None or place(key) <= place(upto))  # type: ignore[operator]  # the same
    ]
    return [(key, table.rows[key]) for key in sorted(keys, key=place)]
