"""Collations: the five bytes that name one on the wire, the code page of its text, and its order."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_IGNORE_CASE = 0x01
_BINARY2 = 0x20
_UTF8 = 0x40


@dataclass(frozen=True, slots=True)
class Collation:
    """A collation: the flags are those of [MS-TDS] 2.2.5.1.2, above the 20 bits of the locale."""

    name: str
    locale: int
    flags: int
    version: int
    sort_id: int
    codec: str

    def on_the_wire(self) -> bytes:
        """Return the five bytes."""
        bits = self.locale | self.flags << 20 | self.version << 28
        return bits.to_bytes(4, "little") + bytes([self.sort_id])

    @property
    def ignores_case(self) -> bool:
        """Whether capitals and small letters are the same."""
        return bool(self.flags & _IGNORE_CASE)

    def order(self, text: str) -> str | bytes:
        """Return what puts two texts into this collation's order; blanks at the end don't count.

        Linguistic order is not modelled: upper case and lower case are, accents sort by code point.
        """
        text = text.rstrip(" ")
        if self.flags & _BINARY2:
            return text.encode("utf-16-be", "surrogatepass")
        return text.casefold() if self.ignores_case else text.swapcase()


_AS = 0x0C  # ignores kana and width; accents and case count
_CI = _AS | _IGNORE_CASE
_KNOWN = (
    Collation("SQL_Latin1_General_CP1_CI_AS", 0x0409, _CI, 0, 52, "cp1252"),
    Collation("SQL_Latin1_General_CP1_CS_AS", 0x0409, _AS, 0, 51, "cp1252"),
    Collation("Latin1_General_CI_AS", 0x0409, _CI, 0, 0, "cp1252"),
    Collation("Latin1_General_100_CS_AS", 0x0409, _AS, 2, 0, "cp1252"),
    Collation("Latin1_General_BIN2", 0x0409, _BINARY2, 0, 0, "cp1252"),
    Collation("Latin1_General_100_CI_AS_SC_UTF8", 0x0409, _CI | _UTF8, 2, 0, "utf-8"),
    Collation("Latin1_General_100_BIN2_UTF8", 0x0409, _BINARY2 | _UTF8, 2, 0, "utf-8"),
    Collation("Polish_CI_AS", 0x0415, _CI, 0, 0, "cp1250"),
    Collation("Cyrillic_General_CI_AS", 0x0419, _CI, 0, 0, "cp1251"),
    Collation("Greek_CI_AS", 0x0408, _CI, 0, 0, "cp1253"),
    Collation("Turkish_CI_AS", 0x041F, _CI, 0, 0, "cp1254"),
    Collation("Japanese_CI_AS", 0x0411, _CI, 0, 0, "cp932"),
    Collation("Chinese_PRC_CI_AS", 0x0804, _CI, 0, 0, "cp936"),
    Collation("Korean_Wansung_CI_AS", 0x0412, _CI, 0, 0, "cp949"),
)
COLLATIONS: Mapping[str, Collation] = MappingProxyType({one.name: one for one in _KNOWN})
DEFAULT = COLLATIONS["SQL_Latin1_General_CP1_CI_AS"]
_BY_BYTES = {one.on_the_wire(): one for one in _KNOWN}


def of_bytes(five: bytes) -> Collation:
    """Return the collation of five bytes; one that is not known is its locale's by code page 1252."""
    if found := _BY_BYTES.get(bytes(five)):
        return found
    bits = int.from_bytes(five[:4], "little")
    flags = bits >> 20 & 0xFF
    codec = "utf-8" if flags & _UTF8 else "cp1252"
    return Collation("", bits & 0xFFFFF, flags, bits >> 28, five[4], codec)
