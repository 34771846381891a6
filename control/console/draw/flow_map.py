"""Tables, topics and copies in three layers, with a line for each hop.  Pure.

    table -------- topic -------- copy

In: the names of each flow.  Out: boxes and lines.  Each table has a topic and a copy of its own, so it is
a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

_LAYER: Final = 420  # from one layer's left to the next one's
_WIDE: Final = 340
_HIGH: Final = 26
_EVERY: Final = 34  # from one row's top to the next one's
_MOST_LETTERS: Final = 46


class FlowNames(NamedTuple):
    """One flow: its name in each layer, empty where it ends before, and the tone of each hop."""

    names: tuple[str, str, str]
    tones: tuple[str, str]


class FlowBox(NamedTuple):
    """A name in its layer; `text` is shortened."""

    name: str
    text: str
    x: int
    y: int


class FlowLine(NamedTuple):
    """A hop."""

    tone: str
    x: int
    y: float


@dataclass(frozen=True, slots=True)
class FlowMap:
    """The drawing."""

    boxes: Sequence[FlowBox]
    lines: Sequence[FlowLine]
    width: int
    height: int
    box_width: int = _WIDE
    box_height: int = _HIGH
    line_width: int = _LAYER - _WIDE


def flow_map(flows: Sequence[FlowNames]) -> FlowMap:
    """Draw flows in their order, from above."""
    boxes, lines = [], []
    for row, flow in enumerate(flows):
        boxes += [
            FlowBox(name, _short(name), layer * _LAYER, row * _EVERY)
            for layer, name in enumerate(flow.names)
            if name
        ]
        lines += [
            FlowLine(tone, layer * _LAYER + _WIDE, row * _EVERY + _HIGH / 2)
            for layer, tone in enumerate(flow.tones)
            if flow.names[layer] and flow.names[layer + 1]
        ]
    return FlowMap(boxes, lines, 2 * _LAYER + _WIDE, max(1, len(flows)) * _EVERY)


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else f"…{name[1 - _MOST_LETTERS :]}"
