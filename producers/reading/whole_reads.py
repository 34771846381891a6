"""The open read of a table without a key: one at a time; any thread may request its pieces.

    Read, nothing before it --> begin --> piece      Read behind a piece --> piece ... the last one closes it

Each piece names the piece that it follows.  So a piece that is no longer wanted can't take rows away from the
read that was begun since, and a thread that lost a piece starts over.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import Final

from wrackline.producers.contract.row_chunks import Chunk
from wrackline.producers.contract.source_plugin import Whole, WholeRead
from wrackline.producers.snapshot.work_items import Read, Ticket
from wrackline.schemas.errors import Transient, define

READ_LOST = define(
    "snapshot.read_lost",
    Transient,
    "the read of {table}, which has no key and is read as a whole, stopped before its end",
    hint="it starts again automatically, after an event that voids the rows read so far",
)

_PATIENCE: Final = 600.0  # seconds for the next piece: an open read holds back the server's cleaning


@dataclass(slots=True)
class _OpenRead:
    read: WholeRead
    last: Ticket  # the last piece that was handed out
    used: float
    thread: int  # the one that has read it


class WholeReads:
    """Keeps the open read; any thread may call it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._using = Lock()  # held while a piece is read
        self._open: _OpenRead | None = None
        self._beginning: Whole | None = None  # perhaps waits for a transaction that does not end
        self._newest: Ticket | None = None  # the newest ticket that begins a read
        self._ending = False

    def piece(self, reader: Whole, work: Read) -> Chunk:
        """Read the next piece; if the request is behind no piece, it is the first of a new read."""
        behind = work.request.after
        if behind is None:
            self._newest = work.ticket
            self.give_up()
        with self._using:
            if behind is None:
                self._leave()
                if self._newest != work.ticket:  # it is no longer wanted, so no thread waits for it
                    raise READ_LOST(table=work.request.table)
                self._open = _OpenRead(self._begin(reader, work), work.ticket, self._clock(), get_ident())
            held = self._open
            if held is None or self._ending or (behind is not None and behind != (held.last,)):
                raise READ_LOST(table=work.request.table)
            held.last, held.thread = work.ticket, get_ident()
            try:
                chunk = held.read.next(work.request)
            except BaseException:
                self._leave()
                raise
            held.used = self._clock()
            if chunk.complete:
                self._leave()
            return chunk

    def is_ours(self) -> bool:
        """Whether the thread that asks has read the last piece, and others are to follow."""
        held = self._open
        return held is not None and held.thread == get_ident()

    def tidy(self) -> None:
        """Close a read of which no piece was requested for a long time: it was stopped, or is paused."""
        held = self._open
        if held is not None and self._clock() > held.used + _PATIENCE and self._using.acquire(blocking=False):
            with suppress(Exception):
                self._leave()
            self._using.release()

    def give_up(self) -> None:
        """Make a piece that is under way, or a read that has not begun yet, end soon."""
        held, beginning = self._open, self._beginning
        if held is not None:
            held.read.give_up()
        if beginning is not None:
            beginning.give_up()

    def close(self) -> None:
        """Close what is open, unless its thread still hangs: then that thread closes it."""
        self._ending = True
        if self._using.acquire(blocking=False):
            self._leave()
            self._using.release()

    def _begin(self, reader: Whole, work: Read) -> WholeRead:
        self._beginning = reader
        try:
            return reader.whole(work.request.table)
        finally:
            self._beginning = None

    def _leave(self) -> None:
        held, self._open = self._open, None
        if held is not None:
            held.read.close()
