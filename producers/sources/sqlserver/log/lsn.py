"""Log sequence numbers: ten bytes whose order is that of the log.  Pure.

    0000002a 000001f8 0003     the virtual log file, a block in it, a record in the block

They stay bytes everywhere.  As text they would be compared by somebody's collation, and as numbers they have
two forms: the server's own `numeric(25,0)` is decimal digits of the three parts, one behind the other.
"""

import re
from typing import Final, TypeAlias

Lsn: TypeAlias = bytes

SIZE: Final = 10
ZERO: Final = bytes(SIZE)
HIGHEST: Final = b"\xff" * SIZE
_TEXT = re.compile(r"[0-9a-fA-F]{20}|[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:[0-9a-fA-F]{4}")


def parse_lsn(text: str) -> Lsn:
    """Read an LSN as our offsets have it, or as the server's tools and Debezium write it."""
    if _TEXT.fullmatch(text) is None:
        raise ValueError("an LSN is 20 hexadecimal digits")
    return bytes.fromhex(text.replace(":", ""))


def lsn_text(lsn: Lsn) -> str:
    """Write an LSN in three parts, as Debezium's events have it."""
    digits = lsn.hex()
    return f"{digits[:8]}:{digits[8:16]}:{digits[16:]}"


def lsn_of_number(number: int) -> Lsn:
    """Read an LSN that a view has as `numeric(25,0)`: digits, then 10 for the block and 5 for the record."""
    rest, record = divmod(number, 10**5)
    file, block = divmod(rest, 10**10)
    try:
        return file.to_bytes(4, "big") + block.to_bytes(4, "big") + record.to_bytes(2, "big")
    except OverflowError:
        raise ValueError("an LSN whose parts do not fit into 4, 4 and 2 bytes") from None


def next_lsn(lsn: Lsn) -> Lsn:
    """Return the lowest LSN above this one."""
    if lsn == HIGHEST:
        raise ValueError("there is no LSN above the highest one")
    return (int.from_bytes(lsn, "big") + 1).to_bytes(SIZE, "big")


def previous_lsn(lsn: Lsn) -> Lsn:
    """Return the highest LSN below this one."""
    if lsn == ZERO:
        raise ValueError("there is no LSN below the lowest one")
    return (int.from_bytes(lsn, "big") - 1).to_bytes(SIZE, "big")
