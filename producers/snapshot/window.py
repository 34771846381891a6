"""A window: the rows of one chunk, while the log goes from where the read was handed out to its mark.

    handed out ....... chunk arrives ....... mark passes, slices go out
      fates by key       rows by the key under which they were found

A full image or a delete takes its key out: the log has the newer row.  A partial event leaves the row in and
puts its columns into it.  That is right whichever of the events the SELECT had seen: a column that some
event sent ends with the value of the last of them, and a column that no event sent never changed.  It holds
only while all events of the key were partial, so one full image settles a key for good.  What the log says
before the chunk is here is remembered by key; if that is too much, the window is given up as a whole.

A partial event that changes the key moves the row, but only a row that is certainly the right one: if the new
key is held as well, the SELECT had seen the move; if the old key is used again later, the row found under it
may have been that later row.  If it is not certain, the row leaves, as it does if the key changes before the
chunk is here; the machine reads such a row by itself (`TableState.missing`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from wrackline.producers.contract.row_chunks import Bound, Chunk, ChunkRow, Halves, Mark, Slice
from wrackline.producers.contract.steps import Misfit, Passing, Position
from wrackline.producers.snapshot.table_state import MissingRow
from wrackline.producers.snapshot.work_items import Read
from wrackline.schemas.events.splice import Pieces, splice_row
from wrackline.schemas.tables.seq import ordinal_digits
from wrackline.schemas.tables.table import TableSchema

_ROW_BYTES = 120  # the cost of a row that is held, beside its key and its head
_FATE_BYTES = 200  # the approximate cost of one remembered key, beside its own bytes
_FATES = 2  # shares that remembered keys may take


class WindowStage(Enum):
    """The stage of a read; stages.py says what each one means."""

    READING = "reading"
    WAITING = "waiting"
    OPEN = "open"
    STALE = "stale"


@dataclass(slots=True)
class Window:
    """One read, from the moment it is handed out until its last slice is out."""

    read: Read
    share: int  # bytes that its chunk may take
    job: str | None  # None: it reads rows that are missing
    number: int = 0  # of the job's range
    word: str = "incremental"  # Debezium's word for its rows
    missing: Mapping[bytes, MissingRow] = field(default_factory=dict)  # the missing rows that it reads
    stage: WindowStage = WindowStage.READING
    _mark: Mark | None = None
    _chunk: Chunk | None = None
    _slices: list[Slice] = field(default_factory=list)
    _fates: dict[bytes, Pieces | None] = field(default_factory=dict)  # None: settled by the log
    _fate_bytes: int = 0
    _patched_as: TableSchema | None = None  # the shape of the fates' pieces
    _emptied: bool = False
    _held: dict[bytes, bytes] | None = None  # heads by the key found; None: the slices as they are
    _moved: dict[bytes, bytes] = field(default_factory=dict)  # key found -> key now
    _found_keys: dict[bytes, bytes] = field(default_factory=dict)  # key now -> key found
    _misfits: set[bytes] = field(default_factory=set)  # keys of rows that do not fit and are not overtaken
    _ordinal: int = 0
    _voided: bool = False

    @property
    def stale(self) -> bool:
        """Whether it is to be read again."""
        return self.stage is WindowStage.STALE

    @property
    def arrived(self) -> bool:
        """Whether its chunk is here."""
        return self._chunk is not None

    @property
    def chunk(self) -> Chunk:
        """The chunk; read only when it is here."""
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
    def rows(self) -> int:
        """How many rows it holds; on any thread."""
        return sum(len(one.rows) for one in self._slices)

    @property
    def exhausted(self) -> bool:
        """Whether all of its slices are out."""
        return not self._slices

    @property
    def letters(self) -> set[bytes]:
        """Keys of its rows that are set aside, and that the log has not overtaken."""
        found = (one for part in self._slices for one in part.misfits if one.letter)
        return {one.key for one in found if one.key is not None and one.key in self._misfits}

    def holds(self, key: bytes) -> bool:
        """Whether a row would go out under this key."""
        return key in self._found_keys or (
            self._held is not None and key in self._held and key not in self._moved
        )

    def settle(self, key: bytes | None) -> None:
        """Note that the log has the newest row of this key, or says that it is gone."""
        if key is None:
            return
        if self._chunk is None:
            self._remember(key, None)
        else:
            self._leave(key)

    def patch(self, key: bytes, pieces: Pieces, shape: TableSchema) -> None:
        """Take a partial event: its columns go into the row."""
        if self._chunk is None:
            fate = self._fates.get(key, {})
            if fate is not None:
                self._remember(key, {**fate, **pieces})
                self._patched_as = shape
        elif key in self._rows() and key not in self._moved:
            self._splice(key, pieces, shape)
        elif key in self._found_keys:
            self._splice(self._found_keys[key], pieces, shape)
        else:
            self._leave(key)

    def move(self, old: bytes, new: bytes, pieces: Pieces, shape: TableSchema) -> None:
        """Take a partial event that changed the key."""
        if self._chunk is None:
            self._remember(old, None)
            self._remember(new, None)
            return
        held = self._rows()
        if new in held and new not in self._moved:  # the SELECT had seen the move
            self._leave(old)
            self._splice(new, pieces, shape)
            return
        found = self._found_keys.pop(old, old)
        sure = found in held and self._moved.get(found, found) == old and found != new
        if not sure:
            self._leave(old)
        self._leave(new)
        if sure:
            self._splice(found, pieces, shape)
            self._moved[found], self._found_keys[new] = new, found

    def truncate(self) -> None:
        """Note that all rows of the table are gone; the log has those that came since."""
        self._emptied = True
        self._fates.clear()
        self._fate_bytes = 0
        if self._chunk is not None:
            self._held = {}
            self._misfits.clear()
            self._moved.clear()
            self._found_keys.clear()

    def arrive(self, chunk: Chunk, mark: Mark, *, passed: bool) -> Sequence[bytes]:
        """Take the chunk; what the log said of its keys meanwhile is applied to it now.

        Return the keys of rows that are set aside, and that the log has changed in part since: nobody has
        the rest of them.
        """
        self._chunk, self._slices, self._mark = chunk, list(chunk.slices), mark
        self.stage = WindowStage.OPEN if passed else WindowStage.WAITING
        fates, self._fates, self._fate_bytes = self._fates, {}, 0
        unknown: list[bytes] = []
        if self._emptied:
            self._held = {}
            return unknown
        self._misfits = {one.key for part in chunk.slices for one in part.misfits if one.key is not None}
        for key, pieces in fates.items():
            if pieces is None:
                self._leave(key)
            elif self._patched_as is not None and key in self._rows():
                self._splice(key, pieces, self._patched_as)
            elif key in self._misfits:
                self._misfits.discard(key)
                unknown.append(key)
        return unknown

    def take_passing(self, step: Passing) -> None:
        """Note that the log continues, perhaps past the mark that the chunk waits for."""
        if self.stage is WindowStage.WAITING and self._mark is not None and self._mark.passed(step):
            self.stage = WindowStage.OPEN

    def void(self, place: Position, ts_ms: int) -> bytes | None:
        """Return the `t` event that goes before the first piece of a whole read, once it may go out."""
        piece = self.chunk.piece if self.stage is WindowStage.OPEN else None
        if piece is None or piece.before or self._voided:
            return None
        self._voided = True
        return piece.void(place, ts_ms=ts_ms, snapshot=self.word, chunk=self.read.ticket)

    def take(self, place: Position, ts_ms: int) -> tuple[Bound | None, Halves]:
        """Return the last key of the next slice, and what is left of its rows; nothing of an empty chunk."""
        if not self._slices:
            return None, Halves()
        made = self._slices.pop(0)
        tail = self.chunk.tail(place, ts_ms=ts_ms, snapshot=self.word, chunk=self.read.ticket)
        rows, misfits = made.rows, [one for one in made.misfits if self._still(one)]
        if self._held is None and rows and rows[0][0] is not None:  # as most are: untouched, and with keys
            return made.upto, Halves(rows, tail, misfits, self.read.ticket)
        whole = [self._whole(key, head, tail) for key, head in self._current_rows(made)]
        return made.upto, Halves(whole, b"", misfits, self.read.ticket)

    def _still(self, misfit: Misfit) -> bool:
        """Whether the log has not overtaken a row that does not fit."""
        return misfit.key in self._misfits if misfit.key is not None else not self._emptied

    def _whole(self, key: bytes | None, head: bytes, tail: bytes) -> ChunkRow:
        if key is not None:
            return key, head + tail
        before = 0 if self.chunk.piece is None else self.chunk.piece.before
        self._ordinal += 1
        return None, head + tail[:-8] + ordinal_digits(before + self._ordinal - 1)

    def _current_rows(self, made: Slice) -> Iterator[ChunkRow]:
        """Yield the rows of a slice that the log has not overtaken, and let them go."""
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
                self._found_keys.pop(now, None)
                yield now, held.pop(found)

    def _remember(self, key: bytes, pieces: Pieces | None) -> None:
        """Keep what must be done to a row that is not here yet; of an emptied table no row will come."""
        if self._emptied:
            return
        if key in self._fates:
            self._fate_bytes -= _cost(key, self._fates[key])
        self._fates[key] = pieces
        self._fate_bytes += _cost(key, pieces)
        if self._fate_bytes > _FATES * self.share:
            self.stage = WindowStage.STALE

    def _rows(self) -> dict[bytes, bytes]:
        """Return the rows by key: made when the log first touches the table, so for most windows never."""
        if self._held is None:
            self._held = {key: head for one in self._slices for key, head in one.rows if key is not None}
        return self._held

    def _leave(self, key: bytes) -> None:
        """Take out the row of this key, and the row that was found under it and has moved."""
        self._misfits.discard(key)
        held = self._rows()
        for found in (self._found_keys.pop(key, None), key):
            if found is not None and held.pop(found, None) is not None:
                now = self._moved.pop(found, None)
                if now is not None:
                    self._found_keys.pop(now, None)

    def _splice(self, found: bytes, pieces: Pieces, shape: TableSchema) -> None:
        if shape != self.chunk.shape:
            self.stage = WindowStage.STALE
        else:
            held = self._rows()
            held[found] = splice_row(held[found], shape, pieces)


def _cost(key: bytes, pieces: Pieces | None) -> int:
    return _FATE_BYTES + len(key) + (0 if pieces is None else sum(map(len, pieces.values())))
