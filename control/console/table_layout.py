"""How a pipeline's tables are laid out on its page: how each is, which are listed, and the map.

In: both halves, and what was chosen.  Out: a layout, which is kept until the state of a half or of a table
changes: ten thousand tables take longer to sort and to draw than all the rest of the page.
"""

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Final

from wrackline.control.console.draw.heat_map import HeatMap, heat_map
from wrackline.control.console.heat_figures import TONES, heat_kinds
from wrackline.control.console.page_words import source_badge, target_badge
from wrackline.control.runtime.board.board_summary import board_version
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

_FIRST: Final = ("bad", "warn", "busy")  # tables that are listed before the others
_WORST_FIRST: Final = (*_FIRST, "idle", "good")  # of two halves: a table that rests in one does not follow
_MOST: Final = 16  # layouts; one of ten thousand tables takes some megabytes


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Which tables are listed."""

    text: str = ""
    tone: str = ""
    page: int = 1
    figure: str = ""  # what the map shows; empty: states


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How all tables are, and those that were chosen."""

    tones: Mapping[str, str]  # how each table is
    counts: Sequence[tuple[str, int]]
    listed: Sequence[str]  # those that were chosen, those that need attention first
    wrong: Sequence[str]  # those with an error
    map: HeatMap


def table_layout(halves: Mapping[Half, HalfBoard], choice: TableChoice, at_ms: int) -> TableLayout:
    """Lay them out.  Pure."""
    tones = _tones(halves)
    text = choice.text.lower()
    by_tone: dict[str, list[str]] = {tone: [] for tone in TONES}
    for name, tone in tones.items():
        if choice.tone in ("", tone) and text in name.lower():
            by_tone[tone if tone in _FIRST else TONES[-1]].append(name)
    counts = Counter(tones.values())
    return TableLayout(
        tones,
        [(tone, counts[tone]) for tone in TONES if counts[tone]],
        [name for names in by_tone.values() for name in sorted(names)],
        sorted(name for name, tone in tones.items() if tone == "bad"),
        heat_map(heat_kinds(choice.figure, tones, halves, at_ms)),
    )


class TableLayouts:
    """Keeps the newest layouts; any thread may ask."""

    def __init__(self) -> None:
        self._layouts: OrderedDict[tuple[str, ...], tuple[int, TableLayout]] = OrderedDict()
        self._lock = Lock()

    def of(
        self, pipeline: str, halves: Mapping[Half, HalfBoard], choice: TableChoice, at_ms: int
    ) -> TableLayout:
        """Return the layout of a pipeline's tables; a map of figures is drawn again each time."""
        states = board_version(halves.values()).states
        about = (pipeline, choice.text, choice.tone, choice.figure)
        with self._lock:
            known = self._layouts.get(about)
        if known is not None and known[0] == states and not choice.figure:
            return known[1]
        made = table_layout(halves, choice, at_ms)
        with self._lock:
            self._layouts[about] = states, made
            self._layouts.move_to_end(about)
            if len(self._layouts) > _MOST:
                self._layouts.popitem(last=False)
        return made


def _tones(halves: Mapping[Half, HalfBoard]) -> dict[str, str]:
    """Return how each table is, by its name: the worse of its two halves."""
    source, target = halves[Half.SOURCE].tables, halves[Half.TARGET].tables
    nothing: Document = {}
    return {
        name: _tone(source.get(name, nothing), target.get(name, nothing))
        for name in source.keys() | target.keys()
    }


def _tone(source: Document, target: Document) -> str:
    if source.get("reason") or target.get("error"):
        return "bad"
    return _worse(source.get("state", "") if source else None, target.get("standing", "") if target else None)


@lru_cache(256)  # a board has few states, and ten thousand tables
def _worse(source: str | None, target: str | None) -> str:
    tones = [source_badge(source).tone] if source is not None else []
    tones += [target_badge(target).tone] if target is not None else []
    return min(tones, key=_WORST_FIRST.index, default="idle")
