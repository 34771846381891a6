"""PostgreSQL's less common text forms, in plain Python: wide numbers, far years, money, bits, arrays.

In: a value's text.  Out: what cells.py puts into Avro.  `Unfit` where the kind can't hold the value.
"""

import re
import struct
from fractions import Fraction

from wrackline.producers.rows.unfit_values import Unfit

_NUMBER = re.compile(rb"-?[0-9]+(?:\.([0-9]+))?")
_INTEGER = re.compile(rb"-?[0-9]+")
_MONEY = re.compile(rb"-?\$[0-9]{1,3}(?:,[0-9]{3})*\.[0-9][0-9]")
_BITS = re.compile(rb"[01]+")
_HEX = re.compile(rb"[0-9a-f]*")
# Possessive, so that an element of many megabytes costs no memory for backtracking.
_ARRAY_TOKEN = re.compile(rb'"((?:[^"\\]++|\\.)*+)"|([^",{}]++)', re.DOTALL)
_ZONED_TIME = re.compile(
    rb"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?|24:00:00)([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?"
)
_FAR_TIMESTAMP = re.compile(rb"(\d+)-(\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00( BC)?")
_LAST_MOMENT = b"294247-01-10 04:00:25.2+00"  # LAST_MICROS, which readers of numbers read as infinity


def wide_decimal(text: bytes, scale: int) -> bytes:
    """Return the unscaled number in big-endian two's complement, in as few bytes as possible."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise Unfit("it is not a number")  # NaN, Infinity
    places = len(found[1] or b"")
    if places > scale:
        raise Unfit("it has more decimal places than the column")
    units = int(text.replace(b".", b"")) * int(10 ** (scale - places))
    return units.to_bytes((units + (units < 0)).bit_length() // 8 + 1, "big", signed=True)


def wide_integer(text: bytes) -> int:
    """Return a number of up to 64 bits."""
    if _INTEGER.fullmatch(text) is None:
        raise Unfit("it is not a number")
    number = int(text)
    if not -(1 << 63) <= number < 1 << 63:
        raise Unfit("it is out of range")
    return number


def whole_float(text: bytes) -> float:
    """Return the number of the whole text, by C's rules: Python would accept blanks and underscores."""
    if b"_" in text or text.strip() != text:
        raise Unfit("it is not a number")
    return float(text)


def hex_bytes(text: bytes) -> bytes:
    """Return the bytes of hex digits, in small letters, without anything in between."""
    if _HEX.fullmatch(text) is None:
        raise Unfit("bytea_output is not hex")
    return bytes.fromhex(text.decode())


def money_units(text: bytes) -> bytes:
    """Return `-$1,234.50` as an unscaled number of two decimal places."""
    if _MONEY.fullmatch(text) is None:
        raise Unfit("it is not an amount of money as lc_monetary C writes it")
    return wide_decimal(text.replace(b"$", b"").replace(b",", b""), 2)


def bits(text: bytes) -> bytes:
    """Return `1010` as little-endian bytes, the last bit first."""
    if _BITS.fullmatch(text) is None:
        raise Unfit("it is not a row of bits")
    return int(text, 2).to_bytes((len(text) + 7) // 8, "little")


def nearest_single(text: bytes) -> float:
    """Return the 32-bit number nearest to the text itself, not to the double that is nearest to it."""
    number = float(text)
    narrow = _as_single(number)
    other = 2 * number - narrow  # its neighbour, if the double lies halfway between the two
    if number == narrow or number != number or other != _as_single(other):  # noqa: PLR0124 - NaN
        return narrow
    exact = Fraction(text.decode())
    return other if abs(exact - Fraction(other)) < abs(exact - Fraction(narrow)) else narrow


def _as_single(number: float) -> float:
    narrow: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return narrow


def zoned_time(text: bytes) -> bytes:
    """Return `07:55:01+02` as ISO 8601, its offset kept."""
    found = _ZONED_TIME.fullmatch(text)
    if found is None:
        raise Unfit("it is not a time with a zone")
    time, sign, hours, minutes, seconds = found.groups()
    if hours == b"00" and not minutes and not seconds:
        return time + b"Z"
    tail = b":" + seconds if seconds else b""
    return time + sign + hours + b":" + (minutes or b"00") + tail


def far_timestamp(text: bytes) -> bytes:
    """Return a timestamp of a year beyond 9999 or before 1 as ISO 8601: signed, year 0 is 1 BC."""
    found = _FAR_TIMESTAMP.fullmatch(text)
    if found is None:
        raise Unfit("it is not a timestamp in UTC")
    year, day, time, before_christ = found.groups()
    if text == _LAST_MOMENT:
        raise Unfit("its number is the one that stands for infinity")
    number = 1 - int(year) if before_christ else int(year)
    sign = "-" if number < 0 else "+" if number > 9999 else ""
    return f"{sign}{abs(number):04d}-".encode() + day + b"T" + time + b"Z"


def array_elements(text: bytes) -> list[bytes | None]:
    """Return the elements of `{a,"b,c",NULL}`; more dimensions or other bounds do not fit."""
    if not text.startswith(b"{"):
        raise Unfit("its lower bound is not 1")  # [0:2]={...}
    inside = text[1:-1]
    if text[-1:] != b"}" or inside[-1:] == b"," or len(text) == 1:
        raise Unfit("it is not an array")
    elements: list[bytes | None] = []
    at = 0
    while at < len(inside):
        found = _ARRAY_TOKEN.match(inside, at)
        if found is None:
            raise Unfit("it has more than one dimension")
        quoted, bare = found.groups()
        if bare is None:
            elements.append(_unescaped(quoted))
        else:
            elements.append(None if bare == b"NULL" else bare)
        at = found.end() + 1
        if inside[at - 1 : at] not in {b",", b""}:
            raise Unfit("it is not an array")
    return elements


def _unescaped(quoted: bytes) -> bytes:
    r"""Remove the backslashes before other backslashes and before quotes; no text has a zero byte."""
    return quoted.replace(b"\\\\", b"\0").replace(b"\\", b"").replace(b"\0", b"\\")
