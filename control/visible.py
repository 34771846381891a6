"""What a terminal would obey, made visible: names and texts come from strangers.

    ESC ] 0 ; title BEL     would set the window's title
    ESC [ 2 J               would clear what was said before
    U+202E                  would turn the direction of writing

In: a text that goes to people.  Out: the same with one sign in place of each of these, so that its styles
keep their places; ends of lines and tabs stay.
"""

import unicodedata
from typing import Final

_OBEYED: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, marks without a shape, halves, ends of lines
_PICTURES: Final = 0x2400  # Unicode has a picture of each of the first controls
_DELETE: Final = 0x7F


def visible(text: str) -> str:
    """Return the text so that a terminal only shows it."""
    return text if text.isprintable() else "".join(map(_shown, text))


def visible_line(text: str) -> str:
    """Return a text that may have several lines so that no line of it looks like the first of another."""
    first, *others = visible(text).split("\n")
    return "\n".join([first, *(other if other.startswith("  ") else f"  {other}" for other in others)])


def _shown(letter: str) -> str:
    if letter in "\n\t" or unicodedata.category(letter) not in _OBEYED:
        return letter
    number = ord(letter)
    return chr(_PICTURES + number) if number < ord(" ") else "\u2421" if number == _DELETE else "\ufffd"
