"""Characters that Windows has in a code page, and Python's codec has not.  Pure.

Windows has a character for each byte from 80 to 9f, and for codes that it leaves to its users: characters of
Unicode's private area, in the order of the codes.  They are in Microsoft's own tables of its code pages,
which the Unicode Consortium keeps (WindowsBestFit); Python's codecs refuse such bytes.  For a part of code
page 950 Python has characters of another maker's, where Windows has its users'.
"""

import codecs
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Final

_CONTROLS: Final = "80-9f=80"
_BYTES: Final = MappingProxyType(  # bytes = the character of the first; Python's own come first
    {
        "cp874": f"{_CONTROLS} db-de=f8c1 fc-ff=f8c5",
        "cp936": "80=20ac ff=f8f5",
        "cp949": "80=80 ff=f8f7",
        "cp950": "80=80 ff=f8f8",
        "cp1250": _CONTROLS,
        "cp1251": _CONTROLS,
        "cp1252": _CONTROLS,
        "cp1253": f"{_CONTROLS} aa=f8f9 d2=f8fa ff=f8fb",
        "cp1254": _CONTROLS,
        "cp1255": f"{_CONTROLS} ca=5ba d9-df=f88d fb-fc=f894 ff=f896",
        "cp1257": f"{_CONTROLS} a1=f8fc a5=f8fd",
        "cp1258": _CONTROLS,
    }
)
_PAIRS: Final = MappingProxyType(  # first bytes / second bytes = the character of the first pair
    {
        "cp936": "a1-a2/40-a0=e4c6 a2/ab-b0=e766 a2/e3-e4=e76c a2/ef-f0=e76e a2/fd-fe=e770 a3-a4/40-a0=e586"
        " a4/f4-fe=e772 a5/40-a0=e646 a5/f7-fe=e77d a6/40-a0=e6a6 a6/b9-c0=e785 a6/d9-df=e78d a6/ec-ed=e794"
        " a6/f3=e796 a6/f6-fe=e797 a7/40-a0=e706 a7/c2-d0=e7a0 a7/f2-fe=e7af a8/96-a0=e7bc a8/bc=e7c7"
        " a8/bf=e7c8 a8/c1-c4=e7c9 a8/ea-fe=e7cd a9/58=e7e2 a9/5b=e7e3 a9/5d-5f=e7e4 a9/89-95=e7e7"
        " a9/97-a3=e7f4 a9/f0-fe=e801 aa-af/a1-fe=e000 d7/fa-fe=e810 f8-fd/a1-fe=e234 fe/50-a0=e815"
        " fe/a1-fe=e468",
        "cp949": "c9/a1-fe=e000 fe/a1-fe=e05e",
        "cp950": "81-8d/40-fe=eeb8 8e-a0/40-fe=e311 c6/a1-fe=f6b1 c7-c8/40-fe=f70f fa-fe/40-fe=e000",
    }
)
_MOVED: Final = "cp950"  # Python reads some of its users' codes as characters


def decoded(text: bytes, codec: str) -> str:
    """Decode as Windows does."""
    if codec not in _BYTES:
        return text.decode(codec)
    _more(codec)
    found = text.decode(codec, _handler_name(codec))
    return found.translate(_moved()) if codec == _MOVED else found


@lru_cache
def _more(codec: str) -> Mapping[bytes, str]:
    """Return a code page's further characters, and let its decoder use them."""
    made: dict[bytes, str] = {}
    for part in _BYTES[codec].split():
        codes, _, first = part.partition("=")
        made |= {
            bytes([byte]): chr(at) for byte, at in zip(_range(codes), count(int(first, 16)), strict=False)
        }
    for part in _PAIRS.get(codec, "").split():
        codes, _, first = part.partition("=")
        made |= {pair: chr(at) for pair, at in zip(_pairs(codes, codec), count(int(first, 16)), strict=False)}

    def handle(error: UnicodeError) -> tuple[str, int]:
        if isinstance(error, UnicodeDecodeError):
            for size in (2, 1):
                code = error.object[error.start : error.start + size]
                if code in made:
                    return made[code], error.start + len(code)
        raise error

    codecs.register_error(_handler_name(codec), handle)
    return MappingProxyType(made)


@lru_cache
def _moved() -> Mapping[int, str]:
    """Return what Python reads as another character than Windows."""
    made = {}
    for code, character in _more(_MOVED).items():
        try:
            made[ord(code.decode(_MOVED))] = character
        except UnicodeDecodeError:
            continue
    return MappingProxyType(made)


def _pairs(codes: str, codec: str) -> Iterator[bytes]:
    first, _, second = codes.partition("/")
    for lead in _range(first):
        yield from (bytes([lead, trail]) for trail in _range(second) if _is_trail(trail, codec))


def _is_trail(byte: int, codec: str) -> bool:
    """Whether a code has this second byte: never 7f, and in code page 950 nothing from 7f to a0."""
    return not 0x7F <= byte <= (0xA0 if codec == _MOVED else 0x7F)


def _range(codes: str) -> range:
    first, _, last = codes.partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


def _handler_name(codec: str) -> str:
    return f"wrackline.{codec}"
