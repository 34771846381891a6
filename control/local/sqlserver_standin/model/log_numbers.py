"""Log sequence numbers: ten bytes, which compare as bytes do, and two other forms that the server shows.

virtual log file (4 bytes) | block (4) | record (2)        numeric(25,0): file * 10^15 + block * 10^5 +
record
"""

import struct
from decimal import Decimal

ZERO = bytes(10)
_BLOCKS_OF_FILE = 0x4000
_BLOCK_STEP = 8


def lsn(file: int, block: int, record: int) -> bytes:
    """Make one of its three parts."""
    return struct.pack(">IIH", file, block, record)


def as_number(value: bytes) -> Decimal:
    """Return the form of the views about transactions."""
    file, block, record = struct.unpack(">IIH", value)
    return Decimal(file * 10**15 + block * 10**5 + record)


def as_text(value: bytes) -> str:
    """Return the form of the views about the log."""
    file, block, record = struct.unpack(">IIH", value)
    return f"{file:08x}:{block:08x}:{record:04x}"


def incremented(value: bytes) -> bytes:
    """Return the next number, as `sys.fn_cdc_increment_lsn` does."""
    return (int.from_bytes(value, "big") + 1).to_bytes(10, "big")


class LogNumbers:
    """Gives out the numbers of log records; each is above all before it."""

    def __init__(self, file: int = 0x2A, block: int = 0x100) -> None:
        self._file, self._block, self._record = file, block, 0
        self.last = lsn(file, block, 0)

    def next(self) -> bytes:
        """Give the number of the next record; a block that is full is closed."""
        if self._record == 0xFFFF:
            self.close_block()
        self._record += 1
        self.last = lsn(self._file, self._block, self._record)
        return self.last

    def close_block(self) -> None:
        """Begin a new block, as a commit does; a file that is full is followed by the next."""
        self._block += _BLOCK_STEP
        self._record = 0
        if self._block >= _BLOCKS_OF_FILE:
            self._file, self._block = self._file + 1, _BLOCK_STEP
