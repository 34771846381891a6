"""Which column of the catalogue is which column of an older relation message.  Pure.

    log, then:    a  b  c             catalogue, now:   1 a   2 (dropped)   3 "see"   4 d

The log names columns as they were called when it was written, the catalogue as they are called now;
a column's number (attnum) never changes and is never used again.  Both lists are in the order of
the numbers.  So names that are in both fix their places, and what lies between two fixed places can
only be the columns that lie between their numbers: if there are as many, each is known, whatever it
is called now.  If that leaves a choice, nothing is guessed.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Numbered(NamedTuple):
    """A column of the catalogue; a dropped one has kept its number, not its name."""

    number: int
    name: str | None
    published: bool = True  # generated columns are not in the log


def numbers_of(logged: Sequence[str], catalogue: Sequence[Numbered]) -> list[int] | None:
    """Return the number of each logged column, None where more than one answer is possible."""
    by_name = {column.name: column.number for column in catalogue if column.name is not None}
    fixed = [by_name.get(name) for name in logged]
    if None not in fixed and _rising(fixed):
        return [number for number in fixed if number is not None]
    # a name may have moved to another column meanwhile (b dropped, c renamed to b): such a
    # place does not fit the order of the others, and then nobody can say which is right
    known = [number for number in fixed if number is not None]
    if not _rising(known):
        return None
    return _filled(fixed, [column.number for column in catalogue if column.published], set(known))


def _filled(fixed: list[int | None], numbers: list[int], known: set[int]) -> list[int] | None:
    made: list[int] = []
    low, gap = 0, 0
    for place in [*fixed, _END]:
        if place is None:
            gap += 1
            continue
        between = [number for number in numbers if low < number < place and number not in known]
        if gap and len(between) != gap:
            return None
        made += between[:gap]
        if place != _END:
            made.append(place)
            low = place
        gap = 0
    return made


_END = 1 << 16  # beyond every number that a table can have


def _rising(numbers: Sequence[int | None]) -> bool:
    known = [number for number in numbers if number is not None]
    return known == sorted(set(known))
