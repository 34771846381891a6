"""A cell for each table, in a field for each schema.  Pure.

In: cells with their kind.  Out: rectangles that lead to their tables, or, of very many, one path for each
kind: a run of equal cells is one dashed line, so ten thousand cells stay small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

STEP: Final = 13  # units of a cell, its gap included
_MOST_LINKS: Final = 1_000  # cells that lead to their table
_MOST_FIELDS: Final = 40  # schemas with a field of their own
_LABEL: Final = 18
_LEAST_WIDE: Final = 24  # cells
_SIDES: Final = 5  # how much wider than high a field is, about


class Cell(NamedTuple):
    """A table on the map."""

    name: str
    x: int
    y: int
    kind: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All tables as cells."""

    count: int
    cells: Sequence[Cell]
    drawn: Sequence[tuple[str, str]]  # a kind, and the path of its cells
    labels: Sequence[tuple[str, int]]  # a schema, and where its name stands
    width: int
    height: int


def heat_map(kinds: Mapping[str, str]) -> HeatMap:
    """Place a cell for each table, by name; `kinds` says what each table is drawn as."""
    names = sorted(kinds)
    fields = {schema: list(its) for schema, its in groupby(names, lambda name: name.rpartition(".")[0])}
    if not 1 < len(fields) <= _MOST_FIELDS:
        fields = {"": names}
    wide = max(_LEAST_WIDE, round((len(names) * _SIDES) ** 0.5))
    cells: list[Cell] = []
    labels, y = [], 0
    for schema, its in fields.items():
        if schema:
            labels.append((schema, y + _LABEL - 6))
            y += _LABEL
        cells += [
            Cell(name, place % wide * STEP, y + place // wide * STEP, kinds[name])
            for place, name in enumerate(its)
        ]
        y += -(-len(its) // wide) * STEP
    if len(cells) <= _MOST_LINKS:
        return HeatMap(len(cells), cells, (), labels, wide * STEP, y)
    return HeatMap(len(cells), (), _drawn(cells), labels, wide * STEP, y)


def _drawn(cells: Sequence[Cell]) -> Sequence[tuple[str, str]]:
    paths: dict[str, list[str]] = {}
    for (y, kind), run in groupby(cells, lambda cell: (cell.y, cell.kind)):
        its = list(run)
        paths.setdefault(kind, []).append(f"M{its[0].x} {y + 5.5:g}h{len(its) * STEP - 2}")
    return [(kind, "".join(runs)) for kind, runs in sorted(paths.items())]
