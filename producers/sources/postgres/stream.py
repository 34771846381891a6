"""The log of one database over START_REPLICATION, as the wire of a polled stream.

    read      messages of libpq's buffer -> decoder, until the batch is full or the socket is empty
    held      a message that the catalogue can't explain yet is decoded again, before any other
    confirm   standby status: written, flushed = what Kafka has (INV-1); sent at once, and every
              `status.update.interval.ms`, so that the server never treats us as dead
    silence   an idle server answers a question; a server that is gone does not

libpq's own buffer is read without blocking (`producers/kit/polled_stream.py` waits).  While there is much to
read, it is filled in large gulps, and the socket is left to fill in between: the server sends each message
by itself, and only a socket that is full makes it send many at once.
"""

import fcntl
import struct
import termios
from array import array
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import psycopg
from psycopg import generators, pq

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Position
from wrackline.producers.kit.polled_stream import LONGEST_READ_S, PolledStream, ReadState, SilenceWatch
from wrackline.producers.kit.readable import readable
from wrackline.producers.sources.postgres.connect.timeouts import wait_on
from wrackline.producers.sources.postgres.decode import PgDecoder
from wrackline.producers.sources.postgres.discover.discover import NotVisible
from wrackline.producers.sources.postgres.discover.facts import PgCatalogueSnapshot
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_text
from wrackline.producers.sources.postgres.log.slot import log_refused, publication_late
from wrackline.schemas.errors import Transient, WracklineError, define

_POSTGRES_EPOCH_US = 946_684_800_000_000
_KEEPALIVE = b"k"
_DATA = b"w"
_SKIPPED: Final = b"55000"  # of the server's warning, from PostgreSQL 18 on, that it skips a publication
_MUCH: Final = 1 << 17  # bytes in a gulp that leave a socket to fill; a log that is not busy has less
_FILL_S: Final = 0.05  # the most time for that
_LOOK_S: Final = 0.005  # a socket that does not fill further for so long is full, or the server has no more
_MOST_READS: Final = 16  # of one gulp; libpq's buffer grows with each, to the size of a full socket

LOG_ENDED = define(
    "pg.log_ended",
    Transient,
    "the server ended the replication stream of slot {slot}: {reason}",
    hint="see the server's log; the stream is opened again at the last committed position",
)
LOG_SILENT = define(
    "pg.log_silent",
    Transient,
    "the server is silent on the stream of slot {slot}, and did not answer for {seconds:g} s",
    hint="check whether the network between here and the server drops idle connections; the stream is"
    " opened again at the last committed position",
)

PgStream: TypeAlias = PolledStream[PgCatalogueSnapshot]


@dataclass(frozen=True, slots=True)
class PgStreamTiming:
    """How often we send a status, and how long the server may be silent; in seconds."""

    status_every: float = 10.0
    most_silence: float = 60.0


def begin(
    wire: pq.abc.PGconn, slot: str, publication: str, resume: int, most_silence: float
) -> pq.abc.PGconn:
    """Start the log on a connection that was opened for replication; close it where that fails."""
    command = f"START_REPLICATION SLOT {_quote(slot)} LOGICAL {lsn_text(resume)}"
    options = f"proto_version '1', publication_names '{_escape(_quote(publication))}', messages 'true'"
    wire.nonblocking = 1
    try:
        wire.send_query(f"{command} ({options})".encode())
        answer = wait_on(generators.execute(wire), wire, most_silence)[0]
    except psycopg.OperationalError as exc:
        wire.finish()
        raise LOG_ENDED(slot=slot, reason=str(exc).strip()) from None
    if answer.status != pq.ExecStatus.COPY_BOTH:
        ended = _end_of_stream(wire, answer, slot, resume)
        wire.finish()
        raise ended
    return wire


class PgLogWire:
    """One slot's log; it has begun on `wire`, at `start`."""

    def __init__(
        self,
        wire: pq.abc.PGconn,
        decoder: PgDecoder,
        start: PgPosition,
        around: Surroundings,
        *,
        slot: str,
        rhythm: PgStreamTiming,
    ) -> None:
        self._wire, self._decoder, self._around, self._slot = wire, decoder, around, slot
        self._status_every = rhythm.status_every
        self.longest_wait = min(rhythm.status_every, rhythm.most_silence / 4)
        self.silence = SilenceWatch(around.monotonic, rhythm.most_silence / 2)
        self._warnings: list[str] = []
        wire.notice_handler = partial(_note, self._warnings)
        self._held: bytes | None = None  # a message that the catalogue can't explain yet
        self._confirmed = start.resume
        self._status_due = around.monotonic() + rhythm.status_every
        self._gulped_at = self._fills_until = self._look_due = around.monotonic()
        self._unread = 0  # bytes in the socket at the last look

    def fileno(self) -> int:
        """Return the socket to wait for."""
        return self._wire.socket

    def read_ahead(self) -> ReadState:
        """Take the message that is held, then others."""
        if self._decoder.full:
            return ReadState.MORE
        state = self._drain() if self._again() else ReadState.HELD
        if self._warnings:  # without the publication the server leaves changes out, and continues
            raise publication_late(self._slot, self._warnings[0], self._confirmed)
        return state

    def passed(self, picture: PgCatalogueSnapshot) -> bool:
        """Whether the log has passed all that a picture shows."""
        return self._decoder.passed(picture.upto)

    def look(self, picture: PgCatalogueSnapshot) -> None:
        """Take a picture of the catalogue that the log has passed."""
        self._decoder.look(picture)

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        return self._decoder.take()

    def mind_silence(self, periods: int) -> None:
        """Ask a silent server halfway; it is given up only after a question, while we listen."""
        if periods > 1:
            raise LOG_SILENT(slot=self._slot, seconds=self.silence.period)
        self.ask()

    def confirm(self, position: Position) -> None:
        """Confirm the log up to here, so that the server may remove it."""
        if isinstance(position, PgPosition) and position.resume > self._confirmed:
            self._confirmed = position.resume
            self._tell()

    def ask(self) -> None:
        """Ask for a keepalive, which says up to where the log was sent."""
        self._tell(answer=True)

    def keep_alive(self) -> None:
        """Send a status when it is due."""
        if self._around.monotonic() >= self._status_due:
            self._tell()
        self._send()

    def close(self) -> None:
        """Release the slot."""
        if self._wire.status == pq.ConnStatus.OK:
            self._wire.finish()

    def _again(self) -> bool:
        """Take the message that was held; return whether none is held any more."""
        if self._held is not None:
            try:
                self._decoder.feed(self._held)
            except NotVisible:
                return False
            self._held = None
        return True

    def _drain(self) -> ReadState:
        """Take messages until the batch is full, enough was read, or there are no more.

        A transaction of a million rows that are not captured makes no batch, and must still return.  So must
        the first changes of ten thousand tables, each of which asks the catalogue and the registry.
        """
        decoder, most = self._decoder, self._around.most_batch_bytes
        until = self._around.monotonic() + LONGEST_READ_S
        get = self._wire.get_copy_data
        state, fresh, left, data = ReadState.MORE, False, most, b""
        try:
            while decoder.size < most and left > 0 and self._around.monotonic() < until:
                read, size, data = decoder.pass_rows(get, left, most - decoder.size)
                left -= read
                fresh = fresh and read == 0
                if size > 0:
                    if data[:1] == _DATA:
                        decoder.feed(data)
                    elif data[:1] == _KEEPALIVE:
                        self._hear(data)
                elif size < 0:
                    raise _end_of_stream(self._wire, self._wire.get_result(), self._slot, self._confirmed)
                elif fresh:
                    state = ReadState.DRAINED
                    break
                elif self._lets_fill(most - left):
                    state = ReadState.FILLING
                    break
                else:
                    self._gulp()
                    fresh = True
        except NotVisible:
            self._held, state = data, ReadState.HELD
        if left < most:
            self.silence.hear()
        return state

    def _lets_fill(self, taken: int) -> bool:
        """Whether the socket is left to fill: much came with the last gulp, and more comes all the time."""
        now = self._around.monotonic()
        if taken >= _MUCH:
            self._fills_until, self._look_due = self._gulped_at + _FILL_S, now
        elif now >= self._fills_until:
            return False
        if now >= self._look_due:
            before, self._unread = self._unread, _unread(self._wire.socket)
            self._look_due = now + _LOOK_S
            return taken >= _MUCH or self._unread != before
        return True

    def _gulp(self) -> None:
        """Read all that the socket holds."""
        self._gulped_at = self._fills_until = self._around.monotonic()
        try:
            for _ in range(_MOST_READS):
                self._wire.consume_input()
                if not readable([self._wire.socket], 0):
                    break
        except psycopg.OperationalError as exc:
            raise LOG_ENDED(slot=self._slot, reason=str(exc).strip()) from None

    def _hear(self, keepalive: bytes) -> None:
        end, _, answer = struct.unpack_from(">QqB", keepalive, 1)
        self._decoder.progress(end)
        if answer:
            self._tell()

    def _tell(self, *, answer: bool = False) -> None:
        """Send a standby status: written and flushed is only what Kafka has committed."""
        clock = self._around.now_ms() * 1000 - _POSTGRES_EPOCH_US
        done = self._confirmed
        self._send(struct.pack(">cQQQqB", b"r", done, done, done, clock, answer))
        self._status_due = self._around.monotonic() + self._status_every

    def _send(self, status: bytes = b"") -> None:
        """Pass a status, and the data that waits before it, to the socket."""
        try:
            if status:
                self._wire.put_copy_data(status)
            self._wire.flush()
        except psycopg.OperationalError as exc:
            raise LOG_ENDED(slot=self._slot, reason=str(exc).strip()) from None


def _note(warnings: list[str], notice: pq.abc.PGresult) -> None:
    """Keep a warning that a publication is skipped."""
    if notice.error_field(pq.DiagnosticField.SQLSTATE) == _SKIPPED:
        words = notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
        warnings.append(words.decode(errors="replace"))


def _end_of_stream(
    wire: pq.abc.PGconn, answer: pq.abc.PGresult | None, slot: str, position: int
) -> WracklineError:
    """Return why the server ended the stream, or did not begin it."""
    reason = wire.get_error_message().strip()
    state = None if answer is None else answer.error_field(pq.DiagnosticField.SQLSTATE)
    known = log_refused(slot, (state or b"").decode(), reason, position)
    return known or LOG_ENDED(slot=slot, reason=reason)


def _unread(socket: int) -> int:
    """Return how many bytes wait in a socket."""
    size = array("i", [0])
    fcntl.ioctl(socket, termios.FIONREAD, size)
    return size[0]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escape(text: str) -> str:
    return text.replace("'", "''")
