"""Makes visible what a terminal would obey, because names and texts come from outside.

    ESC ] 0 ; title BEL     would set the window's title
    ESC [ 2 J               would clear earlier output
    U+202E                  would turn the direction of writing

In: a text for people.  Out: the same with one sign in place of each of these, so that its styles keep their
places; ends of lines and tabs stay.  Or the same with the number of each, as JSON writes it: for values,
which then can't be mistaken for others.
"""

import unicodedata
from typing import Final

_OBEYED: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, marks without a shape, halves, ends of lines
_PICTURES: Final = 0x2400  # Unicode has a picture of each of the first controls
_DELETE: Final = 0x7F
_BEYOND: Final = 0x10000  # characters that JSON writes as two


def visible(text: str) -> str:
    """Return the text so that a terminal only shows it."""
    return text if text.isprintable() else "".join(map(_picture, text))


def visible_line(text: str) -> str:
    """Return a text that may have several lines so that no line of it looks like the first of another."""
    first, *others = visible(text).split("\n")
    return "\n".join([first, *(other if other.startswith("  ") else f"  {other}" for other in others)])


def _picture(letter: str) -> str:
    if letter in "\n\t" or unicodedata.category(letter) not in _OBEYED:
        return letter
    number = ord(letter)
    return chr(_PICTURES + number) if number < ord(" ") else "\u2421" if number == _DELETE else "\ufffd"


def escape(text: str) -> str:
    """Write a text as it is, but for what a terminal would obey; inside JSON it stays the same text."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _number(c) for c in text)


def escape_lines(text: str) -> str:
    """Write a text of several lines so."""
    return "\n".join(map(escape, text.split("\n")))


def _number(character: str) -> str:
    code = ord(character)
    if code < _BEYOND:
        return f"\\u{code:04x}"
    code -= _BEYOND
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
