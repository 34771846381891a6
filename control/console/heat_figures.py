"""What the map of tables is coloured by: state, lateness, events, rows or letters.  Pure.

In: what both halves report of each table.  Out: for each table a kind of cell, and what the kinds mean.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

TONES: Final = ("bad", "warn", "busy", "good", "idle")
_TONE_WORDS: Final = ("needs you", "waiting", "reading rows", "following", "at rest")
_NOTHING: Final = "idle"


class HeatLegend(NamedTuple):
    """A kind of cell, and what it means."""

    kind: str
    words: str


class _Figure(NamedTuple):
    word: str
    value: Callable[[Document, Document, int], float | None]
    bounds: Sequence[float]  # of the levels: a value below the first is level 0
    words: Sequence[str]


def _late(_: Document, target: Document, at_ms: int) -> float | None:
    waits, lag = target.get("behind_s"), target.get("lag_ms")
    if waits:
        return float(waits * 1000 + at_ms - target["at_ms"])
    return None if lag is None else float(lag["whole"])


_FIGURES: Final[Mapping[str, _Figure]] = {
    "late": _Figure(
        "how late",
        _late,
        (2_000, 10_000, 60_000, 600_000),
        ("below 2 s", "below 10 s", "below 1 min", "below 10 min", "later"),
    ),
    "events": _Figure(
        "events",
        lambda source, target, _: float(sum((target or source).get("events", {}).values())),
        (1, 1_000, 100_000, 10_000_000),
        ("none", "below 1,000", "below 100,000", "below 10 M", "more"),
    ),
    "rows": _Figure(
        "rows to read",
        lambda source, _, __: float(source.get("expected") or 0) if source.get("requests") else None,
        (10_000, 1_000_000, 10_000_000, 100_000_000),
        ("below 10,000", "below 1 M", "below 10 M", "below 100 M", "more"),
    ),
    "letters": _Figure(
        "letters",
        lambda source, target, _: float(
            target.get("dead_letters", 0) + sum(source.get("letters", {}).values())
        ),
        (1, 10, 100, 1_000),
        ("none", "below 10", "below 100", "below 1,000", "more"),
    ),
}
FIGURES: Final[Mapping[str, str]] = {"": "state", **{name: one.word for name, one in _FIGURES.items()}}


def heat_kinds(
    figure: str, tones: Mapping[str, str], halves: Mapping[Half, HalfBoard], at_ms: int
) -> Mapping[str, str]:
    """Return what each table is drawn as; `tones` are their states."""
    chosen = _FIGURES.get(figure)
    if chosen is None:
        return tones
    source, target = halves[Half.SOURCE].tables, halves[Half.TARGET].tables
    nothing: Document = {}
    found = {}
    for name in tones:
        value = chosen.value(source.get(name, nothing), target.get(name, nothing), at_ms)
        found[name] = _NOTHING if value is None else f"heat{bisect_right(chosen.bounds, value)}"
    return found


def heat_legend(figure: str) -> Sequence[HeatLegend]:
    """Return what the kinds of cells mean."""
    chosen = _FIGURES.get(figure)
    if chosen is None:
        return [HeatLegend(tone, word) for tone, word in zip(TONES, _TONE_WORDS, strict=True)]
    known = [HeatLegend(f"heat{level}", word) for level, word in enumerate(chosen.words)]
    return [*known, HeatLegend(_NOTHING, "not known")]
