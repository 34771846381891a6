"""A row of the signal table: id, type and data, its first three columns.  Pure.

In: the row's event, as its decoder wrote it.  So the texts are in UTF-8, whatever the columns' charset is.
"""

_BEHIND_IDS = 5  # the magic byte and the id of a schema
_BEFORE = 1  # null, of a new row


def texts(value: bytes) -> tuple[str, str, str]:
    """Return the three texts; one that is null, or that the table lacks, is empty."""
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
    return found[0], found[1], found[2]


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read an Avro long that is not negative; return the place behind it."""
    number = shift = 0
    while True:
        part, at = value[at], at + 1
        number |= (part & 0x7F) << shift
        shift += 7
        if part < 0x80:
            return number >> 1, at
