"""A row's cells in one piece of bytes: the length of each, then its bytes.  Pure.

    length (4 bytes; ffffffff: NULL) | cell | length | cell ...

Pages and chunks are kept so between the wire and Avro: a row is one object, and its cells are found again
without one for each.
"""

import struct
from collections.abc import Sequence
from typing import Final

NULL_LENGTH: Final = 0xFFFFFFFF
_NULL: Final = b"\xff\xff\xff\xff"
_length = struct.Struct("<I").pack


def pack_row(cells: Sequence[bytes | None]) -> bytes:
    """Write the cells of a row."""
    parts: list[bytes] = []
    for cell in cells:
        if cell is None:
            parts.append(_NULL)
        else:
            parts += (_length(len(cell)), cell)
    return b"".join(parts)


def unpack_row(row: bytes) -> list[bytes | None]:
    """Read the cells of a row."""
    cells: list[bytes | None] = []
    at = 0
    while at < len(row):
        size = int.from_bytes(row[at : at + 4], "little")
        at += 4
        if size == NULL_LENGTH:
            cells.append(None)
            continue
        cells.append(row[at : at + size])
        at += size
    return cells
