"""Which column of the catalogue is which column of an older relation message.  Pure.

    log, then:    a  b  c             catalogue, now:   1 a   2 (dropped)   3 "see"   4 d

The log has the columns' names from when it was written, the catalogue has their current names; a column's
number (attnum) never changes and is never used again.  Both lists are in the order of the numbers.  So names
that are in both fix their places, and the log's columns between two fixed places can only be the columns
between their numbers: if there are as many, each is known under any current name.  `numbers_of` finds these.

`likely_numbers` is for the rest (a column is dropped and another column is added under its name): the answer
with the fewest renames and changed types.  A wrong answer does no lasting harm, because a table in which a
name went from one column to another is read again (`snapshot/shape_changes.py`).  It is given only where the
key's columns are certain, because a row under a wrong key would stay for ever.
"""

from collections.abc import Sequence
from typing import NamedTuple


class CatalogueColumn(NamedTuple):
    """A column of the catalogue; a dropped column keeps its number, but not its name and type."""

    number: int
    name: str | None
    published: bool = True  # false: generated, and not in the log
    type_oid: int = 0


class LoggedColumn(NamedTuple):
    """A column as the log calls it."""

    name: str
    type_oid: int


def numbers_of(logged: Sequence[str], catalogue: Sequence[CatalogueColumn]) -> list[int] | None:
    """Return the number of each logged column, None where more than one answer is possible."""
    by_name = {column.name: column.number for column in catalogue if column.name is not None}
    fixed = [by_name.get(name) for name in logged]
    if None not in fixed and _rising(fixed):
        return [number for number in fixed if number is not None]
    # a name may have moved to another column meanwhile (b dropped, c renamed to b): such a
    # place does not fit the order of the others, and then no place is certain
    known = [number for number in fixed if number is not None]
    if not _rising(known):
        return None
    return _fill_gaps(fixed, [column.number for column in catalogue if column.published], set(known))


def likely_numbers(
    logged: Sequence[LoggedColumn], catalogue: Sequence[CatalogueColumn], key: Sequence[int]
) -> list[int] | None:
    """Return the number that each logged column most likely has; None where the key could be wrong.

    A column that exists now, before a column that the log names, existed then.
    """
    there = [column for column in catalogue if column.published]
    best: list[_Assignment] = [
        _Assignment(0, None, 0)
    ]  # for the columns so far, by the number of the log's columns that are placed
    ends = _Assignment(_IMPOSSIBLE, None, 0)
    for column in there:
        then = [_Assignment(way.cost + _absent(column), way.before, way.number) for way in best]
        for place, named in enumerate(logged[: len(best)]):
            placed = _Assignment(best[place].cost + _cost(named, column), best[place], column.number)
            if place == len(then) - 1:
                then.append(placed)
            else:
                then[place + 1] = min(then[place + 1], placed, key=_cost_of)
            if place == len(logged) - 1:
                ends = min(ends, placed, key=_cost_of)
        best = then
    if ends.cost >= _IMPOSSIBLE:
        return None
    found = ends.numbers()
    return found if set(key) <= set(_certain(logged, there, found)) else None


class _Assignment(NamedTuple):
    cost: int
    before: "_Assignment | None"
    number: int  # of the last column placed

    def numbers(self) -> list[int]:
        made: list[int] = []
        way: _Assignment | None = self
        while way is not None and way.before is not None:
            made.append(way.number)
            way = way.before
        return made[::-1]


def _cost_of(way: _Assignment) -> int:
    return way.cost


def _absent(column: CatalogueColumn) -> int:
    """Return the cost of a column that the log does not name, before a column that it names."""
    return 0 if column.name is None else _IMPOSSIBLE


def _cost(named: LoggedColumn, column: CatalogueColumn) -> int:
    if column.name is None:
        return 2
    return 3 * (named.name != column.name) + (named.type_oid != column.type_oid)


def _certain(
    logged: Sequence[LoggedColumn], there: Sequence[CatalogueColumn], found: Sequence[int]
) -> list[int]:
    """Return the first columns, up to the first difference."""
    made: list[int] = []
    for named, number, column in zip(logged, found, there, strict=False):
        if column.number != number or column.name != named.name:
            break
        made.append(number)
    return made


_IMPOSSIBLE = 1 << 20


def _fill_gaps(fixed: list[int | None], numbers: list[int], known: set[int]) -> list[int] | None:
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
