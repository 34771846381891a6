"""The packets of a log that has begun to flow: whole events out of one socket, never waited for.

    3 bytes size | number | 0, then one event        a size of 2^24 - 1: the event goes on in the next packet
                          | ff, an error             | fe, the end

In: the socket of a connection whose dump has been asked for; TLS makes no difference.  Out: an event at a
time, as a place in the block that was read, so that an event costs neither a copy nor an object a field.  A
block stays as it is for as long as anybody holds it.  Only an event of 16 MB and more is put together anew.
"""

import socket
import ssl
import struct
from collections.abc import Callable

from wrackline.producers.sources.mysql.dump_refusals import LOG_ENDED, log_refused
from wrackline.schemas.errors import OperatorNeeded, define

_HEAD = struct.Struct("<IB")  # size and number in one, then what kind of packet it is
_FULL = 0xFFFFFF
_BLOCK = 1 << 20  # read at a time at most
_EVENT, _END, _ERROR = 0, 0xFE, 0xFF
_MOST_OF_END = 9  # bytes of a packet that says that it was the last

PACKET_TOO_LONG = define(
    "mysql.log_event_too_long",
    OperatorNeeded,
    "the log has an event of more than {most} bytes",
    hint="let the pipeline hold more: max.row.bytes",
)


class Packets:
    """One dump's packets; `fill` reads what is there, `take` hands it out."""

    def __init__(self, wire: socket.socket, close: Callable[[], None], *, user: str, most: int) -> None:
        wire.setblocking(False)
        self._wire, self._close, self._user, self._most = wire, close, user, most
        self._data = b""
        self._at = 0
        self._number = 1  # the command was number 0
        self._needed = _HEAD.size  # so many bytes behind `_at` before there is anything to take
        self._arrived: list[bytes] = []  # behind `_data`
        self._arrived_size = 0
        self._parts: list[bytes] = []  # of an event that goes on in the next packet
        self._parts_size = 0

    def fileno(self) -> int:
        """The socket's number, for select; after a `fill` that found nothing."""
        return self._wire.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def fill(self) -> bool:
        """Read what the socket holds, a block at most; whether there was anything."""
        left = _BLOCK
        try:
            while left > 0 and (chunk := self._wire.recv(left)):
                self._arrived.append(chunk)
                left -= len(chunk)
            if left == _BLOCK:
                raise LOG_ENDED(reason="the connection was closed")
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as exc:
            raise LOG_ENDED(reason=exc) from None
        self._arrived_size += _BLOCK - left
        if self._arrived and len(self._data) - self._at + self._arrived_size >= self._needed:
            self._data = b"".join((memoryview(self._data)[self._at :], *self._arrived))
            self._at = 0
            self._arrived.clear()
            self._arrived_size = 0
        return left < _BLOCK

    def take(self) -> tuple[bytes, int, int] | None:
        """Return the next whole event: the block, and where in it the event begins and ends."""
        while True:
            data, at = self._data, self._at
            if len(data) - at < _HEAD.size:
                self._needed = _HEAD.size
                return None
            word, kind = _HEAD.unpack_from(data, at)
            size = word & _FULL
            end = at + 4 + size
            if size + self._parts_size > self._most:
                raise PACKET_TOO_LONG(most=self._most)
            if end > len(data):
                self._needed = max(4 + size, _HEAD.size)
                return None
            self._at = end
            first = not self._parts
            if first and kind != _EVENT:
                self._stop(kind, data[at + 5 : end])
            if word >> 24 != self._number:
                raise LOG_ENDED(reason="a packet is missing on the way")
            self._number = self._number + 1 & 0xFF
            if size < _FULL and first:
                return data, at + 5, end
            self._parts.append(data[at + 4 : end])
            self._parts_size += size
            if size < _FULL:
                event = b"".join(self._parts)
                self._parts.clear()
                self._parts_size = 0
                return event, 1, len(event)

    def _stop(self, kind: int, body: bytes) -> None:
        if kind == _ERROR:
            (number,) = struct.unpack_from("<H", body)
            words = body[8:] if body[2:3] == b"#" else body[2:]
            refused = log_refused(number, words.decode(errors="replace"), self._user)
            raise refused
        if kind == _END and len(body) < _MOST_OF_END:
            raise LOG_ENDED(reason="it says that this was the last of it")
        raise LOG_ENDED(reason=f"a packet begins with {kind}")
