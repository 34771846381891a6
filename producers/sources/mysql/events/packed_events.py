"""Events that contain other events, or themselves, compressed: back to plain events.  Pure.

    MySQL     a transaction's events behind each other, by zstd or as they are
    MariaDB   one event, its head plain: the size, then zlib

In: the packed event.  Out: whole plain events one by one, without checksums, because the checksum of the
packed event has been verified.  An event that is larger than the caller allows comes out as only its head
where that is enough (`event_kinds.CUT`), and is an error otherwise, before the memory is allocated.  The
events of a transaction have no positions of their own: all have the place of the packed event.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import (
    CUT_SIZE,
    EVENT_BROKEN,
    EVENT_UNKNOWN,
    HEADER,
    header,
    is_cut,
    reason_of,
)
from wrackline.producers.sources.mysql.events.packed_numbers import packed_number
from wrackline.schemas.errors import OperatorNeeded, define

_ZSTD, _PLAIN = 0, 255
_CHUNK = 1 << 20

EVENT_TOO_LARGE = define(
    "mysql.event_too_large",
    OperatorNeeded,
    "an event of the kind {kind} before position {position} has more than {most} bytes when it is unpacked",
    hint="raise the limit: max.row.bytes; for later transactions: SET GLOBAL"
    " binlog_transaction_compression = OFF",
)


def plain_events(data: bytes, at: int, end: int, most: int) -> Iterator[tuple[bytes, int, int]]:
    """Hand out the plain events in a packed event; `end` is where its body ends."""
    kind = data[at + 4]
    found = header(data, at)
    try:
        if kind == event_kinds.TRANSACTION_PAYLOAD:
            for event in _payload(data, at + HEADER, end, most):
                yield event, 0, len(event)
        else:
            event = _event(data, at, end, most)
            yield event, 0, len(event)
    except (struct.error, LookupError, ValueError, ArithmeticError, zlib.error, zstandard.ZstdError) as exc:
        raise EVENT_BROKEN(kind=kind, position=found.next, reason=reason_of(exc)) from None
    except _TooLargeError:
        raise EVENT_TOO_LARGE(kind=kind, position=found.next, most=most) from None


class _ByteReader(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _TooLargeError(Exception):
    """The unpacked content is larger than allowed."""


def _payload(data: bytes, at: int, end: int, most: int) -> Iterator[bytes]:
    packed, told = _open_payload(data, at, end)
    made = 0
    while head := _read(packed, HEADER):
        if len(head) < HEADER or (size := header(head, 0).size) < HEADER:
            raise ValueError("its content does not end with an event")
        if head[4] in event_kinds.PACKED:
            raise ValueError("its content is packed again")
        yield _inner(packed, head, size, most)
        made += size
    if told not in {-1, made}:
        raise ValueError("it does not unpack to the size that it states")


def _open_payload(data: bytes, at: int, end: int) -> tuple[_ByteReader, int]:
    """Return the reader of a transaction, and the size that it should have; -1: unknown."""
    method, size, told = _ZSTD, 0, -1
    while True:
        field, at = packed_number(data, at, end)
        if field == 0:
            break
        width, at = packed_number(data, at, end)
        if field == 1:
            size, _ = packed_number(data, at, end)
        elif field == 2:
            method, _ = packed_number(data, at, end)
        elif field == 3:
            told, _ = packed_number(data, at, end)
        at += width
    if at + size > end:
        raise ValueError("its content is longer than the event")
    if method not in {_ZSTD, _PLAIN}:
        raise ValueError(f"compression {method}")
    packed = data[at : at + size]
    if method == _PLAIN:
        return io.BytesIO(packed), told
    return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True), told


def _inner(packed: _ByteReader, head: bytes, size: int, most: int) -> bytes:
    """Read the rest of an event; drop the rest if the event is too large."""
    kept = size
    if size > most:
        if head[4] not in event_kinds.CUT:
            raise _TooLargeError
        kept = CUT_SIZE
    event = head + _read(packed, kept - HEADER)
    left = size - len(event)
    while left and (gone := packed.read(min(left, _CHUNK))):
        left -= len(gone)
    if left or len(event) < kept:
        raise ValueError("its content does not end with an event")
    return event


def _read(packed: _ByteReader, size: int) -> bytes:
    """Read `size` bytes, or all that is left."""
    made: list[bytes] = []
    while size and (chunk := packed.read(min(size, _CHUNK))):
        made.append(chunk)
        size -= len(chunk)
    return b"".join(made)


def _event(data: bytes, at: int, end: int, most: int) -> bytes:
    """Unpack one MariaDB event: the plain event's kind, its head, the output of zlib."""
    kind = data[at + 4]
    if kind == event_kinds.QUERY_COMPRESSED:
        return _plain(data, at, end, event_kinds.QUERY, _query_head(data, at), most)
    if kind <= event_kinds.DELETE_ROWS_COMPRESSED_V1:
        plain, extra = kind - event_kinds.WRITE_ROWS_COMPRESSED_V1 + event_kinds.WRITE_ROWS_V1, 0
    elif kind <= event_kinds.DELETE_ROWS_COMPRESSED_V2:
        plain, extra = kind - event_kinds.WRITE_ROWS_COMPRESSED_V2 + event_kinds.WRITE_ROWS_V2, 2
    else:
        raise EVENT_UNKNOWN(kind=kind, position=header(data, at).next)
    if not is_cut(data, at, end):
        if extra:
            (extra,) = struct.unpack_from("<H", data, at + HEADER + 8)
        updates = plain in {event_kinds.UPDATE_ROWS_V1, event_kinds.UPDATE_ROWS_V2}
        try:
            return _plain(data, at, end, plain, _rows_head(data, at + HEADER + 8 + extra, end, updates), most)
        except _TooLargeError:
            pass
    return _head(data, at, plain, most + CUT_SIZE) + data[at + 13 : at + CUT_SIZE]


def _plain(data: bytes, at: int, end: int, plain: int, packed_at: int, most: int) -> bytes:
    body = _zlib(data[packed_at:end], most)
    return _head(data, at, plain, packed_at - at + len(body)) + data[at + 13 : packed_at] + body


def _head(data: bytes, at: int, plain: int, size: int) -> bytes:
    """Write the head of a plain event, as far as its size."""
    return data[at : at + 4] + bytes([plain]) + data[at + 5 : at + 9] + struct.pack("<I", size)


def _query_head(data: bytes, at: int) -> int:
    database, _, status = struct.unpack_from("<BHH", data, at + HEADER + 8)
    return at + HEADER + 13 + int(status) + int(database) + 1


def _rows_head(data: bytes, at: int, end: int, updates: bool) -> int:  # noqa: FBT001 has both images, or one
    columns, at = packed_number(data, at, end)
    return at + (columns + 7) // 8 * (2 if updates else 1)


def _zlib(packed: bytes, most: int) -> bytes:
    first = packed[0]
    if first & 0xF0 != 0x80:
        raise ValueError(f"compression {first >> 4 & 7}")
    width = first & 7
    size = int.from_bytes(packed[1 : 1 + width], "big")
    if size > most:
        raise _TooLargeError
    unpacker = zlib.decompressobj()
    made = unpacker.decompress(packed[1 + width :], size + 1)
    if len(made) != size or not unpacker.eof:
        raise ValueError("it does not unpack to the size that it states")
    return made
