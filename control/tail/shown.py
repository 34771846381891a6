"""One value as a text that can be taken for no other value, and does nothing to a terminal.

In: what Avro, JSON or a header held.  Out: null, true, digits, 0x and hex, "a text as JSON writes it".
Whatever isn't printable (escapes, controls, marks that turn the direction of writing) is written as its
number: rows come from strangers, and a terminal obeys what it is sent.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")  # what most texts are made of: ASCII without quote and backslash
_BEYOND: Final = 0x10000  # characters that JSON writes as two


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time or both, in ISO's form."""

    text: str


def shown(value: object, most: int | None = None) -> str:  # noqa: PLR0911 - a line for each kind of value
    """Write a value; of a text or bytes no more than about `most` characters, for a line has no more room."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value if most is None else value[:most])
        case bytes():
            return "0x" + (value if most is None else value[:most]).hex()
        case float():
            return number(value)
        case Decimal():
            return format(value, "f")
        case Moment():
            return value.text
        case Mapping():
            return "{" + ", ".join(f"{name(n)}: {shown(v, most)}" for n, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(shown(one, most) for one in value) + "]"
        case _:
            return escaped(str(value))


def number(value: float) -> str:
    """Write a float, so that reading it again gives the same one."""
    if math.isnan(value):
        return "NaN"
    return ("-" if value < 0 else "") + "Infinity" if math.isinf(value) else repr(value)


def quoted(text: str) -> str:
    """Write a text between quotes, as JSON does."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(_SHORT.get(c) or (c if c.isprintable() else _number(c)) for c in text) + '"'


def name(text: str) -> str:
    """Write the name of a column: as it is, unless it could be taken for something else."""
    return text if text.isidentifier() else quoted(text)


def escaped(text: str) -> str:
    """Write a text as it is, but for what a terminal would obey; inside JSON it stays the same text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _number(c) for c in text)


def escaped_lines(text: str) -> str:
    """Write a text of several lines so."""
    return "\n".join(map(escaped, text.split("\n")))


def _number(character: str) -> str:
    code = ord(character)
    if code < _BEYOND:
        return f"\\u{code:04x}"
    code -= _BEYOND
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
