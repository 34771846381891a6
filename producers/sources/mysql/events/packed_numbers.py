"""MySQL's two forms of an integer in as few bytes as possible.  Pure.

In the protocol and in rows, a first byte below 251 is the number; 252, 253 and 254 say that two, three or
eight bytes follow.  In MySQL's serialisation library the 1 bits at the low end of the first byte count the
bytes that follow.
"""

_WIDTHS = {252: 2, 253: 3, 254: 8}


def packed_number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a length-encoded integer; return it and the place behind it."""
    first = data[at]
    if first < 251:
        return first, at + 1
    width = _WIDTHS.get(first, 0)
    behind = at + 1 + width
    if not width or behind > end:
        raise ValueError("not a length-encoded integer")
    return int.from_bytes(data[at + 1 : behind], "little"), behind


def serialised_number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read an unsigned integer of MySQL's serialisation library; return it and the place behind it."""
    first = data[at]
    more = 0
    while first >> more & 1:
        more += 1
    behind = at + 1 + more
    if behind > end:
        raise ValueError("an integer that is longer than its event")
    if more == 8:
        return int.from_bytes(data[at + 1 : behind], "little"), behind
    return int.from_bytes(data[at:behind], "little") >> more + 1, behind


def serialised_signed(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a signed integer, whose lowest bit is the sign."""
    number, behind = serialised_number(data, at, end)
    return number >> 1 ^ -(number & 1), behind
