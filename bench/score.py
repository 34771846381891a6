"""From the outcomes of the contenders, round by round, to the rows of the report.

    rounds: [{contender: Outcome}, ...]  ->  [Row, ...]

A ratio is computed inside one round, ours divided by the peer's, so a slow minute of the machine
affects both.  Every value is the median of its rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from bench.cost import Cost


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one contender did in one round; without a cost of its own, its whole process is metered."""

    values: Mapping[str, float]
    cost: Cost | None = None


class Turn(NamedTuple):
    """One contender's outcome with its cost known."""

    values: Mapping[str, float]
    cost: Cost


class Row(NamedTuple):
    """One line of the report; a ratio is ours divided by the peer's."""

    metric: str
    value: float
    unit: str
    against: str
    ratio: float | None
    ratio_min: float | None
    ratio_max: float | None
    cpu_s: float
    peak_mb: float


class Spread(NamedTuple):
    """One contender's metric over all rounds."""

    contender: str
    metric: str
    unit: str
    low: float
    middle: float
    high: float
    cost: Cost


def spreads(rounds: Sequence[Mapping[str, Turn]], units: Mapping[str, str]) -> list[Spread]:
    """Every contender's own figures: lowest, median, highest."""
    return [
        Spread(name, metric, unit, min(values), median(values), max(values), _cost(rounds, name))
        for metric, unit in units.items()
        for name in rounds[0]
        if (values := _values(rounds, name, metric))
    ]


def rows(rounds: Sequence[Mapping[str, Turn]], units: Mapping[str, str], ours: str | None) -> list[Row]:
    """Ours against each peer, then each peer by itself as `<peer>.<metric>` with nothing to compare."""
    return [
        *(row for metric, unit in units.items() if ours for row in _against(rounds, ours, metric, unit)),
        *(
            Row(f"{one.contender}.{one.metric}", one.middle, one.unit, "", None, None, None, *one.cost)
            for one in spreads(rounds, units)
            if one.contender != ours
        ),
    ]


def _against(rounds: Sequence[Mapping[str, Turn]], ours: str, metric: str, unit: str) -> list[Row]:
    values = _values(rounds, ours, metric)
    if not values:
        return []
    cost = _cost(rounds, ours)
    made = []
    for peer in rounds[0]:
        others = _values(rounds, peer, metric)
        if peer == ours or not others or not all(others):  # nothing is a multiple of nothing
            continue
        ratios = [value / other for value, other in zip(values, others, strict=True)]
        made.append(Row(metric, median(values), unit, peer, median(ratios), min(ratios), max(ratios), *cost))
    return made or [Row(metric, median(values), unit, "", None, None, None, *cost)]


def _values(rounds: Sequence[Mapping[str, Turn]], name: str, metric: str) -> list[float]:
    return [turn[name].values[metric] for turn in rounds if metric in turn[name].values]


def _cost(rounds: Sequence[Mapping[str, Turn]], name: str) -> Cost:
    costs = [turn[name].cost for turn in rounds]
    return Cost(median(cost.cpu_s for cost in costs), max(cost.peak_mb for cost in costs))
