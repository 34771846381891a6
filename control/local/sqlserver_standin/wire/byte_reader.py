"""Reads numbers and texts off bytes that came from a client."""

import struct

from wrackline.control.local.sqlserver_standin.wire.server_error import protocol_error


class ByteReader:
    """A place in bytes; reading over the end is a fault of the client's protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    @property
    def rest(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self.at

    def take(self, count: int) -> bytes:
        """Take so many bytes."""
        if count > self.rest:
            raise protocol_error(f"{count} bytes are announced, {self.rest} are there")
        self.at += count
        return self._data[self.at - count : self.at]

    def unpack(self, form: str) -> int:
        """Take one number of a `struct` format, little-endian."""
        (number,) = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))
        return int(number)

    def byte(self) -> int:
        """Take one byte."""
        return self.take(1)[0]

    def text(self, units: int) -> str:
        """Take a text of so many UTF-16 units."""
        return self.take(units * 2).decode("utf-16-le", "surrogatepass")

    def short_text(self) -> str:
        """Take a B_VARCHAR: its length in units is one byte."""
        return self.text(self.byte())

    def long_text(self) -> str:
        """Take a US_VARCHAR: its length in units is two bytes."""
        return self.text(self.unpack("H"))


def short_text(text: str) -> bytes:
    """Write a B_VARCHAR."""
    coded = text.encode("utf-16-le", "surrogatepass")
    return bytes([len(coded) // 2]) + coded


def long_text(text: str) -> bytes:
    """Write a US_VARCHAR."""
    coded = text.encode("utf-16-le", "surrogatepass")
    return struct.pack("<H", len(coded) // 2) + coded
