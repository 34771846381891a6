"""MySQL's GTID event with a tag, which is written with the server's serialisation library.  Pure.

    version 1 | size | last field that may not be skipped | number of a field, its value | …

Fields are numbered from 0 and come in order; a field that repeats another field is left out.  A newer server
may add fields: we skip them, unless the server says that they must be understood.
"""

import uuid
from functools import lru_cache
from typing import NamedTuple

from wrackline.producers.sources.mysql.events.gtids import MySqlGtid
from wrackline.producers.sources.mysql.events.packed_numbers import serialised_number, serialised_signed

_FLAGS, _UUID, _NUMBER, _TAG, _LAST_COMMITTED, _SEQUENCE, _COMMITTED, _COMMITTED_FIRST, _LENGTH = range(9)
_LAST_KNOWN = 11  # versions of both servers and the ticket of a group commit follow
_UUID_BYTES = 16
_SIGNED = frozenset({_NUMBER, _LAST_COMMITTED, _SEQUENCE})


class TaggedGtid(NamedTuple):
    """What we take from the event; times in microseconds."""

    gtid: MySqlGtid
    committed_us: int
    committed_first_us: int
    length: int


@lru_cache(1024)  # each transaction has one, and few servers wrote them all
def source(uuid_bytes: bytes, tag: str) -> str:
    """Name the source of the numbers: a server's UUID, and a tag if there is one."""
    name = str(uuid.UUID(bytes=uuid_bytes))
    return f"{name}:{tag}" if tag else name


def fields(data: bytes, at: int, end: int) -> TaggedGtid:
    """Read the event's body."""
    _, at = serialised_number(data, at, end)
    _, at = serialised_number(data, at, end)
    needed, at = serialised_number(data, at, end)
    if needed > _LAST_KNOWN + 1:
        raise ValueError(f"field {needed - 1} is new and must be understood")
    numbers: dict[int, int] = {}
    server, tag = b"", ""
    while at < end:
        field, at = serialised_number(data, at, end)
        if field > _LAST_KNOWN:
            break
        if field == _UUID:
            octets = []
            for _ in range(_UUID_BYTES):
                octet, at = serialised_number(data, at, end)
                octets.append(octet)
            server = bytes(octets)
        elif field == _TAG:
            size, at = serialised_number(data, at, end)
            tag, at = data[at : at + size].decode("ascii"), at + size
        else:
            numbers[field], at = (serialised_signed if field in _SIGNED else serialised_number)(data, at, end)
    if len(server) != _UUID_BYTES or _NUMBER not in numbers:
        raise ValueError("a GTID without server or number")
    committed = numbers.get(_COMMITTED, 0)
    return TaggedGtid(
        MySqlGtid(source(server, tag), numbers[_NUMBER]),
        committed,
        numbers.get(_COMMITTED_FIRST, committed),
        numbers.get(_LENGTH, 0),
    )
