"""One value as a text that can be taken for no other value, and does nothing to a terminal.

In: what Avro, JSON or a header held.  Out: null, true, digits, 0x and hex, "a text as JSON writes it".
Any character that is not printable (escapes, controls, marks that change the direction of writing) is written
as its number: rows come from outside, and a terminal obeys what it gets.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from wrackline.control.runtime.ground.terminal_text import escape

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")  # what most texts are made of: ASCII without quote and backslash


@dataclass(frozen=True, slots=True)
class ShownMoment:
    """A date, a time or both, in ISO's form."""

    text: str


def show_value(value: object, most: int | None = None) -> str:  # noqa: PLR0911 - a line for each kind of value
    """Write a value; of a text or bytes only about `most` characters, because a line has no more room."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value if most is None else value[:most])
        case bytes():
            return "0x" + (value if most is None else value[:most]).hex()
        case float():
            return show_number(value)
        case Decimal():
            return format(value, "f")
        case ShownMoment():
            return value.text
        case Mapping():
            return "{" + ", ".join(f"{show_name(n)}: {show_value(v, most)}" for n, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(show_value(one, most) for one in value) + "]"
        case _:
            return escape(str(value))


def show_number(value: float) -> str:
    """Write a float, so that reading it again gives the same one."""
    if math.isnan(value):
        return "NaN"
    return ("-" if value < 0 else "") + "Infinity" if math.isinf(value) else repr(value)


def quote(text: str) -> str:
    """Write a text between quotes, as JSON does."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(_SHORT.get(c) or escape(c) for c in text) + '"'


def show_name(text: str) -> str:
    """Write the name of a column: as it is, unless it could be taken for something else."""
    return text if text.isidentifier() else quote(text)
