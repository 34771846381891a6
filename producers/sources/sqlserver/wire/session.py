"""One connection: a statement at a time, its answer as rows or as batches of rows in place.

    text -- packets --> server -- packets --> TdsReader --> TdsBatch, TdsBatch, ... | an error with a code

An error of the server is raised behind the rest of its answer, so the connection can be used again.  Where
the stream is lost, silent for too long or can't be read, the connection is closed: nobody knows what comes
next.

Another thread may only `cancel` (the answer ends soon, and the connection lives) or `close`.
"""

import socket
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from wrackline.producers.sources.sqlserver.connect.server_errors import LOGIN_REFUSED, SERVER_LOST, explain
from wrackline.producers.sources.sqlserver.rows.cell_values import value_of
from wrackline.producers.sources.sqlserver.wire.messages import (
    ATTENTION,
    BATCH,
    CANCELLED,
    COLUMNS,
    DONES,
    ENVIRONMENT,
    ERROR,
    FAILED,
    MORE,
    SEVERE,
    ServerMessage,
    StatementEnd,
    batch_of,
    packets,
    server_message,
    statement_end,
    transaction_of,
)
from wrackline.producers.sources.sqlserver.wire.result_columns import STREAM_BROKEN, TdsColumn
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch, TdsReader, TdsToken
from wrackline.schemas.errors import WracklineError

DOING = "execute a statement"
_AT_ONCE = 10_000
_PIECE = 1 << 16
_FATAL = 20  # from this severity on a server ends the connection behind its error
_NO_END = StatementEnd(MORE, None)


class StatementCancelledError(Exception):
    """The statement was cancelled by another thread of ours; the connection can be used again."""


class TdsTransport(Protocol):
    """A socket, or TLS over one; one thread reads while another may send."""

    def recv_into(self, buffer: memoryview) -> int:
        """Wait for bytes; 0 is the end."""
        ...

    def sendall(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def settimeout(self, seconds: float | None) -> None:
        """Say how long the other side may be silent."""
        ...

    def shutdown(self, how: int) -> None:
        """End the connection, also under a thread that waits for bytes."""
        ...

    def close(self) -> None:
        """Give the socket back."""
        ...


@dataclass(slots=True)
class TdsAnswer:
    """What one statement gave."""

    columns: Sequence[TdsColumn] = ()
    rows: list[tuple[bytes | None, ...]] = field(default_factory=list)


def add_to_answers(answers: list[TdsAnswer], batch: TdsBatch, before: int = 0) -> None:
    """Add rows to the answer that they belong to; so many results before the first answer are elsewhere."""
    if batch.result == before + len(answers):
        answers.append(TdsAnswer(batch.columns))
    answers[-1].rows.extend(batch.row(row) for row in range(len(batch)))


@dataclass(slots=True)
class _Course:
    """What is known of an answer that comes."""

    failure: ServerMessage | None = None
    failed: bool = False  # whether an end says so, which it may without an error's token
    end: StatementEnd = _NO_END
    shown: Sequence[TdsColumn] = ()  # of a result of which nothing was handed out
    result: int = -1


class TdsSession:
    """A connection that is logged in."""

    def __init__(self, wire: TdsTransport, *, packet_size: int, silence_s: float, most_row: int) -> None:
        """Take a connection at rest; the server may be silent for `silence_s` within an answer."""
        self._wire = wire
        self._packet_size = packet_size
        self._reader = TdsReader(most_row)
        self._raw = bytearray(_PIECE)
        self._view = memoryview(self._raw)
        self._at = self._end = 0
        self._transaction = bytes(8)
        self._lock = Lock()  # held to send, and to change what follows
        self._running = self._cancelled = self._acknowledged = self._closed = False
        wire.settimeout(silence_s)

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._closed

    @property
    def protected(self) -> bool:
        """Whether all that goes over it is in TLS."""
        return not isinstance(self._wire, socket.socket)

    def answers(self, sql: str, doing: str = DOING) -> list[TdsAnswer]:
        """Return the results of a batch, of which each is small."""
        found: list[TdsAnswer] = []
        for batch in self.stream(sql, _AT_ONCE, doing):
            add_to_answers(found, batch)
        return found

    def rows(self, sql: str, doing: str = DOING) -> TdsAnswer:
        """Return the only result, or the first."""
        return next(iter(self.answers(sql, doing)), TdsAnswer())

    def values(self, sql: str, doing: str = DOING) -> list[tuple[object, ...]]:
        """Return the rows of the only result as Python's values."""
        found = self.rows(sql, doing)
        types = [column.type for column in found.columns]
        return [
            tuple([None if cell is None else value_of(of, cell) for of, cell in zip(types, row, strict=True)])
            for row in found.rows
        ]

    def execute(self, sql: str, doing: str = DOING) -> int | None:
        """Execute a batch that gives no rows; return how many rows its last statement touched, if it says."""
        count = None
        for end in self._run(sql, _AT_ONCE, doing):
            if isinstance(end, StatementEnd) and end.rows is not None:
                count = end.rows
        return count

    def stream(self, sql: str, at_once: int, doing: str = DOING) -> Iterator[TdsBatch]:
        """Return the rows of a batch as they come, at most so many at once.

        Each result gives at least one batch, which may be empty; `result` counts them from 0.  A stream that
        is left before its end cancels the statement.
        """
        for found in self._run(sql, at_once, doing):
            if isinstance(found, TdsBatch):
                yield found

    def cancel(self) -> None:
        """Cancel the statement that runs, if one does; called by another thread."""
        with self._lock:
            if self._running and not self._cancelled:
                self._cancelled = True
                with suppress(OSError):  # the thread that reads finds it too
                    self._wire.sendall(next(packets(ATTENTION, b"", self._packet_size)))

    def close(self) -> None:
        """End the connection; a thread that waits for an answer gets an error."""
        with self._lock:
            if self._closed:
                return
            self._closed, self._running = True, False
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_RDWR)
        self._wire.close()

    def _run(self, sql: str, at_once: int, doing: str) -> Iterator[TdsBatch | StatementEnd]:
        self._send(sql, doing)
        try:
            yield from self._answer(at_once, doing)
        except OSError as exc:
            raise self._lost(exc, doing) from None
        except WracklineError:
            if self._running:  # what the server itself reports comes behind the answer
                self.close()
            raise
        finally:
            if self._running:
                self._leave()

    def _send(self, sql: str, doing: str) -> None:
        with self._lock:
            if self._closed:
                raise SERVER_LOST(doing=doing, reason="the connection has ended")
            if self._running:
                raise RuntimeError("a statement is running")
            self._running, self._cancelled, self._acknowledged = True, False, False
            self._reader.begin()
            failed: OSError | None = None
            try:
                for packet in packets(BATCH, batch_of(sql, self._transaction), self._packet_size):
                    self._wire.sendall(packet)
            except OSError as exc:
                failed = exc
        if failed is not None:  # the lock is free, so that the connection can be closed
            raise self._lost(failed, doing)

    def _lost(self, exc: OSError, doing: str) -> WracklineError:
        self.close()
        reason = "it was silent for too long" if isinstance(exc, TimeoutError) else exc.strerror
        return SERVER_LOST(doing=doing, reason=reason or type(exc).__name__)

    def _answer(self, at_once: int, doing: str) -> Iterator[TdsBatch | StatementEnd]:
        """Hand out an answer to the end of its message; then raise what went wrong."""
        course = _Course()
        while (found := self._next(at_once)) is not None:
            if isinstance(found, TdsBatch):
                course.shown = ()
                yield found
            else:
                yield from self._token(found, course)
        if course.end.status & MORE and not self._cancelled:
            raise STREAM_BROKEN(reason="it ends before its last token")
        if self._rest():
            raise StatementCancelledError
        if course.failure is not None:
            raise self._failed(course.failure, doing)
        if course.failed:
            raise SERVER_LOST(doing=doing, reason="it failed, and no reason came")

    def _failed(self, failure: ServerMessage, doing: str) -> WracklineError:
        """Say what an error means; a server may want a new login, because the token of ours has expired."""
        error = explain(failure.number, failure.words, doing)
        if failure.severity >= _FATAL:  # the server closes its side too
            self.close()
        if error.code != LOGIN_REFUSED.code:
            return error
        self.close()
        return SERVER_LOST(doing=doing, reason=f"it wants a new login (error {failure.number})")

    def _token(self, found: TdsToken, course: _Course) -> Iterator[TdsBatch | StatementEnd]:
        if course.shown and (found.number == COLUMNS or found.number in DONES):
            yield TdsBatch(course.shown, bytearray(), array("i"), 0, course.result)
            course.shown = ()
        if found.number == COLUMNS:
            course.shown = self._reader.columns
            course.result += bool(course.shown)
        elif found.number in DONES:
            course.end = self._ended(found.body)
            course.failed = course.failed or bool(course.end.status & (FAILED | SEVERE))
            yield course.end
        elif found.number == ERROR:
            course.failure = course.failure or server_message(found.body)
        elif found.number == ENVIRONMENT:
            self._change(found.body)

    def _next(self, at_once: int) -> TdsBatch | TdsToken | None:
        """Return the next rows, or another token; None behind the message's last."""
        while (found := self._reader.next(at_once)) is None and not self._reader.over:
            if self._at == self._end:
                self._at, self._end = 0, self._wire.recv_into(self._view)
                if self._end == 0:
                    raise ConnectionResetError(0, "it has ended the connection")
            self._at = self._reader.feed(self._raw, self._at, self._end)
        return found

    def _ended(self, body: bytes) -> StatementEnd:
        end = statement_end(body)
        self._acknowledged = self._acknowledged or bool(end.status & CANCELLED)
        return end

    def _change(self, body: bytes) -> None:
        transaction = transaction_of(body)
        if transaction is not None:
            self._transaction = transaction

    def _rest(self) -> bool:
        """Bring the connection to rest behind a message; return whether its statement was cancelled.

        The acknowledgement of an attention comes in a message of its own, also if the answer was over first.
        """
        with self._lock:
            if not self._cancelled:
                self._running = False
                return False
        while not self._acknowledged:
            self._reader.begin()
            self._drain()
        with self._lock:
            self._running = False
        return True

    def _drain(self) -> None:
        """Read the rest of a message; only what it says about the connection matters."""
        course = _Course()
        while (found := self._next(_AT_ONCE)) is not None:
            if isinstance(found, TdsToken):
                list(self._token(found, course))

    def _leave(self) -> None:
        """Cancel a statement whose rows nobody wants any more; a connection that does not rest is closed."""
        self.cancel()
        try:
            self._drain()
            self._rest()
        except (OSError, WracklineError):
            self.close()
