"""What a client asks: SQL_BATCH (2.2.6.7), RPC (2.2.6.6) and a transaction manager's request (2.2.6.9)."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader
from wrackline.control.local.sqlserver_standin.wire.server_error import protocol_error
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, read_type
from wrackline.control.local.sqlserver_standin.wire.values import Cell, read

_PROCEDURES = {
    10: "sp_executesql",
    11: "sp_prepare",
    12: "sp_execute",
    13: "sp_prepexec",
    15: "sp_unprepare",
}
_BY_NUMBER = 0xFFFF
_OUTPUT = 0x01
_DEFAULT = 0x02


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a procedure."""

    name: str
    of: SqlType
    value: Cell
    output: bool = False


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """A procedure's name with its arguments, in their order."""

    name: str
    arguments: Sequence[Argument]


class TransactionKind(IntEnum):
    """What a transaction manager's request asks for."""

    BEGIN = 5
    COMMIT = 7
    ROLLBACK = 8
    SAVE = 9


@dataclass(frozen=True, slots=True)
class TransactionRequest:
    """One of them, with a new transaction's isolation level (0: as it is) and a savepoint's name."""

    kind: TransactionKind
    isolation: int
    name: str
    begins: bool
    """Whether a commit or a rollback begins the next transaction."""


def _behind_headers(body: bytes) -> ByteReader:
    """Skip ALL_HEADERS: their whole length comes first."""
    reader = ByteReader(body)
    length = reader.unpack("I")
    if length < 4:
        raise protocol_error(f"ALL_HEADERS has a length of {length}")
    reader.take(length - 4)
    return reader


def read_batch(body: bytes) -> str:
    """Read the text of a batch."""
    reader = _behind_headers(body)
    return reader.text(reader.rest // 2)


def read_calls(body: bytes) -> list[RemoteCall]:
    """Read the calls of an RPC request; a byte between two says that another follows."""
    reader, calls = _behind_headers(body), []
    while reader.rest:
        length = reader.unpack("H")
        if length == _BY_NUMBER:
            number = reader.unpack("H")
            if number not in _PROCEDURES:
                raise protocol_error(f"procedure number {number} is not known to the stand-in")
            name = _PROCEDURES[number]
        else:
            name = reader.text(length)
        reader.take(2)
        arguments: list[Argument] = []
        while reader.rest:
            if (first := reader.byte()) in {0x80, 0xFE, 0xFF}:
                break
            arguments.append(_argument(reader, first))
        calls.append(RemoteCall(name, arguments))
    return calls


def _argument(reader: ByteReader, units: int) -> Argument:
    name, status = reader.text(units), reader.byte()
    of, nullable = read_type(reader)
    value = read(of, reader, nullable=nullable)
    if status & _DEFAULT:
        raise protocol_error(f"parameter {name} asks for its default")
    return Argument(name, of, value, bool(status & _OUTPUT))


def read_transaction(body: bytes) -> TransactionRequest:
    """Read a transaction manager's request."""
    reader = _behind_headers(body)
    number = reader.unpack("H")
    if number not in set(TransactionKind):
        raise protocol_error(f"transaction request {number} is not known to the stand-in")
    kind = TransactionKind(number)
    isolation = reader.byte() if kind is TransactionKind.BEGIN else 0
    name = reader.take(reader.byte()).decode("utf-16-le") if reader.rest else ""
    begins = False
    if kind in {TransactionKind.COMMIT, TransactionKind.ROLLBACK} and reader.rest:
        begins = bool(reader.byte() & 1)
        isolation = reader.byte() if begins else 0
    return TransactionRequest(kind, isolation, name, begins)


def print_headers(transaction: int = 0) -> bytes:
    """Write ALL_HEADERS with the transaction's descriptor alone, as a client does."""
    return struct.pack("<IIHQI", 22, 18, 2, transaction, 1)
