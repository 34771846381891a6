"""A window: the rows of one chunk, while the log goes from where the read was handed out to its mark.

    handed out ....... chunk arrives ....... mark passes, slices go out
      fates by key       rows by the key under which they were found

A full image or a delete takes its key out: the log has the newer row.  A partial event leaves the row in and
puts its columns into it.  That is right whatever part of the events the SELECT had seen: a column that some
event sent ends as the last of them says, one that none sent was the same all the time.  It holds only
while all events of the key were partial, so one full image settles a key for good.  What the log says before
the chunk is here is remembered by key; of too much, the window is given up rather than any of it.

A partial event that changes the key moves the row, but only a row that is surely the one meant: if the new
key is held as well, the SELECT had seen the move; if the old key is used again later, the row found under it
may have been that later one.  Where it is not sure the row leaves, as it does if the key changes before the
chunk is here; the machine asks for such a row by itself (`TableState.missing`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wrackline.producers.changes import Position
from wrackline.producers.chunks import Bound, Chunk, ChunkRow, Halves, Mark, Slice
from wrackline.producers.snapshot.state import Missing
from wrackline.producers.snapshot.work import Read
from wrackline.schemas.seq import ordinal_digits
from wrackline.schemas.splice import Pieces, spliced
from wrackline.schemas.table import TableSchema

_ROW_BYTES = 120  # what a row that is held costs, beside its key and its head
_FATE_BYTES = 200  # about what one remembered key costs, beside its own bytes
_FATES = 2  # shares that remembered keys may take


@dataclass(slots=True)
class Window:
    """One read, from when it was handed out until its last slice is."""

    read: Read
    share: int  # bytes that its chunk may take
    job: str | None  # None: it reads rows that are missing
    number: int = 0  # of the job's range
    word: str = "incremental"  # Debezium's, of its rows
    asked: Mapping[bytes, Missing] = field(default_factory=dict)  # the missing rows that it reads
    mark: Mark | None = None
    passed: bool = False
    stale: bool = False  # its rows can't be told any more: to be read again
    _chunk: Chunk | None = None
    _slices: list[Slice] = field(default_factory=list)
    _fates: dict[bytes, Pieces | None] = field(default_factory=dict)  # None: settled by the log
    _fate_bytes: int = 0
    _patched_as: TableSchema | None = None  # the shape of the fates' pieces
    _emptied: bool = False
    _held: dict[bytes, bytes] | None = None  # heads by the key found; None: the slices as they are
    _moved: dict[bytes, bytes] = field(default_factory=dict)  # key found -> key now
    _found: dict[bytes, bytes] = field(default_factory=dict)  # key now -> key found
    _ordinal: int = 0
    _voided: bool = False

    @property
    def arrived(self) -> bool:
        """Whether its chunk is here."""
        return self._chunk is not None

    @property
    def chunk(self) -> Chunk:
        """The chunk; asked only when it is here."""
        if self._chunk is None:
            raise RuntimeError("the chunk is not here yet")
        return self._chunk

    @property
    def size(self) -> int:
        """Bytes that it holds, or may come to hold."""
        held = self.share
        if self.arrived:
            held = sum(one.size + _ROW_BYTES * len(one.rows) for one in self._slices)
        return held + self._fate_bytes

    @property
    def exhausted(self) -> bool:
        """Whether all of its slices are out."""
        return not self._slices

    def holds(self, key: bytes) -> bool:
        """Whether a row would go out under this key."""
        return key in self._found or (self._held is not None and key in self._held and key not in self._moved)

    def settle(self, key: bytes | None) -> None:
        """The log has the newest row of this key, or that it is gone."""
        if key is None:
            return
        if self._chunk is None:
            self._remember(key, None)
        else:
            self._leave(key)

    def patch(self, key: bytes, pieces: Pieces, shape: TableSchema) -> None:
        """A partial event: its columns go into the row."""
        if self._chunk is None:
            fate = self._fates.get(key, {})
            if fate is not None:
                self._remember(key, {**fate, **pieces})
                self._patched_as = shape
        elif key in self._rows() and key not in self._moved:
            self._splice(key, pieces, shape)
        elif key in self._found:
            self._splice(self._found[key], pieces, shape)
        else:
            self._leave(key)

    def move(self, old: bytes, new: bytes, pieces: Pieces, shape: TableSchema) -> None:
        """A partial event that changed the key."""
        if self._chunk is None:
            self._remember(old, None)
            self._remember(new, None)
            return
        held = self._rows()
        if new in held and new not in self._moved:  # the SELECT had seen the move
            self._leave(old)
            self._splice(new, pieces, shape)
            return
        found = self._found.pop(old, old)
        sure = found in held and self._moved.get(found, found) == old and found != new
        if not sure:
            self._leave(old)
        self._leave(new)
        if sure:
            self._splice(found, pieces, shape)
            self._moved[found], self._found[new] = new, found

    def truncate(self) -> None:
        """All rows of the table went; those that came since, the log has."""
        self._emptied = True
        self._fates.clear()
        self._fate_bytes = 0
        if self._chunk is not None:
            self._held = {}
            self._moved.clear()
            self._found.clear()

    def arrive(self, chunk: Chunk, mark: Mark, *, passed: bool) -> None:
        """The chunk is here; what the log said of its keys meanwhile is done to it now."""
        self._chunk, self._slices, self.mark, self.passed = chunk, list(chunk.slices), mark, passed
        fates, self._fates, self._fate_bytes = self._fates, {}, 0
        if self._emptied:
            self._held = {}
            return
        for key, pieces in fates.items():
            if pieces is None:
                self._leave(key)
            elif self._patched_as is not None and key in self._rows():
                self._splice(key, pieces, self._patched_as)

    def void(self, place: Position, ts_ms: int) -> bytes | None:
        """The `t` event that goes before the first piece of a whole read, once it may go out."""
        piece = self.chunk.piece if self.passed else None
        if piece is None or piece.before or self._voided:
            return None
        self._voided = True
        return piece.void(place, ts_ms=ts_ms, snapshot=self.word, chunk=self.read.ticket)

    def take(self, place: Position, ts_ms: int) -> tuple[Bound | None, Halves]:
        """What is left of the next slice's rows, and its last key; nothing of an empty chunk."""
        if not self._slices:
            return None, Halves()
        made = self._slices.pop(0)
        tail = self.chunk.tail(place, ts_ms=ts_ms, snapshot=self.word, chunk=self.read.ticket)
        rows = made.rows
        if self._held is None and rows and rows[0][0] is not None:  # as most are: untouched, and with keys
            return made.upto, Halves(rows, tail)
        return made.upto, Halves([self._whole(key, head, tail) for key, head in self._left(made)])

    def _whole(self, key: bytes | None, head: bytes, tail: bytes) -> ChunkRow:
        if key is not None:
            return key, head + tail
        before = 0 if self.chunk.piece is None else self.chunk.piece.before
        self._ordinal += 1
        return None, head + tail[:-8] + ordinal_digits(before + self._ordinal - 1)

    def _left(self, made: Slice) -> Iterator[ChunkRow]:
        """The rows of a slice that the log has not overtaken; they are let go."""
        held = self._held
        if held is None:
            yield from made.rows
            return
        for found, head in made.rows:
            if found is None:
                if not self._emptied:
                    yield None, head
            elif found in held:
                now = self._moved.pop(found, found)
                self._found.pop(now, None)
                yield now, held.pop(found)

    def _remember(self, key: bytes, pieces: Pieces | None) -> None:
        """Keep what shall be done to a row that is not here yet; of an emptied table none will be."""
        if self._emptied:
            return
        if key in self._fates:
            self._fate_bytes -= _cost(key, self._fates[key])
        self._fates[key] = pieces
        self._fate_bytes += _cost(key, pieces)
        if self._fate_bytes > _FATES * self.share:
            self.stale = True

    def _rows(self) -> dict[bytes, bytes]:
        """The rows by key: made when the log first touches the table, for most windows never."""
        if self._held is None:
            self._held = {key: head for one in self._slices for key, head in one.rows if key is not None}
        return self._held

    def _leave(self, key: bytes) -> None:
        """Take out the row of this key, and the row that was found under it and has moved."""
        held = self._rows()
        for found in (self._found.pop(key, None), key):
            if found is not None and held.pop(found, None) is not None:
                now = self._moved.pop(found, None)
                if now is not None:
                    self._found.pop(now, None)

    def _splice(self, found: bytes, pieces: Pieces, shape: TableSchema) -> None:
        if shape != self.chunk.shape:
            self.stale = True
        else:
            held = self._rows()
            held[found] = spliced(held[found], shape, pieces)


def _cost(key: bytes, pieces: Pieces | None) -> int:
    return _FATE_BYTES + len(key) + (0 if pieces is None else sum(map(len, pieces.values())))
