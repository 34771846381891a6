"""What a statement of SQL_REDO is made of: operations, kinds of values, and what is refused."""

from enum import IntEnum
from typing import NamedTuple


class RedoOperation(IntEnum):
    """What a statement does, as LogMiner numbers it."""

    INSERT = 1
    DELETE = 2
    UPDATE = 3


class RedoKind(IntEnum):
    """How a value is written."""

    NULL = 0
    TEXT = 1
    QUOTED = 2  # a text with apostrophes, each written twice
    NUMBER = 3  # without apostrophes around it
    RAW = 4
    UNISTR = 5
    CHAIN = 6  # texts and UNISTRs with || between them: all of the expression
    DATE = 7
    TIMESTAMP = 8
    ZONED = 9
    DAYS = 10  # INTERVAL DAY TO SECOND
    MONTHS = 11  # INTERVAL YEAR TO MONTH
    EMPTY_CLOB = 12
    EMPTY_BLOB = 13
    XML = 14
    BOUND = 15  # :1, :NAME, or selected: the value is in other rows
    UNSUPPORTED = 16  # LogMiner cannot show it


class RedoCell(NamedTuple):
    """A cell as objects, for tests and messages."""

    column: bytes
    kind: RedoKind
    text: bytes


class UnknownRedoError(ValueError):
    """LogMiner wrote what is not known; the reason shows no value of a row."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"{reason}, at byte {at}")
        self.reason = reason
        self.at = at


class UnknownColumnsError(ValueError):
    """A statement's columns are not the table's: it is of another version of the table."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
