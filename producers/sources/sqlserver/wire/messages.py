"""What a client sends, and the small tokens of an answer ([MS-TDS] 2.2.6.7, 2.2.7).  Pure."""

import struct
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.wire.result_columns import STREAM_BROKEN, ByteCursor, CutError

COLUMNS, ERROR, ENVIRONMENT = 0x81, 0xAA, 0xE3  # tokens
DONES: Final = frozenset({0xFD, 0xFE, 0xFF})
BATCH: Final = 1
ATTENTION: Final = 6
MORE, FAILED, COUNTED, CANCELLED, SEVERE = 0x01, 0x02, 0x10, 0x20, 0x100  # the bits of DONE's status

_HEADER: Final = 8
_LAST: Final = 1
_TRANSACTION: Final = 2  # the header that names the transaction
_BEGUN, _ENDED = 8, frozenset({9, 10, 17})  # changes: a transaction begins, or ends in one of three ways
_DONE: Final = struct.Struct("<HHQ")
_SMALL: Final = frozenset({0xA4, 0xA5, 0xA9, ERROR, 0xAB, 0xAD, ENVIRONMENT})  # behind 2 bytes of length
_STATE: Final = 0xE4  # behind 4 bytes
_SIZES: Final = MappingProxyType({0x79: 4, **dict.fromkeys(DONES, 12)})


class ServerMessage(NamedTuple):
    """An error of the server, or a notice."""

    number: int
    severity: int
    words: str


class StatementEnd(NamedTuple):
    """DONE: how a statement ended, and how many rows it touched or gave."""

    status: int
    rows: int | None


def packets(kind: int, body: bytes, size: int) -> Iterator[bytes]:
    """Cut a message into packets of at most this size."""
    room = size - _HEADER
    for number, at in enumerate(range(0, max(len(body), 1), room), 1):
        piece = body[at : at + room]
        status = _LAST if at + room >= len(body) else 0
        yield struct.pack(">BBHHBB", kind, status, len(piece) + _HEADER, 0, number & 0xFF, 0) + piece


def batch_of(sql: str, transaction: bytes) -> bytes:
    """Write a batch: which transaction it belongs to, then its text."""
    return struct.pack("<IIH8sI", 22, 18, _TRANSACTION, transaction, 1) + sql.encode("utf-16-le")


def token_body(token: int, cursor: ByteCursor) -> bytes:
    """Read a token that is neither a row nor columns: what is behind its number and its length."""
    if token in _SMALL:
        return cursor.take(cursor.number(2))
    if token == _STATE:
        return cursor.take(cursor.number(4))
    if token not in _SIZES:
        raise STREAM_BROKEN(reason=f"a token begins with {token:02x}")
    return cursor.take(_SIZES[token])


def server_message(body: bytes) -> ServerMessage:
    """Read ERROR or INFO."""
    cursor = ByteCursor(body, 0, len(body))
    try:
        number, _, severity = cursor.number(4), cursor.number(1), cursor.number(1)
        return ServerMessage(number, severity, cursor.text(2))
    except CutError:
        raise STREAM_BROKEN(reason="an error ends inside its text") from None


def statement_end(body: bytes) -> StatementEnd:
    """Read DONE, DONEPROC or DONEINPROC."""
    status, _, rows = _DONE.unpack(body)
    return StatementEnd(status, rows if status & COUNTED else None)


def transaction_of(body: bytes) -> bytes | None:
    """Read ENVCHANGE: the transaction that begins, or eight zeros where one ends; None for another change."""
    if body[:1] == bytes([_BEGUN]):
        if body[1:2] != b"\x08" or len(body) < 10:
            raise STREAM_BROKEN(reason="a transaction has no number of eight bytes")
        return body[2:10]
    return bytes(8) if body and body[0] in _ENDED else None
