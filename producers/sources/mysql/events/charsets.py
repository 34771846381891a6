"""Character sets: how a column's bytes in the log become the text that the server shows for them.

    collation number  ->  name of its character set  ->  Charset: a reader of its bytes

The server converts a SELECT's text to utf8mb4 itself; the log has the column's own bytes.  So a reader here
gives what the server would give, also where Python's codec of that name differs: a byte without a meaning is
a question mark, as in a SELECT.  A test compares each byte of each set, and each pair, with the servers.

utf8mb4 and utf8mb3 need no reader: their bytes are UTF-8, except for halves of a surrogate pair, which
MariaDB accepts.  Half of a pair in ucs2 or utf32 is not text: reading it raises UnicodeDecodeError.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from wrackline.producers.sources.mysql.events.charset_tables import EUCJPMS_EXTRA, ODD_BYTES
from wrackline.schemas.errors import OperatorNeeded, define

COLLATION_UNKNOWN = define(
    "mysql.collation_unknown",
    OperatorNeeded,
    "column {column} has the collation number {collation}, whose character set is unknown",
    hint="to see which it is: SELECT * FROM information_schema.collations WHERE id = {collation}; "
    "until it is known leave the column out: column.exclude.list = '{column}'",
)

Reader: TypeAlias = Callable[[bytes], str]

BINARY = 63  # the collation of bytes that are not text


@dataclass(frozen=True, slots=True)
class Charset:
    """A character set: how long a character may be, and how its bytes are read."""

    name: str
    longest: int  # bytes of one character, by which the server multiplies a column's length
    reader: Reader | None = None  # None: the bytes are UTF-8, or not text
    ascii: bool = True  # a text of only bytes below 0x80 is ASCII, so it need not be read


# From MySQL 9.7 and MariaDB 11.4; one of these numbers plus 1024 is its NO PAD twin.
_COLLATIONS: Mapping[str, str] = MappingProxyType(
    {
        "armscii8": "32 64",
        "ascii": "11 65",
        "big5": "1 84",
        "binary": "63",
        "cp1250": "26 34 44 66 99",
        "cp1251": "14 23 50-52",
        "cp1256": "57 67",
        "cp1257": "29 58-59",
        "cp850": "4 80",
        "cp852": "40 81",
        "cp866": "36 68",
        "cp932": "95-96",
        "dec8": "3 69",
        "eucjpms": "97-98",
        "euckr": "19 85",
        "gb18030": "248-250",
        "gb2312": "24 86",
        "gbk": "28 87",
        "geostd8": "92-93",
        "greek": "25 70",
        "hebrew": "16 71",
        "hp8": "6 72",
        "keybcs2": "37 73",
        "koi8r": "7 74",
        "koi8u": "22 75",
        "latin1": "5 8 15 31 47-49 94",
        "latin2": "2 9 21 27 77",
        "latin5": "30 78",
        "latin7": "20 41-42 79",
        "macce": "38 43",
        "macroman": "39 53",
        "sjis": "13 88",
        "swe7": "10 82",
        "tis620": "18 89",
        "ucs2": "35 90 128-151 159 640-642",
        "ujis": "12 91",
        "utf16": "54-55 101-124 672-674",
        "utf16le": "56 62",
        "utf32": "60-61 160-183 736-738",
        "utf8mb3": "33 76 83 192-215 223 576-578",
        "utf8mb4": "45-46 224-247 255-271 273-275 277-294 296-298 300 303-323 608-610",
    }
)
_NO_PAD = 1024
# MariaDB's uca1400: 256 numbers for each of these
_UCA1400_FROM, _UCA1400_EACH = 2048, 256
_UCA1400 = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")


def _numbers(listed: str) -> list[int]:
    made: list[int] = []
    for part in listed.split():
        first, _, last = part.partition("-")
        made += range(int(first), int(last or first) + 1)
    return made


_BY_NUMBER = MappingProxyType(
    {number: name for name, listed in _COLLATIONS.items() for number in _numbers(listed)}
)


def charset_of(collation: int, *, column: str, charsets: Mapping[int, str] = MappingProxyType({})) -> Charset:
    """Return a collation's character set; `charsets` has those of the server's own collations."""
    name = charsets.get(collation) or _name_of(collation)
    if name is None or name not in _COLLATIONS:
        raise COLLATION_UNKNOWN(column=column, collation=collation)
    return charset(name)


def _name_of(collation: int) -> str | None:
    if collation >= _UCA1400_FROM:
        nth = (collation - _UCA1400_FROM) // _UCA1400_EACH
        return _UCA1400[nth] if nth < len(_UCA1400) else None
    return _BY_NUMBER.get(collation) or _BY_NUMBER.get(collation - _NO_PAD)


@cache
def charset(name: str) -> Charset:
    """Return one of the known character sets."""
    if name in _AS_IT_IS:
        return Charset(name, _AS_IT_IS[name])
    if name in _WIDE:
        longest, codec = _WIDE[name]
        return Charset(name, longest, _wide(codec), ascii=False)
    if name in _SINGLE:
        return Charset(name, 1, _single(name), ascii=name != "swe7")
    longest, unit, one = _MULTI[name]
    return Charset(name, longest, _multi(unit, one))


_AS_IT_IS = MappingProxyType({"utf8mb4": 4, "utf8mb3": 3, "binary": 1})
_WIDE = MappingProxyType(
    {
        "ucs2": (2, "utf-16-be"),  # two adjacent halves of a pair are their character
        "utf16": (4, "utf-16-be"),
        "utf16le": (4, "utf-16-le"),
        "utf32": (4, "utf-32-be"),
    }
)
_SINGLE = MappingProxyType(
    {
        "armscii8": "latin-1",
        "ascii": "ascii",
        "cp1250": "cp1250",
        "cp1251": "cp1251",
        "cp1256": "cp1256",
        "cp1257": "cp1257",
        "cp850": "cp850",
        "cp852": "cp852",
        "cp866": "cp866",
        "dec8": "latin-1",
        "geostd8": "latin-1",
        "greek": "iso8859-7",
        "hebrew": "iso8859-8",
        "hp8": "hp-roman8",
        "keybcs2": "cp437",
        "koi8r": "koi8-r",
        "koi8u": "koi8-u",
        "latin1": "cp1252",
        "latin2": "iso8859-2",
        "latin5": "iso8859-9",
        "latin7": "iso8859-13",
        "macce": "mac-latin2",
        "macroman": "mac-roman",
        "swe7": "ascii",
        "tis620": "tis-620",
    }
)


def _wide(codec: str) -> Reader:
    decoded = codecs.getdecoder(codec)
    return lambda raw: decoded(raw, "strict")[0]


def _single(name: str) -> Reader:
    table = list(bytes(range(256)).decode(_SINGLE[name], "replace").replace("\ufffd", "?"))
    for start, characters in ODD_BYTES.get(name, {}).items():
        table[start : start + len(characters)] = characters
    text = "".join(table)
    decoded = codecs.charmap_decode
    return lambda raw: decoded(raw, "strict", text)[0]


def _multi(unit: re.Pattern[bytes], one: Callable[[bytes], str]) -> Reader:
    def read(raw: bytes) -> str:
        return raw.decode("ascii") if raw.isascii() else "".join(map(known, unit.findall(raw)))

    known = cache(one)  # at most as many entries as the set has characters
    return read


def _unit(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern + rb"|.", re.DOTALL)


_EUC = _unit(rb"\x8f[\xa1-\xfe]{2}|[\x8e\xa1-\xfe][\xa1-\xfe]")
_LED = _unit(rb"[\x81-\xfe].")
_SHIFTED = _unit(rb"[\x81-\x9f\xe0-\xfc].")
_GB18030 = _unit(rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\x81-\xfe].")


def _by(codec: str, odd: Mapping[bytes, str] = MappingProxyType({})) -> Callable[[bytes], str]:
    def one(unit: bytes) -> str:
        if unit in odd:
            return odd[unit]
        try:
            return unit.decode(codec)
        except UnicodeDecodeError:
            return "?"

    return one


# In EUC, ten rows behind the standard are for user-defined characters: in Unicode's private area.
_OWN_ROWS, _CELLS, _FIRST_CELL = 0xF5, 94, 0xA1
_OWN_TWO, _OWN_THREE = 0xE000, 0xE000 + 10 * _CELLS
_KANA, _THREE = 0x8E, 0x8F
_eucjp = _by("euc_jp", {b"\xa1\xc0": "\\"})
_cp932 = _by("cp932")


def _own(unit: bytes) -> str | None:
    if len(unit) > 1 and unit[-2] >= _OWN_ROWS:
        first = _OWN_THREE if unit[0] == _THREE else _OWN_TWO
        return chr(first + (unit[-2] - _OWN_ROWS) * _CELLS + unit[-1] - _FIRST_CELL)
    return None


def _ujis(unit: bytes) -> str:
    return _own(unit) or _eucjp(unit)


def _eucjpms(unit: bytes) -> str:
    """Read a unit: two bytes are a character of Windows' set, cp932, with the number that JIS gives it."""
    if (own := _own(unit)) is not None:
        return own
    if unit[0] == _THREE and len(unit) > 1:
        return EUCJPMS_EXTRA.get(unit) or _eucjp(unit)
    if unit[0] == _KANA or len(unit) == 1:
        return _eucjp(unit)
    row, cell = unit[0] - 0x80, unit[1] - 0x80
    lead = (row - 0x21) // 2 + (0x81 if row < 0x5F else 0xC1)
    trail = cell + (0x1F + (cell >= 0x60) if row % 2 else 0x7E)
    return _cp932(bytes((lead, trail)))


_BIG5_ODD = {
    **dict.fromkeys(
        (b"\xa1\x5a", b"\xa1\xc3", b"\xa1\xc5", b"\xa1\xfe", b"\xa2\x40", b"\xa2\xcc", b"\xa2\xce"), "\ufffd"
    ),
    **{bytes((0xF9, 0xD6 + nth)): character for nth, character in enumerate("碁銹裏墻恒粧嫺")},
}
_MULTI: Mapping[str, tuple[int, re.Pattern[bytes], Callable[[bytes], str]]] = MappingProxyType(
    {
        "big5": (2, _LED, _by("big5", _BIG5_ODD)),
        "cp932": (2, _SHIFTED, _cp932),
        "eucjpms": (3, _EUC, _eucjpms),
        "euckr": (2, _LED, _by("cp949")),
        "gb18030": (
            4,
            _GB18030,
            _by("gb18030", {b"\x81\x35\xf4\x37": "\ue7c7", b"\xa8\xbc": "\u1e3f"}),
        ),
        "gb2312": (2, _LED, _by("gb2312")),
        "gbk": (2, _LED, _by("gbk")),
        "sjis": (2, _SHIFTED, _by("shift_jis", {b"\x81\x5f": "\\"})),
        "ujis": (3, _EUC, _ujis),
    }
)
