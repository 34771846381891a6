"""The packets of a log that has begun: whole events from one socket, without waiting.

    3 bytes size | number | 0, then one event       a size of 2^24 - 1: the event continues in the next packet
                          | ff, an error            | fe, the end

In: the socket of a connection whose dump was requested; TLS makes no difference.  Out: one event at a time,
as a place in the block that was read, so that an event costs neither a copy nor an object for each field.  A
block does not change as long as it is referenced.  Only an event of 16 MB or more is joined from its parts.

An event that is larger than allowed comes out as only its head, if that is enough to identify its table
(`event_kinds.CUT`); the rest is dropped as it arrives.  `events.is_cut` recognizes such an event.
"""

import socket
import ssl
import struct
from collections.abc import Callable

from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import CUT_SIZE
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ENDED, log_refused
from wrackline.schemas.errors import OperatorNeeded, define

_HEAD = struct.Struct("<IB")  # size and number in one, then the kind of the packet
_WORD = struct.Struct("<I")  # the same without the kind: an event's last packet may be empty
_FULL = 0xFFFFFF
_BLOCK = 1 << 20  # the most that is read at once
_EVENT, _END, _ERROR = 0, 0xFE, 0xFF
_MOST_OF_END = 9  # bytes of a packet that says that it is the last

PACKET_TOO_LONG = define(
    "mysql.log_event_too_long",
    OperatorNeeded,
    "the log contains an event of more than {most} bytes",
    hint="raise the limit: max.row.bytes",
)


class Packets:
    """One dump's packets; `fill` reads the available data, `take` hands it out."""

    def __init__(self, wire: socket.socket, close: Callable[[], None], *, user: str, most: int) -> None:
        wire.setblocking(False)
        self._wire, self._close, self._user, self._most = wire, close, user, most
        self._data = b""
        self._at = 0
        self._number = 1  # the command was number 0
        self._needed = _HEAD.size  # the bytes behind `_at` that the next event needs
        self._arrived: list[bytes] = []  # behind `_data`
        self._arrived_size = 0
        self._parts: list[bytes] = []  # of an event that continues in the next packet
        self._parts_size = 0
        self._cut = b""  # the head of an event whose rest is dropped
        self._left = 0  # bytes of its packet that are still to be dropped
        self._goes_on = False  # and then another packet of it

    def fileno(self) -> int:
        """The socket's number, to wait for; used after a `fill` that found nothing."""
        return self._wire.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def fill(self) -> bool:
        """Read the socket's data, at most a block; return whether there was any."""
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
        """Return the next whole event: the block, and where the event begins and ends in it."""
        while not self._cut:
            data, at = self._data, self._at
            first = not self._parts
            if len(data) - at < (_HEAD.size if first else _WORD.size):
                self._needed = _HEAD.size if first else _WORD.size
                return None
            word, kind = _HEAD.unpack_from(data, at) if first else (*_WORD.unpack_from(data, at), _EVENT)
            size = word & _FULL
            end = at + 4 + size
            if size + self._parts_size > self._most:
                if not self._cuts(kind):
                    return None
                break
            if end > len(data):
                self._needed = max(4 + size, _HEAD.size)
                return None
            self._at = end
            if first and kind != _EVENT:
                self._stop(kind, data[at + 5 : end])
            self._count(word)
            if size < _FULL and first:
                return data, at + 5, end
            self._parts.append(data[at + 4 : end])
            self._parts_size += size
            if size < _FULL:
                event = b"".join(self._parts)
                self._parts.clear()
                self._parts_size = 0
                return event, 1, len(event)
        return self._dropped()

    def _count(self, word: int) -> None:
        if word >> 24 != self._number:
            raise LOG_ENDED(reason="a packet was lost on the way")
        self._number = self._number + 1 & 0xFF

    def _cuts(self, kind: int) -> bool:
        """Keep the head of an event that is too large; False: the head has not arrived yet."""
        first = not self._parts
        head = self._data[self._at + 5 :][:CUT_SIZE] if first else self._parts[0][1 : 1 + CUT_SIZE]
        if len(head) < CUT_SIZE:
            self._needed = 5 + CUT_SIZE
            return False
        if (first and kind != _EVENT) or head[4] not in event_kinds.CUT:
            raise PACKET_TOO_LONG(most=self._most)
        self._cut, self._goes_on = head, True
        self._parts.clear()
        self._parts_size = 0
        return True

    def _dropped(self) -> tuple[bytes, int, int] | None:
        """Drop the arrived part of an event that was cut; hand out its head once all has arrived."""
        while self._left or self._goes_on:
            here = len(self._data) - self._at
            if self._left == 0 and here >= _WORD.size:
                (word,) = _WORD.unpack_from(self._data, self._at)
                self._count(word)
                self._at += 4
                self._left = word & _FULL
                self._goes_on = self._left == _FULL
            elif self._left and here:
                gone = min(self._left, here)
                self._at += gone
                self._left -= gone
            else:
                self._needed = 1 if self._left else _WORD.size
                return None
        head, self._cut = self._cut, b""
        return head, 0, len(head)

    def _stop(self, kind: int, body: bytes) -> None:
        if kind == _ERROR:
            (number,) = struct.unpack_from("<H", body)
            words = body[8:] if body[2:3] == b"#" else body[2:]
            refused = log_refused(number, words.decode(errors="replace"), self._user)
            raise refused
        if kind == _END and len(body) < _MOST_OF_END:
            raise LOG_ENDED(reason="it says that this was the last packet")
        raise LOG_ENDED(reason=f"a packet begins with {kind}")
