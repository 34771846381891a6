"""Tokens: what an answer is made of ([MS-TDS] 2.2.7).  Each function writes one."""

import struct
from collections.abc import Sequence
from enum import IntFlag
from typing import NamedTuple

from wrackline.control.local.sqlserver_standin.wire.byte_reader import long_text, short_text
from wrackline.control.local.sqlserver_standin.wire.collations import Collation
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import LONG, SqlType, type_info
from wrackline.control.local.sqlserver_standin.wire.values import Cell, put

TDS_7_4 = 0x74000004
SELECT_COMMAND = 0xC1
EXECUTE_COMMAND = 0xE0
ATTENTION_COMMAND = 0xFD
_NULLABLE = 0x0001
_CASE_COUNTS = 0x0002
_IDENTITY = 0x0010
_COMPUTED = 0x0020
_ROWVERSION = 0x50


class Done(IntFlag):
    """The bits of DONE's status."""

    FINAL = 0x00
    MORE = 0x01
    ERROR = 0x02
    IN_TRANSACTION = 0x04
    COUNT = 0x10
    ATTENTION = 0x20
    SEVERE = 0x100


class ShownColumn(NamedTuple):
    """A column of a result."""

    name: str
    of: SqlType
    nullable: bool = True
    identity: bool = False
    computed: bool = False
    table: tuple[str, ...] = ()


def environment(kind: int, new: str, old: str = "") -> bytes:
    """Write ENVCHANGE for what is a text: 1 database, 2 language, 4 packet size."""
    return _environment(bytes([kind]) + short_text(new) + short_text(old))


def environment_bytes(kind: int, new: bytes, old: bytes = b"") -> bytes:
    """Write ENVCHANGE for what is bytes: 7 collation, 8 to 10 begin, commit and rollback, 18 a reset."""
    return _environment(bytes([kind, len(new)]) + new + bytes([len(old)]) + old)


def routing(host: str, port: int) -> bytes:
    """Write ENVCHANGE 20: the client is to connect to another server."""
    value = struct.pack("<BH", 0, port) + long_text(host)
    return _environment(b"\x14" + struct.pack("<H", len(value)) + value + b"\x00\x00")


def _environment(body: bytes) -> bytes:
    return b"\xe3" + struct.pack("<H", len(body)) + body


def collation_change(collation: Collation) -> bytes:
    """Write ENVCHANGE 7."""
    return environment_bytes(7, collation.on_the_wire())


def error(one: ServerError, server: str, line: int = 1) -> bytes:
    """Write ERROR."""
    return _message(b"\xaa", one, server, line)


def info(number: int, text: str, server: str) -> bytes:
    """Write INFO."""
    return _message(b"\xab", ServerError(number, text, severity=0), server, 1)


def _message(token: bytes, one: ServerError, server: str, line: int) -> bytes:
    head = struct.pack("<iBB", one.number, one.state, one.severity)
    body = head + long_text(one.text) + short_text(server) + short_text("") + struct.pack("<i", line)
    return token + struct.pack("<H", len(body)) + body


def login_ack(program: str, version: tuple[int, int, int], tds: int = TDS_7_4) -> bytes:
    """Write LOGINACK."""
    major, minor, build = version
    body = b"\x01" + struct.pack(">I", tds) + short_text(program) + struct.pack(">BBH", major, minor, build)
    return b"\xad" + struct.pack("<H", len(body)) + body


def features(acknowledged: Sequence[tuple[int, bytes]]) -> bytes:
    """Write FEATUREEXTACK."""
    each = (bytes([number]) + struct.pack("<I", len(data)) + data for number, data in acknowledged)
    return b"\xae" + b"".join(each) + b"\xff"


def security(message: bytes) -> bytes:
    """Write SSPI: the server's turn in an exchange of security messages."""
    return b"\xed" + struct.pack("<H", len(message)) + message


def done(status: Done, rows: int = 0, command: int = 0) -> bytes:
    """Write DONE; the command is what the server calls a statement, 0 where it has no name for it."""
    return struct.pack("<BHHQ", 0xFD, status, command, rows)


def done_in_procedure(status: Done, rows: int = 0, command: int = 0) -> bytes:
    """Write DONEINPROC: a statement of a procedure has ended."""
    return struct.pack("<BHHQ", 0xFF, status, command, rows)


def done_procedure(status: Done) -> bytes:
    """Write DONEPROC: a procedure has ended."""
    return struct.pack("<BHHQ", 0xFE, status, EXECUTE_COMMAND, 0)


def return_status(value: int) -> bytes:
    """Write RETURNSTATUS."""
    return struct.pack("<Bi", 0x79, value)


def return_value(ordinal: int, name: str, of: SqlType, value: Cell) -> bytes:
    """Write RETURNVALUE: an output parameter."""
    head = struct.pack("<BH", 0xAC, ordinal) + short_text(name) + b"\x01" + struct.pack("<IH", 0, _NULLABLE)
    return head + type_info(of) + put(of, value)


def column_metadata(columns: Sequence[ShownColumn]) -> bytes:
    """Write COLMETADATA."""
    return struct.pack("<BH", 0x81, len(columns)) + b"".join(_column(one) for one in columns)


def _column(one: ShownColumn) -> bytes:
    flags = (one.nullable and _NULLABLE) | (one.identity and _IDENTITY) | (one.computed and _COMPUTED)
    flags |= 0 if one.of.collation.flags & 1 else _CASE_COUNTS
    user_type = _ROWVERSION if one.of.name == "timestamp" else 0
    head = struct.pack("<IH", user_type, flags) + type_info(one.of, nullable=one.nullable)
    parts = one.table if one.of.name in LONG else None
    table = b"" if parts is None else bytes([len(parts)]) + b"".join(map(long_text, parts))
    return head + table + short_text(one.name)


def order(ordinals: Sequence[int]) -> bytes:
    """Write ORDER: by which columns, counted from 1, the rows are sorted."""
    return struct.pack(f"<BH{len(ordinals)}H", 0xA9, 2 * len(ordinals), *ordinals)


def row(columns: Sequence[ShownColumn], cells: Sequence[Cell]) -> bytes:
    """Write ROW."""
    pairs = zip(columns, cells, strict=True)
    return b"\xd1" + b"".join([put(one.of, cell, nullable=one.nullable) for one, cell in pairs])


def short_row(columns: Sequence[ShownColumn], cells: Sequence[Cell]) -> bytes:
    """Write NBCROW: a bit for each column says whether it is NULL, and what is NULL has no bytes."""
    bits = bytearray((len(columns) + 7) // 8)
    body = []
    for at, (one, cell) in enumerate(zip(columns, cells, strict=True)):
        if cell is None:
            bits[at // 8] |= 1 << at % 8
        else:
            body.append(put(one.of, cell, nullable=one.nullable))
    return b"\xd2" + bytes(bits) + b"".join(body)
