"""Packets: a message is cut into packets, eight bytes of header and at most the agreed size ([MS-TDS] 2.2.3).

    type | status | length, high byte first | process | number | window

`Incoming` takes bytes as they come, in whatever pieces, and gives whole messages; `cut` makes packets.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from wrackline.control.local.sqlserver_standin.wire.server_error import protocol_error

HEADER = 8
LEAST_SIZE = 512
MOST_SIZE = 32767
FIRST_SIZE = 4096
_END = 0x01
_IGNORE = 0x02
RESET = 0x08
RESET_BUT_TRANSACTION = 0x10


class MessageKind(IntEnum):
    """The types of messages that a client or the server sends."""

    BATCH = 1
    RPC = 3
    ANSWER = 4
    ATTENTION = 6
    BULK = 7
    TRANSACTION = 14
    LOGIN = 16
    SECURITY = 17
    PRELOGIN = 18


class ClientMessage(NamedTuple):
    """A whole message of a client; `resets` says that the connection's settings are to be reset before it."""

    kind: int
    body: bytes
    resets: bool = False


class Incoming:
    """Joins packets to messages."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._body = bytearray()
        self._resets = False

    def feed(self, data: bytes) -> None:
        """Take bytes as they came."""
        self._data += data

    def take_rest(self) -> bytes:
        """Take back what is not yet a packet: the bytes behind belong to another layer."""
        rest, self._data = bytes(self._data), bytearray()
        return rest

    def next(self) -> ClientMessage | None:
        """Return the next whole message, or None if bytes are missing."""
        while len(self._data) >= HEADER:
            kind, status, length = struct.unpack_from(">BBH", self._data)
            if not HEADER <= length <= MOST_SIZE + 1:
                raise protocol_error(f"a packet's length is {length}")
            if len(self._data) < length:
                return None
            self._body += self._data[HEADER:length]
            del self._data[:length]
            self._resets |= bool(status & (RESET | RESET_BUT_TRANSACTION))
            if status & _END:
                message = ClientMessage(kind, bytes(self._body), self._resets)
                self._body, self._resets = bytearray(), False
                if not status & _IGNORE:
                    return message
        return None


def cut(kind: int, body: bytes, size: int = FIRST_SIZE) -> Iterator[bytes]:
    """Cut a message into packets of at most this size."""
    room = size - HEADER
    pieces = [body[at : at + room] for at in range(0, len(body), room)] or [b""]
    for number, piece in enumerate(pieces, 1):
        status = _END if number == len(pieces) else 0
        yield struct.pack(">BBHHBB", kind, status, len(piece) + HEADER, 0, number & 0xFF, 0) + piece
