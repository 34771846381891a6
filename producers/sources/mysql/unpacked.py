"""Events that hold others, or themselves, compressed: back to plain ones.  Pure.

    MySQL     a transaction's events behind each other, by zstd or as they are
    MariaDB   one event, its head plain: the size, then zlib

In: the packed event. Out: bytes with whole plain events, none with a checksum, for that of the packed one has
been verified.  What unpacks to more than the caller allows is an error before the memory is taken.  The
events of a transaction have no positions of their own: all stand where the packed one does.
"""

import struct
import zlib
from collections.abc import Iterator

import zstandard

from wrackline.producers.sources.mysql import kinds
from wrackline.producers.sources.mysql.events import EVENT_BROKEN, EVENT_UNKNOWN, HEADER, header, in_short
from wrackline.producers.sources.mysql.numbers import packed_number
from wrackline.schemas.errors import OperatorNeeded, define

_ZSTD, _PLAIN = 0, 255
_CHUNK = 1 << 20

EVENT_TOO_LARGE = define(
    "mysql.event_too_large",
    OperatorNeeded,
    "an event of the kind {kind} before position {position} has more than {most} bytes when it is unpacked",
    hint="let the pipeline hold more: max.row.bytes; for later transactions: SET GLOBAL"
    " binlog_transaction_compression = OFF",
)


def unpacked(data: bytes, at: int, end: int, most: int) -> bytes:
    """Return the plain events that a packed one holds; `end` is where its body ends."""
    kind = data[at + 4]
    found = header(data, at)
    try:
        if kind == kinds.TRANSACTION_PAYLOAD:
            made = _payload(data, at + HEADER, end, most)
        else:
            made = _event(data, at, end, most)
    except (struct.error, LookupError, ValueError, ArithmeticError, zlib.error, zstandard.ZstdError) as exc:
        raise EVENT_BROKEN(kind=kind, position=found.next, reason=in_short(exc)) from None
    except _TooLargeError:
        raise EVENT_TOO_LARGE(kind=kind, position=found.next, most=most) from None
    return made


def spans(events: bytes) -> Iterator[tuple[int, int]]:
    """Say where each of the events that lie behind each other begins and ends."""
    at = 0
    while at < len(events):
        size = header(events, at).size if at + HEADER <= len(events) else 0
        if size < HEADER or at + size > len(events):
            raise EVENT_BROKEN(
                kind=kinds.TRANSACTION_PAYLOAD, position=0, reason="what it holds does not end with an event"
            )
        if events[at + 4] in kinds.PACKED:
            raise EVENT_BROKEN(
                kind=kinds.TRANSACTION_PAYLOAD, position=0, reason="what it holds is packed once more"
            )
        yield at, at + size
        at += size


class _TooLargeError(Exception):
    """What is packed is larger than allowed."""


def _payload(data: bytes, at: int, end: int, most: int) -> bytes:
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
        raise ValueError("what it holds is longer than it is")
    if method not in {_ZSTD, _PLAIN}:
        raise ValueError(f"compression {method}")
    packed = data[at : at + size]
    made = packed if method == _PLAIN else _zstd(packed, most)
    if told not in {-1, len(made)}:
        raise ValueError("it does not unpack to the size that it tells")
    return made


def _zstd(packed: bytes, most: int) -> bytes:
    made: list[bytes] = []
    left = most
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
        while chunk := reader.read(_CHUNK):
            made.append(chunk)
            left -= len(chunk)
            if left < 0:
                raise _TooLargeError
    return b"".join(made)


def _event(data: bytes, at: int, end: int, most: int) -> bytes:
    """Unpack one event of MariaDB's: the plain one's kind, its head, what zlib gives."""
    kind = data[at + 4]
    if kind == kinds.QUERY_COMPRESSED:
        plain, packed_at = kinds.QUERY, _query_head(data, at)
    elif kind <= kinds.DELETE_ROWS_COMPRESSED_V1:
        plain = kind - kinds.WRITE_ROWS_COMPRESSED_V1 + kinds.WRITE_ROWS_V1
        packed_at = _rows_head(data, at + HEADER + 8, end, plain == kinds.UPDATE_ROWS_V1)
    elif kind <= kinds.DELETE_ROWS_COMPRESSED_V2:
        plain = kind - kinds.WRITE_ROWS_COMPRESSED_V2 + kinds.WRITE_ROWS_V2
        (extra,) = struct.unpack_from("<H", data, at + HEADER + 8)
        packed_at = _rows_head(data, at + HEADER + 8 + extra, end, plain == kinds.UPDATE_ROWS_V2)
    else:
        raise EVENT_UNKNOWN(kind=kind, position=header(data, at).next)
    body = _zlib(data[packed_at:end], most)
    size = packed_at - at + len(body)
    head = data[at : at + 4] + bytes([plain]) + data[at + 5 : at + 9] + struct.pack("<I", size)
    return head + data[at + 13 : packed_at] + body


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
        raise ValueError("it does not unpack to the size that it tells")
    return made
