"""One SELECT's rows in the binary form, as the server sends them, without a call that only it could end.

    PREPARE, EXECUTE --> the server works, as long as it must  --> columns, row, row, row ... last word
                                                                           '---- one buffer ----'

The binary form has floats as they are stored, and no text to parse.  Rows go from the socket's buffer to the
taker without an object of ours for each field or packet.  PyMySQL has logged in and reads nothing ahead of an
answer, so its socket is ours between two of its calls; it is given back at rest.

A sort or a lock may delay the first row without limit: only TCP shows that the other end is gone, and any
wait ends when another thread gives it up.  A statement that is left before its end leaves the socket in the
middle of its rows: the caller has to end the connection, and the statement with it
(`read_session.end_statement`).
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol, TypeAlias

import pymysql

Connection: TypeAlias = "pymysql.connections.Connection[Any]"

_PREPARE, _EXECUTE, _CLOSE = b"\x16", b"\x17", b"\x19"
_ERROR, _END = 0xFF, 0xFE
_LONGEST = 0xFFFFFF  # of a packet; longer data continues in the next packet
_ROOM = 1 << 18
_LOOK_S = 0.1
_SEND_S = 30.0


class StatementRefusedError(Exception):
    """The server does not send the rows, or not all of them: its number and its words."""

    def __init__(self, number: int, words: str) -> None:
        super().__init__()
        self.number, self.words = number, words


class ConnectionLostError(Exception):
    """The connection has ended."""


class GivenUpError(ConnectionLostError):
    """The answer is no longer needed; the server continues its statement."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """What the server says about a column of the result."""

    name: str
    wire: int  # MYSQL_TYPE_*
    charset: int  # 63: bytes
    length: int
    flags: int
    decimals: int

    @property
    def unsigned(self) -> bool:
        """Whether a number's highest bit is not a sign."""
        return bool(self.flags & 32)


class Taker(Protocol):
    """Takes the packets of rows from a buffer."""

    @property
    def last(self) -> bytes | None:
        """The packet that ended the rows, once it has arrived."""
        ...

    def fill(self, buffer: bytearray, start: int, end: int) -> int:
        """Take any number of whole packets from `start` on; return where the remaining packets begin."""
        ...


class StatementRows:
    """One running statement."""

    def __init__(self, connection: Connection, statement: str, given_up: Event) -> None:
        """Prepare and begin it; returns with the columns, when the server sends them."""
        self._sock = connection._sock  # type: ignore[attr-defined] # noqa: SLF001 - the driver has no name for it
        if self._sock is None:
            raise ConnectionLostError("the connection has ended")
        self._usual = self._sock.gettimeout()
        self.given_up = given_up
        self._buffer, self._start, self._end = bytearray(_ROOM), 0, 0
        self._number = b""
        self._send(_PREPARE + statement.encode())
        answer = self._packet()
        self._number, columns, parameters = answer[1:5], *struct.unpack_from("<HH", answer, 5)
        for count in (parameters, columns):
            self._definitions(count)
        # no cursor, once, and no parameters to bind
        self._send(_EXECUTE + self._number + b"\0\1\0\0\0")
        count, _ = length_at(self._packet(), 0)
        self.columns = self._definitions(count)

    def pass_rows(self, taker: Taker, ended: Callable[[], bool]) -> bool:
        """Pass rows to `taker` until they end or are ended; return whether they are over, socket at rest."""
        while True:
            self._start = taker.fill(self._buffer, self._start, self._end)
            if taker.last is not None:
                self._rest()
                if taker.last[0] == _ERROR:
                    raise refusal_in(taker.last)
                return True
            if ended():
                return False
            self._receive(ended)

    def _rest(self) -> None:
        """Make the server forget the statement, and give the socket back."""
        if self._number:
            self._send(_CLOSE + self._number)
        self._sock.settimeout(self._usual)

    def _definitions(self, count: int) -> tuple[ResultColumn, ...]:
        found = tuple(column_of(self._packet()) for _ in range(count))
        if count:
            self._packet()  # the end of the list
        return found

    def _packet(self) -> bytes:
        """Read one of the packets before the rows; raise an error packet."""
        while True:
            size = int.from_bytes(self._buffer[self._start : self._start + 3], "little")
            if self._end - self._start >= 4 and self._end - self._start >= 4 + size:
                break
            self._receive()
        begin = self._start + 4
        self._start = begin + size
        packet = bytes(self._buffer[begin : self._start])
        if packet[0] == _ERROR:
            self._rest()
            raise refusal_in(packet)
        return packet

    def _receive(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Wait for bytes, unless `ended` comes first."""
        self._make_room()
        while not self.given_up.is_set():
            try:
                with memoryview(self._buffer) as whole:
                    got = self._sock.recv_into(whole[self._end :])
            except TimeoutError:
                if ended():
                    return
                continue
            except OSError as exc:
                raise ConnectionLostError(exc.strerror or type(exc).__name__) from None
            if got == 0:
                raise ConnectionLostError("the server has ended the connection")
            self._end += got
            return
        raise GivenUpError("the answer is no longer needed")

    def _make_room(self) -> None:
        left = self._end - self._start
        if self._start and (not left or self._end == len(self._buffer)):
            self._buffer[:left] = self._buffer[self._start : self._end]
            self._start, self._end = 0, left
        if self._end == len(self._buffer):
            self._buffer.extend(bytes(len(self._buffer)))

    def _send(self, command: bytes) -> None:
        """Send a command; it is cut where it is longer than a packet."""
        self._sock.settimeout(_SEND_S)
        pieces = range(0, len(command) + 1, _LONGEST)
        try:
            for number, at in enumerate(pieces):
                piece = command[at : at + _LONGEST]
                self._sock.sendall(len(piece).to_bytes(3, "little") + bytes([number & 255]) + piece)
        except OSError as exc:
            raise ConnectionLostError(exc.strerror or type(exc).__name__) from None
        self._sock.settimeout(_LOOK_S)


def refusal_in(packet: bytes) -> StatementRefusedError:
    """Read an error packet: number, a sign and five characters of SQLSTATE, words."""
    words = packet[9:] if packet[3:4] == b"#" else packet[3:]
    return StatementRefusedError(int.from_bytes(packet[1:3], "little"), words.decode(errors="replace"))


def column_of(packet: bytes) -> ResultColumn:
    """Read a column's definition: catalogue, schema, table twice, name twice, then the fixed part."""
    at, names = 0, []
    for _ in range(6):
        size, at = length_at(packet, at)
        names.append(packet[at : at + size])
        at += size
    while len(packet) - at > 13:  # MariaDB may say more about a type, on request
        size, at = length_at(packet, at)
        at += size
    charset, length, wire, flags, decimals = struct.unpack_from("<HIBHB", packet, at + 1)
    return ResultColumn(names[4].decode(errors="replace"), wire, charset, length, flags, decimals)


def length_at(data: bytes, at: int) -> tuple[int, int]:
    """Read a length as the protocol writes it; return the length and where it ends."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3}.get(first, 8)
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size
