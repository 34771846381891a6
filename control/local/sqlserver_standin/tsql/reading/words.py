"""Cuts T-SQL into words: names, variables, numbers, texts, bytes, signs."""

import re
from decimal import Decimal
from enum import Enum, auto
from typing import NamedTuple

from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError


class WordKind(Enum):
    """What a word is."""

    NAME = auto()
    QUOTED = auto()
    """A name in brackets or double quotes: never a keyword."""
    VARIABLE = auto()
    VALUE = auto()
    SIGN = auto()
    END = auto()


class Word(NamedTuple):
    """A word, where it begins, and the value of a literal."""

    kind: WordKind
    text: str
    at: int
    value: object = None


_FORM = re.compile(
    r"""
    (?P<skip>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<bracketed>\[(?:[^\]]|\]\])*\])
  | (?P<double>"(?:[^"]|"")*")
  | (?P<text>[Nn]?'(?:[^']|'')*')
  | (?P<bytes>0[xX][0-9A-Fa-f]*)
  | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
  | (?P<variable>@@?[\w$\#@]+)
  | (?P<name>[^\W\d][\w$\#@]*|\#{1,2}\w+)
  | (?P<sign><=|>=|<>|!=|[-+*/%=<>(),.;&|^~:?])
    """,
    re.VERBOSE | re.DOTALL,
)


def words(text: str) -> list[Word]:
    """Cut a text; what is no word is a syntax error."""
    found, at = [], 0
    while at < len(text):
        match = _FORM.match(text, at)
        if match is None:
            raise ServerError(102, f"Incorrect syntax near '{text[at : at + 20]}'.", severity=15)
        if match.lastgroup != "skip":
            found.append(_word(str(match.lastgroup), match[0], at))
        at = match.end()
    found.append(Word(WordKind.END, "", at))
    return found


def _word(group: str, text: str, at: int) -> Word:
    match group:
        case "bracketed":
            return Word(WordKind.QUOTED, text[1:-1].replace("]]", "]"), at)
        case "double":
            return Word(WordKind.QUOTED, text[1:-1].replace('""', '"'), at)
        case "text":
            return Word(WordKind.VALUE, text, at, text[text.index("'") + 1 : -1].replace("''", "'"))
        case "bytes":
            digits = text[2:]
            return Word(WordKind.VALUE, text, at, bytes.fromhex("0" * (len(digits) % 2) + digits))
        case "number":
            number = float(text) if "e" in text.lower() else Decimal(text) if "." in text else int(text)
            return Word(WordKind.VALUE, text, at, number)
        case "variable":
            return Word(WordKind.VARIABLE, text, at)
        case "name":
            return Word(WordKind.NAME, text, at)
    return Word(WordKind.SIGN, text, at)
