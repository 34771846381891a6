"""Metrics as values: their declarations, and their lines in Prometheus' text form.

In: declarations, and samples with their labels.  Out: text.  Both halves of a pipeline declare theirs with
it, each in one module, from which docs/metrics.md is printed.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from math import inf, isinf


class Type(Enum):
    """A metric's type, as the text format names it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `labels` come after those that all of its half have."""

    name: str
    type: Type
    meaning: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One line; `suffix` is that of a histogram's parts."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with all its lines."""

    name: str
    type: str
    meaning: str
    samples: Sequence[Sample]


class Histogram:
    """Counts values below bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = (*bounds, inf)
        self._counts = [0] * len(self._bounds)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self, labels: Mapping[str, str]) -> list[Sample]:
        """Its lines; each bucket includes the buckets below it."""
        totals = list(accumulate(self._counts))
        buckets = [
            Sample({**labels, "le": _number(bound)}, total, "_bucket")
            for bound, total in zip(self._bounds, totals, strict=True)
        ]
        return [*buckets, Sample(labels, self._sum, "_sum"), Sample(labels, totals[-1], "_count")]


def text(families: Iterable[Family]) -> str:
    """Write the families that have lines."""
    return "".join(line for family in families if family.samples for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escape(family.meaning, quotes=False)}\n"
    yield f"# TYPE {family.name} {family.type}\n"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{{{labels}}} {_number(sample.value)}\n"


def _escape(value: str, *, quotes: bool = True) -> str:
    value = value.replace("\\", r"\\").replace("\n", r"\n")
    return value.replace('"', r"\"") if quotes else value


def _number(value: float) -> str:
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)
