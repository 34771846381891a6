"""Plain values of a document that an outsider may have changed, each checked before it is used.

In: what JSON has made of the text.  Out: the same value, as the type that it must have.  No error shows the
value, because it may be a row's.
"""

from typing import Final, TypeGuard

_LAST_MS: Final = 253_402_300_799_000  # no calendar goes further
_BITS: Final = 63  # a signed number of 8 bytes, as Kafka, Spark and the servers have


def is_number(value: object) -> TypeGuard[int]:
    """Whether it is a whole number from 0 on, below 2^63; true and false are none."""
    return type(value) is int and 0 <= value < 1 << _BITS


def number(value: object) -> int:
    """Return such a number; ValueError: it is something else."""
    if not is_number(value):
        raise ValueError("no number from 0 on")
    return value


def moment(value: object) -> int:
    """Return a time in milliseconds; ValueError: it is none."""
    if number(value) > _LAST_MS:
        raise ValueError("no time")
    return number(value)


def text(value: object) -> str:
    """Return a text; TypeError: it is something else."""
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
