"""What the page of a table's columns shows: the way of each, what is done to it, and since when.  Pure.

In: the maps that both halves have reported.  Out: a page of ways at a chosen time, a drawing of them, and the
times to choose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.control.console.draw.flow_map import FlowMap, FlowNames, flow_map
from wrackline.control.console.page_words import Badge
from wrackline.control.runtime.ground.number_text import count_text
from wrackline.control.runtime.ground.times import utc_text
from wrackline.control.runtime.lineage.column_paths import (
    ColumnPath,
    MapsOfTable,
    PathPeriod,
    periods,
    since,
)

_PAGE: Final = 50
_MOST_NAMES: Final = 4  # that the words of a period have
_RENAMED: Final = Badge("renamed", "→", "busy")
_ONLY_COPY: Final = Badge("only in the copy", "◌", "idle")


class ColumnWay(NamedTuple):
    """One column."""

    path: ColumnPath
    badges: Sequence[Badge]
    since: str


class PeriodRow(NamedTuple):
    """A time that can be chosen."""

    at_ms: int
    since: str
    words: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ColumnsPage:
    """The page; without rows nothing has been reported."""

    pipeline: str
    key: str  # how the table is called in addresses
    table: str
    copy: str
    at_ms: int
    text: str
    rows: Sequence[ColumnWay]
    left_out: Sequence[str]
    drawing: FlowMap
    count: int
    page: int
    pages: int
    periods: Sequence[PeriodRow]  # the newest first


def columns_page(
    pipeline: str, key: str, maps: MapsOfTable, at_ms: int = 0, text: str = "", page: int = 1
) -> ColumnsPage:
    """Make the page for a moment, 0: now; `text` chooses columns."""
    history = periods(maps)
    until = [one for one in history if not at_ms or one.since_ms <= at_ms] or history[:1]
    if not until:
        return ColumnsPage(pipeline, key, key, "", 0, text, [], [], flow_map([]), 0, 1, 1, [])
    chosen = until[-1]
    meant = [path for path in chosen.paths if text.lower() in " ".join(path).lower()]
    pages = max(1, -(-len(meant) // _PAGE))
    page = min(max(1, page), pages)
    rows = [
        ColumnWay(path, _badges(path), utc_text(since(until, path)))
        for path in meant[(page - 1) * _PAGE : page * _PAGE]
    ]
    return ColumnsPage(
        pipeline,
        key,
        chosen.table or key,
        chosen.copy,
        0 if chosen is history[-1] else chosen.since_ms,
        text,
        rows,
        chosen.left_out,
        flow_map([_drawn(row) for row in rows]),
        len(meant),
        page,
        pages,
        [_period(history, number, chosen) for number in reversed(range(len(history)))],
    )


def _badges(path: ColumnPath) -> Sequence[Badge]:
    made = [Badge(path.how, "▒", "warn")] if path.how else []
    if path.renamed:
        made.append(_RENAMED)
    return made if path.source else [*made, _ONLY_COPY]


def _drawn(row: ColumnWay) -> FlowNames:
    path = row.path
    return FlowNames((path.source, path.field, path.target), ("warn" if path.how else "good", "good"))


def _period(history: Sequence[PathPeriod], number: int, chosen: PathPeriod) -> PeriodRow:
    now = history[number]
    words = (
        count_text(len(now.paths), "column", "columns") if number == 0 else _changes(history[number - 1], now)
    )
    return PeriodRow(now.since_ms, utc_text(now.since_ms), words, now is chosen)


def _changes(before: PathPeriod, now: PathPeriod) -> str:
    old, new = ({path.field: path for path in one.paths} for one in (before, now))
    parts = [
        ("added", [name for name in new if name not in old]),
        ("gone", [name for name in old if name not in new]),
        ("changed", [name for name in new if name in old and new[name] != old[name]]),
    ]
    return "; ".join(f"{word} {_some(names)}" for word, names in parts if names) or "what is left out changed"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
