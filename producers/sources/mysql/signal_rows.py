"""A row of the signal table: id, type and data, wherever these stand among its columns.  Pure.

In: the row's event, as its decoder wrote it.  So the texts are in UTF-8, whatever the columns' charset is.
Of a table that names them otherwise, they are the first three.
"""

from dataclasses import replace

from wrackline.schemas.projection import Plain, Projection, everything
from wrackline.schemas.table import KeyKind, TableSchema

Order = tuple[int, int, int]
"""Where id, type and data stand in what is written of a row."""

_NAMES = ("id", "type", "data")
_FIRST = (0, 1, 2)

_BEHIND_IDS = 5  # the magic byte and the id of a schema
_BEFORE = 1  # null, of a new row


def written(source: TableSchema) -> Projection:
    """Leave out what is no part of a signal, for it may be no text."""
    actions = tuple(Plain.KEEP if column.name.lower() in _NAMES else Plain.DROP for column in source.columns)
    if actions.count(Plain.KEEP) != len(_NAMES):
        return everything(source)
    source = replace(source, key=(), key_kind=KeyKind.NONE)
    kept = tuple(column for column in source.columns if column.name.lower() in _NAMES)
    return Projection(source, replace(source, columns=kept), actions)


def order_of(table: TableSchema) -> Order:
    """Return where the three stand in what is written of its rows."""
    names = [column.name.lower() for column in table.columns]
    if sorted(names) != sorted(_NAMES):
        return _FIRST
    return names.index("id"), names.index("type"), names.index("data")


def texts(value: bytes, order: Order) -> tuple[str, str, str]:
    """Return id, type and data; one that is null, or that the table lacks, is empty."""
    at = _BEHIND_IDS + _BEFORE + 1
    found: list[str] = []
    for _ in range(3):
        there, at = value[at], at + 1
        if not there:
            found.append("")
            continue
        size, at = _long(value, at)
        found.append(value[at : at + size].decode())
        at += size
    of_id, of_type, of_data = order
    return found[of_id], found[of_type], found[of_data]


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read an Avro long that is not negative; return the place behind it."""
    number = shift = 0
    while True:
        part, at = value[at], at + 1
        number |= (part & 0x7F) << shift
        shift += 7
        if part < 0x80:
            return number >> 1, at
