"""MySQL's less common forms, in plain Python: wide numbers, printed texts, MariaDB's own types.

In: a cell's bytes as the log has them.  Out: Avro's bytes of a number, or a text.
"""

import socket
import struct
import uuid
import zlib
from collections.abc import Sequence

from wrackline.producers.rows.unfit_values import Unfit

NO_UTF8 = "it is text that is not UTF-8"
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # by the number of decimal digits
_MOST_DECPT = 15  # digits before the point, or zeros behind it, of a number written without exponent


def utf8(raw: bytes) -> bytes:
    """Return a text unchanged, if it is UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise Unfit(NO_UTF8) from None
    return raw


def units(packed: bytes, digits: int, scale: int) -> int:
    """Return a packed decimal without its point."""
    negative = packed[0] < 128
    raw = bytes([packed[0] ^ 128]) + packed[1:]
    if negative:
        raw = bytes(byte ^ 255 for byte in raw)
    whole = digits - scale
    groups = [whole % 9] + [9] * (whole // 9) + [9] * (scale // 9) + [scale % 9]
    number = at = 0
    for group in groups:
        end = at + _DIGIT_BYTES[group]
        part = int.from_bytes(raw[at:end], "big")
        if part >= 10**group:
            raise Unfit("it has more digits than its type")
        number = number * 10**group + part
        at = end
    return -number if negative else number


def wide_units(packed: bytes, digits: int, scale: int) -> bytes:
    """Return the same in big-endian two's complement, in as few bytes as possible."""
    number = units(packed, digits, scale)
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def decimal_text(number: int, scale: int) -> bytes:
    """Write a decimal with all of its places, as the server does."""
    text = f"{abs(number):0{scale + 1}d}"
    sign = "-" if number < 0 else ""
    return f"{sign}{text[:-scale]}.{text[-scale:]}".encode() if scale else f"{sign}{text}".encode()


def plain_decimal(text: bytes) -> bytes:
    """Remove the zeros that ZEROFILL puts before a number."""
    sign, rest = (b"-", text[1:]) if text.startswith(b"-") else (b"", text)
    stripped = rest.lstrip(b"0")
    return sign + (b"0" + stripped if stripped[:1] in {b"", b"."} else stripped)


def float_text(number: float, digits: int = 17) -> str:
    """Write a number as the server does: its shortest form, with an exponent only far from one."""
    mantissa, _, exponent = (f"{number!r}" if digits == 17 else f"{number:.{digits - 1}e}").partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, places = mantissa.removeprefix("-").partition(".")
    point = len(whole) + int(exponent or 0)
    figures = (whole + places).lstrip("0")
    point -= len(whole + places) - len(figures)
    figures = figures.rstrip("0")
    if not figures:
        return f"{sign}0"
    if point < 1 - _MOST_DECPT or (point > _MOST_DECPT and len(figures) <= point):
        places = f".{figures[1:]}" if len(figures) > 1 else ""
        return f"{sign}{figures[0]}{places}e{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{figures}"
    if point >= len(figures):
        return f"{sign}{figures}{'0' * (point - len(figures))}"
    return f"{sign}{figures[:point]}.{figures[point:]}"


def date_text(moment: int) -> bytes:
    """Write the day of a packed moment, zeros too."""
    year, month = divmod(moment >> 46, 13)
    return f"{year:04d}-{month:02d}-{moment >> 41 & 31:02d}".encode()


def datetime_text(moment: int, digits: int) -> bytes:
    """Write a packed moment."""
    time = f" {moment >> 36 & 31:02d}:{moment >> 30 & 63:02d}:{moment >> 24 & 63:02d}"
    return date_text(moment) + time.encode() + _places(moment & 0xFFFFFF, digits)


def time_text(micros: int, digits: int) -> bytes:
    """Write a duration."""
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign = "-" if micros < 0 else ""
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text.encode() + _places(rest, digits)


def _places(micros: int, digits: int) -> bytes:
    return f".{micros:06d}"[: digits + 1].encode() if digits else b""


def bits_text(raw: bytes, bits: int) -> bytes:
    """Write a bit column's value, with one digit for each bit."""
    return f"{int.from_bytes(raw, 'big'):0{bits}b}".encode()


def bytes_text(raw: bytes) -> bytes:
    """Write bytes as the server's own client writes bytes that are not text."""
    return b"0x" + raw.hex().upper().encode()


def vector_text(raw: bytes) -> bytes:
    """Write a vector as VECTOR_TO_STRING does."""
    numbers = struct.unpack(f"<{len(raw) // 4}f", raw)
    return f"[{','.join(f'{number:.5e}' for number in numbers)}]".encode()


def set_text(bits: int, labels: Sequence[str]) -> bytes:
    """Write the labels of a set."""
    if bits >> len(labels):
        raise Unfit("it has a label that the column does not have")
    return ",".join(label for i, label in enumerate(labels) if bits >> i & 1).encode()


def uuid_text(raw: bytes) -> bytes:
    """Write MariaDB's uuid."""
    return str(uuid.UUID(bytes=raw.ljust(16, b"\0"))).encode()


def inet4_text(raw: bytes) -> bytes:
    """Write MariaDB's inet4."""
    return socket.inet_ntop(socket.AF_INET, raw.ljust(4, b"\0")).encode()


def inet6_text(raw: bytes) -> bytes:
    """Write MariaDB's inet6, which shortens a single zero too."""
    text = socket.inet_ntop(socket.AF_INET6, raw.ljust(16, b"\0"))
    groups = text.split(":")
    if "0" in groups and "::" not in text:
        zero = groups.index("0")
        text = f"{':'.join(groups[:zero])}::{':'.join(groups[zero + 1 :])}"
    return text.encode()


def uncompressed(raw: bytes, most: int) -> bytes:
    """Return a value of MariaDB's compressed columns: a byte of method, a length, and the bytes.

    A value that states more bytes than `most` is refused before its memory is allocated.
    """
    if not raw or raw[0] == 0:
        return raw[1:]
    if raw[0] >> 4 != 8:
        raise Unfit("it is compressed in an unknown way")
    start = 1 + (raw[0] & 7)
    if not 1 < start <= len(raw):
        raise Unfit("it does not state its size")
    size = int.from_bytes(raw[1:start], "big")
    if size > most:
        raise Unfit(f"it has {size} bytes when it is uncompressed; the limit is {most} (max.row.bytes)")
    unpacker = zlib.decompressobj(wbits=-15 if raw[0] & 8 else 15)
    try:
        made = unpacker.decompress(raw[start:], size + 1)
    except zlib.error:
        raise Unfit("it can't be uncompressed") from None
    if len(made) != size:
        raise Unfit("it does not uncompress to the size that it states")
    return made


def single_text(raw: bytes) -> bytes:
    """Write a float with the six digits that the server prints."""
    return float_text(struct.unpack("<f", raw)[0], 6).encode()


def double_text(raw: bytes) -> bytes:
    """Write a double."""
    return float_text(struct.unpack("<d", raw)[0]).encode()


def year_text(raw: bytes) -> bytes:
    """Write a result's year."""
    return b"%04d" % int.from_bytes(raw, "little")


def logged_year_text(raw: bytes) -> bytes:
    """Write the log's year, which counts from 1900; zero stays zero."""
    return b"%04d" % (1900 + raw[0] if raw[0] else 0)
