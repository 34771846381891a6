"""The log of one database over START_REPLICATION: polled, confirmed, never waited for.

    poll      read what the socket holds -> decoder -> batch
    confirm   standby status: written, flushed = what Kafka has (INV-1); sent at once, and every
              `status.update.interval.ms`, so that the server never takes us for dead

libpq's own buffer is read without blocking; only `poll` waits, for the socket, until its deadline.
"""

import select
import struct

import psycopg
from psycopg import pq

from wrackline.producers.changes import Batch, Position
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.postgres.decode import Decoder
from wrackline.producers.sources.postgres.position import PgPosition, lsn_text
from wrackline.producers.sources.postgres.slot import log_refused
from wrackline.schemas.errors import Transient, WracklineError, define

_POSTGRES_EPOCH_US = 946_684_800_000_000
_KEEPALIVE = ord("k")
_DATA = ord("w")

LOG_ENDED = define(
    "pg.log_ended",
    Transient,
    "the server ended the replication stream of slot {slot}: {reason}",
    hint="see the server's log; the stream is opened again at the last committed position",
)


class PgStream:
    """One slot's stream; `wire` has been opened for replication."""

    def __init__(
        self,
        wire: pq.abc.PGconn,
        decoder: Decoder,
        start: PgPosition,
        around: Surroundings,
        *,
        slot: str,
        publication: str,
        status_every: float,
    ) -> None:
        self._wire, self._decoder, self._around, self._slot = wire, decoder, around, slot
        self._confirmed = start.resume
        self._status_every = status_every
        self._status_due = around.monotonic() + status_every
        begin = f"START_REPLICATION SLOT {_quoted(slot)} LOGICAL {lsn_text(start.resume)}"
        options = f"proto_version '1', publication_names '{_escaped(_quoted(publication))}', messages 'true'"
        answer = wire.exec_(f"{begin} ({options})".encode())
        if answer.status != pq.ExecStatus.COPY_BOTH:
            ended = self._ended(answer)
            wire.finish()
            raise ended
        wire.nonblocking = 1

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there; wait for it until the deadline at most."""
        while True:
            drained = self._read_ahead()
            batch = self._decoder.take()
            self.keep_alive()
            if batch is not None:
                return batch
            left = deadline - self._around.monotonic()
            if left <= 0:
                return None
            if drained:
                select.select([self._wire.socket], [], [], min(left, self._status_every))

    def confirm(self, position: Position) -> None:
        """Tell the server that it may forget what lies before."""
        if isinstance(position, PgPosition) and position.resume > self._confirmed:
            self._confirmed = position.resume
            self._tell()

    def keep_alive(self) -> None:
        """Say that we are here when it is time to."""
        if self._around.monotonic() >= self._status_due:
            self._tell()
        self._send()

    def close(self) -> None:
        """Give the slot back."""
        if self._wire.status == pq.ConnStatus.OK:
            self._wire.finish()

    def _read_ahead(self) -> bool:
        """Take messages until the batch is full, enough was read, or the socket is empty: then true.

        A transaction of a million rows that nobody captures makes no batch and must let go all the same.
        """
        decoder, wire, most = self._decoder, self._wire, self._around.most_batch_bytes
        feed, get = decoder.feed, wire.get_copy_data
        fresh, left = False, most
        while decoder.size < most and left > 0:
            size, message = get(1)
            if size > 0:
                left -= size
                data = bytes(message)
                if data[0] == _DATA:
                    feed(data)
                elif data[0] == _KEEPALIVE:
                    self._hear(data)
            elif size < 0:
                raise self._ended(wire.get_result())
            elif fresh:
                return True
            else:
                try:
                    wire.consume_input()
                except psycopg.OperationalError as exc:
                    raise LOG_ENDED(slot=self._slot, reason=str(exc).strip()) from None
                fresh = True
                continue
            fresh = False
        return False

    def _hear(self, keepalive: bytes) -> None:
        end, _, answer = struct.unpack_from(">QqB", keepalive, 1)
        self._decoder.progress(end)
        if answer:
            self._tell()

    def _ended(self, answer: pq.abc.PGresult | None) -> WracklineError:
        """Say why the server ended the stream, or did not begin it."""
        reason = self._wire.get_error_message().strip()
        state = None if answer is None else answer.error_field(pq.DiagnosticField.SQLSTATE)
        known = log_refused(self._slot, (state or b"").decode(), reason, self._confirmed)
        return known or LOG_ENDED(slot=self._slot, reason=reason)

    def _tell(self) -> None:
        """Send a standby status: nothing is written or flushed but what Kafka has committed."""
        clock = self._around.now_ms() * 1000 - _POSTGRES_EPOCH_US
        self._send(struct.pack(">cQQQqB", b"r", self._confirmed, self._confirmed, self._confirmed, clock, 0))
        self._status_due = self._around.monotonic() + self._status_every

    def _send(self, status: bytes = b"") -> None:
        """Hand a status, and what waits before it, to the socket."""
        try:
            if status:
                self._wire.put_copy_data(status)
            self._wire.flush()
        except psycopg.OperationalError as exc:
            raise LOG_ENDED(slot=self._slot, reason=str(exc).strip()) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(text: str) -> str:
    return text.replace("'", "''")
