"""Bytes to and from a client: plain, in TLS whose handshake is wrapped in packets (TDS 7), or in TLS (TDS 8).

TLS runs over memory, so one socket serves a log-in that is encrypted and a rest that is not.
"""

import socket
import ssl
from collections.abc import Callable

from wrackline.control.local.sqlserver_standin.wire.packets import ClientMessage, Incoming, MessageKind, cut
from wrackline.producers.kit.readable import readable

_PIECE = 65_536


class Gone(Exception):  # noqa: N818 - a client that ends is no error
    """The client has closed the connection."""


class Transport:
    """A socket with, at times, TLS over it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._incoming = Incoming()
        self._raw_in, self._raw_out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None

    def is_tls(self) -> bool:
        """Say whether the client begins with TLS, as TDS 8 does."""
        first = self._socket.recv(1, socket.MSG_PEEK)
        return first == b"\x16"

    def start_strict(self, context: ssl.SSLContext) -> None:
        """Do the handshake on the bare socket."""
        self._tls = self._handshake(context, self._flush, self._received)

    def start_wrapped(self, context: ssl.SSLContext) -> None:
        """Do the handshake inside messages of type PRELOGIN."""
        tls = self._handshake(context, self._flush_wrapped, lambda: self.message().body)
        self._raw_in.write(self._incoming.take_rest())
        self._tls = tls

    def stop_tls(self) -> None:
        """Go on without TLS: what is encrypted was the log-in alone."""
        self._tls = None
        self._incoming.feed(self._raw_in.read())

    def _handshake(
        self, context: ssl.SSLContext, flush: Callable[[], None], receive: Callable[[], bytes]
    ) -> ssl.SSLObject:
        tls = context.wrap_bio(self._raw_in, self._raw_out, server_side=True)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                flush()
                self._raw_in.write(receive())
            else:
                flush()
                return tls

    def _flush_wrapped(self) -> None:
        if body := self._raw_out.read():
            for packet in cut(MessageKind.PRELOGIN, body):
                self._socket.sendall(packet)

    def _flush(self) -> None:
        if body := self._raw_out.read():
            self._socket.sendall(body)

    def _received(self) -> bytes:
        try:
            data = self._socket.recv(_PIECE)
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        return data

    def _feed(self) -> None:
        """Take what the socket has, waiting for at least a byte."""
        if self._tls is None:
            self._incoming.feed(self._received())
            return
        while True:
            try:
                data = self._tls.read(_PIECE)
                break
            except ssl.SSLWantReadError:
                self._raw_in.write(self._received())
        if not data:
            raise Gone
        self._incoming.feed(data)

    def message(self) -> ClientMessage:
        """Wait for the next message."""
        while (message := self._incoming.next()) is None:
            self._feed()
        return message

    def waiting_message(self) -> ClientMessage | None:
        """Return a message that has come already, without waiting."""
        while readable([self._socket], 0):
            self._feed()
            if message := self._incoming.next():
                return message
        return None

    def send(self, data: bytes) -> None:
        """Send bytes."""
        try:
            if self._tls is None:
                self._socket.sendall(data)
            else:
                self._tls.write(data)
                self._flush()
        except OSError:
            raise Gone from None
