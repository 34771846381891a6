"""Breaks texts between words, and never inside of what a reader copies.  Pure.

In: a sentence or a hint, and the columns of the terminal; None: no terminal, so nothing is broken.  Out: the
text with newlines.  A hint is cut behind `; `, `: ` and `, `, where a newline changes neither a command nor
SQL.  A part is one unit if it follows a colon or has signs of a command, path or setting; one that no line
has room for is cut between plain words, unless it follows a colon.  No unit is broken, however long it is.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len

_QUOTED: Final = r"(?<!\w)'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"
_CUT: Final = re.compile(rf"((?:{_QUOTED}|[^;:,]|[;:,](?! ))*[;:,]?) ?")
_WORDS: Final = re.compile(rf"(?:{_QUOTED}|\S)+")
_PLAIN: Final = re.compile(r"[A-Za-z][\w.,'()-]*")
_COPIED: Final = re.compile(r"(?<!\w)'|[\"`=<>|@$\\{}/&]|(?:^| )-|\bwrackline ")


def wrap_sentence(text: str, width: int | None, indent: int = 0, taken: int = 0) -> str:
    """Break a text at any space; `taken` columns of its first line are in use already."""
    return text if width is None else _fill(text.split(" "), width, indent, taken)


def wrap_hint(text: str, width: int | None, indent: int = 0, taken: int = 0) -> str:
    """Break a text that may contain commands; its own lines stay."""
    if width is None:
        return text
    first, *others = (list(_units(line, width - indent)) for line in text.split("\n"))
    return "\n".join([_fill(first, width, indent, taken), *(_fill(one, width, indent, 0) for one in others)])


def _units(text: str, room: int) -> Iterator[str]:
    is_after_colon = False
    for part in filter(None, _CUT.findall(text)):
        fits = cell_len(part) <= room
        if _COPIED.search(part) and not (fits or is_after_colon):
            yield from _prose_around(part)
        elif _COPIED.search(part) or (is_after_colon and fits):
            yield part
        else:
            yield from part.split(" ")
        is_after_colon = part.endswith(":")


def _prose_around(part: str) -> Iterator[str]:
    """Cut a long part between two plain words, not in a command of ours."""
    unit, ours = "", 0
    for word in _WORDS.findall(part):
        ours = 3 if "wrackline" in word else ours - 1
        if unit and ours < 0 and _PLAIN.fullmatch(word) and _PLAIN.fullmatch(unit.rpartition(" ")[2]):
            yield unit
            unit = word
        else:
            unit = f"{unit} {word}".lstrip()
    yield unit


def _fill(units: Sequence[str], width: int, indent: int, taken: int) -> str:
    lines, column = [""], taken
    for number, unit in enumerate(units):
        if number == 0 and (taken <= indent or column + cell_len(unit) <= width):
            lines[-1] += unit
            column += cell_len(unit)
        elif number and column + 1 + cell_len(unit) <= width:
            lines[-1] += f" {unit}"
            column += 1 + cell_len(unit)
        else:
            lines.append(unit)
            column = indent + cell_len(unit)
    return f"\n{'':{indent}}".join(lines)
