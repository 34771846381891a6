"""A client of a few lines, for what no driver can be made to do at an exact moment."""

import socket
import struct
from typing import Self

from tests.integration.sqlserver_standin.serving import DATABASE, PASSWORD, USER
from wrackline.control.local.sqlserver_standin.wire.byte_reader import short_text
from wrackline.control.local.sqlserver_standin.wire.login import Encryption, print_prelogin, scrambled
from wrackline.control.local.sqlserver_standin.wire.packets import ClientMessage, Incoming, MessageKind, cut
from wrackline.control.local.sqlserver_standin.wire.requests import print_headers
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type, type_info
from wrackline.control.local.sqlserver_standin.wire.values import Cell, put

_DONE = 0xFD


class BareClient:
    """A connection that is logged in, without TLS."""

    def __init__(self, port: int, user: str = USER, *, reads_only: bool = False, odbc: bool = False) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self._incoming = Incoming()
        self.received = b""
        """Every byte that came."""
        self.send(MessageKind.PRELOGIN, print_prelogin(Encryption.NOT_SUPPORTED, (1, 0, 0)))
        self.answer()
        self.send(MessageKind.LOGIN, _login(user, reads_only=reads_only, odbc=odbc))
        self.greeting = self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.socket.close()

    def send(self, kind: int, body: bytes, *, status: int = 0) -> None:
        """Send a message; the status' bits are added to each packet's."""
        for packet in cut(kind, body):
            self.socket.sendall(packet[:1] + bytes([packet[1] | status]) + packet[2:])

    def answer(self) -> bytes:
        """Wait for an answer."""
        while (message := self._incoming.next()) is None:
            data = self.socket.recv(65_536)
            assert data, "the server has closed the connection"
            self.received += data
            self._incoming.feed(data)
        assert isinstance(message, ClientMessage)
        return message.body

    def ask(self, text: str, *, status: int = 0) -> bytes:
        """Send a batch and wait for its answer."""
        self.batch(text, status=status)
        return self.answer()

    def batch(self, text: str, *, status: int = 0) -> None:
        """Send a batch."""
        self.send(MessageKind.BATCH, print_headers() + text.encode("utf-16-le"), status=status)

    def call(self, procedure: str | int, *given: tuple[str, str, Cell, bool]) -> bytes:
        """Call a procedure by name or number; an argument is name, type, value and whether it comes back."""
        if isinstance(procedure, int):
            body = struct.pack("<HH", 0xFFFF, procedure)
        else:
            body = struct.pack("<H", len(procedure)) + procedure.encode("utf-16-le")
        body += b"\x00\x00"
        for name, of, value, output in given:
            declared = sql_type(of)
            body += short_text(name) + bytes([output]) + type_info(declared) + put(declared, value)
        self.send(MessageKind.RPC, print_headers() + body)
        return self.answer()


def packet_sizes(received: bytes) -> list[int]:
    """Return the sizes of the packets in a stream of bytes."""
    sizes = []
    while received:
        (size,) = struct.unpack_from(">H", received, 2)
        sizes.append(size)
        received = received[size:]
    return sizes


def last_status(answer: bytes) -> int:
    """Return the status of the DONE that an answer ends with."""
    assert answer[-13] == _DONE
    (status,) = struct.unpack("<H", answer[-12:-10])
    return int(status)


def _login(user: str, *, reads_only: bool, odbc: bool) -> bytes:
    texts = ["host", user, PASSWORD, "bare", "server", "", "bare", "", DATABASE]
    coded = [text.encode("utf-16-le") for text in texts]
    coded[2] = scrambled(coded[2])
    fixed = (
        struct.pack("<IIIIII", 0, 0x74000004, 4096, 0, 0, 0)
        + bytes([0, 2 * odbc, 0x20 * reads_only, 0])
        + bytes(8)
    )
    place = len(fixed) + 9 * 4 + 6 + 3 * 4 + 4
    places = b""
    for one in coded:
        places += struct.pack("<HH", place, len(one) // 2)
        place += len(one)
    rest = bytes(6) + struct.pack("<HH", place, 0) * 3 + bytes(4)
    body = fixed + places + rest + b"".join(coded)
    return struct.pack("<I", len(body)) + body[4:]
