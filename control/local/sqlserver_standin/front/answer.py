"""Writes one answer: tokens become packets as they come; an attention ends it between two packets.

Each DONE says whether another follows, so the last one waits until that is known.
"""

from collections.abc import Callable, Sequence

from wrackline.control.local.sqlserver_standin.front.transport import Transport
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.session import (
    Cancelled,
    Entered,
    Moved,
    Outcome,
    RowCount,
)
from wrackline.control.local.sqlserver_standin.wire import tokens
from wrackline.control.local.sqlserver_standin.wire.packets import HEADER, MessageKind, cut
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.tokens import Done, ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_CHANGED_DATABASE = 5701
_NULLS_OF_SHORT_ROW = 2
"""From so many NULLs on a row is sent as NBCROW; fewer are sent as ROW, so that a reader meets both."""


class AnswerStream:
    """An answer under way."""

    def __init__(
        self,
        transport: Transport,
        size: int,
        server: str,
        process: int,
        cancelled: Callable[[], bool],
        *,
        in_procedure: bool,
    ) -> None:
        self._transport = transport
        self._size = size
        self._server = server
        self._process = process
        self._cancelled = cancelled
        self._in_procedure = in_procedure
        self._buffer = bytearray()
        self._number = 1
        self._held: tuple[Done, int, int] | None = None
        self.in_transaction = False

    def write(self, token: bytes) -> None:
        """Write a token, behind the DONE that was held back for it."""
        if self._held is not None:
            self._done(Done.MORE)
        self._buffer += token
        while len(self._buffer) > self._size - HEADER:
            if self._cancelled():
                raise Cancelled
            self._send_full()

    def outcome(self, one: Outcome) -> None:
        """Write what a statement gave."""
        match one:
            case QueryRows():
                self._rows(one)
            case RowCount(rows, command):
                self.hold(Done.FINAL if rows is None else Done.COUNT, rows or 0, command)
            case Entered(new, old):
                self.write(tokens.environment(1, new, old))
                self.info(_CHANGED_DATABASE, f"Changed database context to '{new}'.")
            case Moved(kind, number):
                name = number.to_bytes(8, "little")
                self.write(tokens.environment_bytes(kind, *((name, b"") if kind == 8 else (b"", name))))

    def _rows(self, one: QueryRows) -> None:
        self.write(tokens.column_metadata(one.columns))
        if one.order:
            self.write(tokens.order(one.order))
        for row in one.rows:
            self.write(row_token(one.columns, row))
        self.hold(Done.COUNT, len(one.rows), tokens.SELECT_COMMAND)

    def error(self, one: ServerError) -> None:
        """Write an error, and that its statement failed."""
        self.write(tokens.error(one, self._server))
        self.hold(Done.ERROR)

    def info(self, number: int, text: str) -> None:
        """Write a message that is no error."""
        self.write(tokens.info(number, text, self._server))

    def hold(self, status: Done, rows: int = 0, command: int = 0) -> None:
        """End a statement; whether another follows is not yet known."""
        if self._held is not None:
            self._done(Done.MORE)
        self._held = (status, rows, command)

    def _done(self, more: Done) -> None:
        status, rows, command = self._held or (Done.FINAL, 0, 0)
        self._held = None
        status |= more | (Done.IN_TRANSACTION if self.in_transaction else Done.FINAL)
        write = tokens.done_in_procedure if self._in_procedure else tokens.done
        self._buffer += write(status, rows, command)

    def end_procedure(self, values: Sequence[bytes], *, failed: bool, more: bool) -> None:
        """End a procedure: its status, its output parameters, DONEPROC."""
        if not failed:
            self.write(tokens.return_status(0))
        for value in values:
            self.write(value)
        if self._held is not None:
            self._done(Done.MORE)
        status = Done.ERROR if failed else Done.FINAL
        status |= (Done.MORE if more else Done.FINAL) | (
            Done.IN_TRANSACTION if self.in_transaction else Done.FINAL
        )
        self._buffer += tokens.done_procedure(status)

    def finish(self) -> None:
        """Send what is left."""
        if self._held is not None or not self._buffer:
            self._done(Done.FINAL)
        self.write(b"")
        self._send(bytes(self._buffer), last=True)

    def interrupt(self) -> None:
        """End the answer of a request that was interrupted: behind a whole token, and as a failed statement.

        The attention is acknowledged in a message of its own, as a real server does it.
        """
        self._held = None
        self._buffer += tokens.done(Done.ERROR, command=tokens.SELECT_COMMAND)
        while len(self._buffer) > self._size - HEADER:
            self._send_full()
        self._send(bytes(self._buffer), last=True)
        self._number = 1
        self.acknowledge()

    def acknowledge(self) -> None:
        """Acknowledge an attention."""
        self._send(tokens.done(Done.ATTENTION, command=tokens.ATTENTION_COMMAND), last=True)

    def _send_full(self) -> None:
        room = self._size - HEADER
        self._send(bytes(self._buffer[:room]), last=False)
        del self._buffer[:room]

    def _send(self, body: bytes, *, last: bool) -> None:
        (packet,) = cut(MessageKind.ANSWER, body, self._size)
        head = bytearray(packet[:HEADER])
        head[1], head[4:6], head[6] = int(last), self._process.to_bytes(2, "big"), self._number & 0xFF
        self._number += 1
        self._transport.send(bytes(head) + packet[HEADER:])


def row_token(columns: Sequence[ShownColumn], row: Sequence[Cell]) -> bytes:
    """Write a row in the form that its NULLs decide."""
    nulls = sum(cell is None for cell in row)
    return (tokens.short_row if nulls >= _NULLS_OF_SHORT_ROW else tokens.row)(columns, row)
