"""The order of values: what the server sorts and compares by."""

import uuid

from wrackline.control.local.sqlserver_standin.wire.moments import ZonedMoment
from wrackline.control.local.sqlserver_standin.wire.sql_types import TEXTS, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_GUID = (10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3)
"""A `uniqueidentifier` is compared by its last group first: the places of its bytes as they count."""


def order_key(of: SqlType, value: Cell) -> object:
    """Return what Python compares as the server compares the value, which is not NULL."""
    if isinstance(value, str) and of.name in TEXTS:
        return of.collation.order(value)
    if isinstance(value, uuid.UUID):
        return bytes(value.bytes_le[at] for at in _GUID)
    if isinstance(value, ZonedMoment):
        return value[:2]
    if isinstance(value, bytes):  # the shorter is filled with zeros
        return value.rstrip(b"\x00")
    return value
