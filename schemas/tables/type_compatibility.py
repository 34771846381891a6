"""Whether a type keeps every value of another with the same carrier, by their databases' own names.

    datetime(6), datetime       no: digits are rounded away
    varchar(10), varchar(20)    yes        char(3), char(5)    no: what fills them up is another
    tinyint, smallint           yes        inet4, inet6        no: nothing is known of the two

An unknown pair is a no: the caller then reads the values again.
"""

import math
import re
from types import MappingProxyType
from typing import Final

_FORM: Final = re.compile(r"([^()]*)(?:\((\d+)\))?([^()]*)")
_UNWRITTEN: Final = MappingProxyType({"datetime": 0, "timestamp": 0, "time": 0})
"""Types that hold least where no size is written; any other then holds as much as there is."""

_UNSIGNED: Final = " unsigned"
_FILLED_UP: Final = frozenset({"binary", "character", "bit"})  # values are as long as the type
_WHOLE: Final = MappingProxyType(
    {
        f"{name}{sign}": (low, high)
        for name, bits in (("tinyint", 8), ("smallint", 16), ("mediumint", 24), ("int", 32), ("bigint", 64))
        for sign, low, high in (
            ("", -(1 << bits - 1), (1 << bits - 1) - 1),
            (_UNSIGNED, 0, (1 << bits) - 1),
        )
    }
)
_GROWN: Final = frozenset({("char", "varchar"), ("character varying", "text"), ("text", "character varying")})


def keeps_values(old: str, new: str) -> bool:
    """Whether a column that gets the new type keeps each value that it has."""
    was, becomes = _FORM.fullmatch(old), _FORM.fullmatch(new)
    if was is None or becomes is None:
        return old == new
    name, other = _name(was), _name(becomes)
    if name in _WHOLE and other in _WHOLE:
        (low, high), (least, most) = _WHOLE[name], _WHOLE[other]
        return least <= low and high <= most
    if name == other or (name, other) in _GROWN:
        size, room = _size(was, name), _size(becomes, other)
        return size == room or (size < room and name not in _FILLED_UP)
    return False


def keeps_sign(old: str, new: str) -> bool:
    """Whether a column that gets the new type, with a wider carrier, keeps what is below zero."""
    return old.endswith(_UNSIGNED) or not new.endswith(_UNSIGNED)


def _name(form: re.Match[str]) -> str:
    return form[1].rstrip() + form[3]


def _size(form: re.Match[str], name: str) -> float:
    return float(form[2]) if form[2] else _UNWRITTEN.get(name, math.inf)
