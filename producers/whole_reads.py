"""The read of a table without a key that is open: one at a time, its pieces asked for by whichever thread.

    Read, nothing before it --> begin --> piece      Read behind a piece --> piece ... the last one closes it

Each piece names the one that it follows.  So a piece that nobody wants any more can't take rows away from the
read that was begun since, and whoever lost a piece begins anew.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final

from wrackline.producers.chunks import Chunk
from wrackline.producers.plugin import Whole, WholeRead
from wrackline.producers.snapshot.work import Read, Ticket
from wrackline.schemas.errors import Transient, define

READ_LOST = define(
    "snapshot.read_lost",
    Transient,
    "the one read of {table}, which has no key, was given up before its end",
    hint="it is begun anew by itself, with an event before it that makes void what was read",
)

_PATIENCE: Final = 600.0  # seconds for the next piece: an open read holds back the server's cleaning


@dataclass(slots=True)
class _Open:
    read: WholeRead
    last: Ticket  # the piece that was handed out last
    used: float


class WholeReads:
    """Keeps the open read; any thread may ask."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._using = Lock()  # held while a piece is read
        self._open: _Open | None = None
        self._beginning: Whole | None = None  # waits perhaps for a transaction that does not end
        self._newest: Ticket | None = None  # of those that begin a read
        self._ending = False

    def piece(self, reader: Whole, work: Read) -> Chunk:
        """Read the next piece, of a new read where the request is behind nothing."""
        behind = work.request.after
        if behind is None:
            self._newest = work.ticket
            self.give_up()
        with self._using:
            if behind is None:
                self._leave()
                if self._newest != work.ticket:  # nobody wants it any more, so no thread waits for it
                    raise READ_LOST(table=work.request.table)
                self._open = _Open(self._begun(reader, work), work.ticket, self._clock())
            held = self._open
            if held is None or self._ending or (behind is not None and behind != (held.last,)):
                raise READ_LOST(table=work.request.table)
            held.last = work.ticket
            try:
                chunk = held.read.next(work.request)
            except BaseException:
                self._leave()
                raise
            held.used = self._clock()
            if chunk.complete:
                self._leave()
            return chunk

    def tidy(self) -> None:
        """Close a read of which no piece was asked for a long time: it was stopped, or is held."""
        held = self._open
        if held is not None and self._clock() > held.used + _PATIENCE and self._using.acquire(blocking=False):
            with suppress(Exception):
                self._leave()
            self._using.release()

    def give_up(self) -> None:
        """Have a piece that is under way end soon, or a read that has not begun yet."""
        held, beginning = self._open, self._beginning
        if held is not None:
            held.read.give_up()
        if beginning is not None:
            beginning.give_up()

    def close(self) -> None:
        """Close what is open, unless its thread still hangs: it then closes it itself."""
        self._ending = True
        if self._using.acquire(blocking=False):
            self._leave()
            self._using.release()

    def _begun(self, reader: Whole, work: Read) -> WholeRead:
        self._beginning = reader
        try:
            return reader.whole(work.request.table)
        finally:
            self._beginning = None

    def _leave(self) -> None:
        held, self._open = self._open, None
        if held is not None:
            held.read.close()
