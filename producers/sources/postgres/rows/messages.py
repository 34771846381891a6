"""pgoutput's messages that are not rows, as frozen values: parsed once, at the border.

The first letter of a message says what it is; the row decoder takes rows (I, U, D).
"""

import struct
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.events.frame import moment

_T = TypeVar("_T")

MESSAGE_BROKEN = define(
    "pg.message_broken",
    Definite,
    "a message of the log that begins with {letter} ({size} bytes) has an unknown layout",
    hint="report it with the server's version: SELECT version()",
)

_POSTGRES_EPOCH_US = 946_684_800_000_000  # 2000-01-01, from which the server counts microseconds


class BeginMessage(NamedTuple):
    """B: `lsn` is the start of the transaction's commit record."""

    lsn: int
    committed_us: int
    xid: int

    @property
    def committed_ms(self) -> int:
        """The moment of its commit, in milliseconds."""
        return self.committed_us // 1000


class CommitMessage(NamedTuple):
    """C: `end` is where the commit record ends."""

    lsn: int
    end: int
    committed_ms: int


class RelationColumn(NamedTuple):
    """One column of a relation, as the log names it."""

    name: str
    identity: bool  # part of the replica identity
    type_oid: int
    typmod: int


class Relation(NamedTuple):
    """R: a table's shape from here on."""

    oid: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]


class TruncateMessage(NamedTuple):
    """T: these tables were truncated together."""

    oids: tuple[int, ...]


class LogicalMessage(NamedTuple):
    """M: a session called pg_logical_emit_message."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


def _broken_as_error(parse: Callable[[bytes, int], _T]) -> Callable[[bytes, int], _T]:
    """Raise our own error where the bytes are not this message; Python's error text would show the bytes."""

    @wraps(parse)
    def parsed(data: bytes, at: int) -> _T:
        try:
            return parse(data, at)
        except (struct.error, LookupError, ValueError, ArithmeticError):
            raise MESSAGE_BROKEN(letter=chr(data[at - 1]), size=len(data) - at + 1) from None

    return parsed


@_broken_as_error
def begin(data: bytes, at: int) -> BeginMessage:
    """Read what follows a B."""
    lsn, committed, xid = struct.unpack_from(">QqI", data, at)
    return BeginMessage(lsn, moment(committed + _POSTGRES_EPOCH_US), xid)


@_broken_as_error
def commit(data: bytes, at: int) -> CommitMessage:
    """Read what follows a C: flags that are always 0, then the places."""
    lsn, end, committed = struct.unpack_from(">xQQq", data, at)
    return CommitMessage(lsn, end, moment(committed + _POSTGRES_EPOCH_US) // 1000)


@_broken_as_error
def relation(data: bytes, at: int) -> Relation:
    """Read what follows an R."""
    (oid,) = struct.unpack_from(">I", data, at)
    schema, at = _text(data, at + 4)
    name, at = _text(data, at)
    replica_identity, count = struct.unpack_from(">cH", data, at)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        column, at = _text(data, at + 1)
        type_oid, typmod = struct.unpack_from(">Ii", data, at)
        at += 8
        columns.append(RelationColumn(column, bool(flags & 1), type_oid, typmod))
    return Relation(oid, schema or "pg_catalog", name, replica_identity.decode(), tuple(columns))


@_broken_as_error
def truncate(data: bytes, at: int) -> TruncateMessage:
    """Read what follows a T: the count, the options, the relations."""
    (count,) = struct.unpack_from(">I", data, at)
    return TruncateMessage(struct.unpack_from(f">{count}I", data, at + 5))


@_broken_as_error
def message(data: bytes, at: int) -> LogicalMessage:
    """Read what follows an M."""
    flags, lsn = struct.unpack_from(">BQ", data, at)
    prefix, at = _text(data, at + 9)
    (size,) = struct.unpack_from(">I", data, at)
    if size > len(data) - at - 4:
        raise ValueError("a message that is shorter than it says")
    return LogicalMessage(bool(flags & 1), lsn, prefix, data[at + 4 : at + 4 + size])


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Read a text that ends with a zero byte; return it and the place behind."""
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1
