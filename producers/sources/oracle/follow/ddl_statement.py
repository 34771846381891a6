"""What a DDL of the log does to the table that it names, beside what the catalogue shows of it.  Pure.

The catalogue says how a table is now; it does not say that rows are gone, or that a name was another table's.
Only the first words count, and for partitions any pair of words: whatever is read too much is only that a
table is read again.
"""

import re
from enum import Enum, auto
from itertools import pairwise
from typing import Final

_SKIPPED: Final = re.compile(r"\"[^\"]*\"|'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"[A-Z0-9_$#]+|\"")
_PARTS: Final = frozenset({"PARTITION", "SUBPARTITION", "PARTITIONS", "SUBPARTITIONS"})
# What splits or merges partitions gives them other numbers, so rows of before it have no table any more.
_MOVES_ROWS: Final = frozenset({"TRUNCATE", "DROP", "EXCHANGE", "SPLIT", "MERGE", "COALESCE"})
_NEW_PARTS: Final = ["MODIFY", "PARTITION", "BY"]


class DdlDeed(Enum):
    """What becomes of the rows that the table's name had."""

    EMPTIES = auto()  # all are gone
    LOSES = auto()  # some are gone, or came, without a change of each
    LEAVES = auto()  # the name is free, or another table's
    RENEWS = auto()  # a column may have gone and come again under its name
    KEEPS = auto()  # whatever it is, the catalogue shows it


def deed_of(statement: str) -> DdlDeed:
    """Say what a statement does."""
    plain = _SKIPPED.sub(lambda found: ' "' if found[0][0] in "\"'" else " ", statement)
    words = _WORD.findall(plain.upper())
    match words[:2]:
        case ["TRUNCATE", "TABLE"]:
            return DdlDeed.EMPTIES
        case ["DROP", "TABLE"] | ["RENAME", _]:
            return DdlDeed.LEAVES
        case ["ALTER", "TABLE"]:
            pairs = set(pairwise(words[2:]))
            moves = any(one in _MOVES_ROWS and other in _PARTS for one, other in pairs)
            if moves or words[3:6] == _NEW_PARTS or words[4:7] == _NEW_PARTS:
                return DdlDeed.LOSES
            if ("RENAME", "TO") in pairs:
                return DdlDeed.LEAVES
            renews = ("RENAME", "COLUMN") in pairs or not {"DROP", "UNUSED"}.isdisjoint(words)
            return DdlDeed.RENEWS if renews else DdlDeed.KEEPS
    return DdlDeed.KEEPS
