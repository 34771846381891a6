"""What the screen of the log shows: the newest lines that are meant, the newest first.  Pure.

In: lines with their offsets, as anybody may have written them.  Out: rows, and the offset behind the newest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.control.console.events.event_panel import cut_text
from wrackline.control.console.page_words import Badge
from wrackline.control.runtime.ground.times import exact_utc_text
from wrackline.control.runtime.logs.trail_lines import LEVELS, LineChoice, fits, read_line
from wrackline.schemas.kafka.board_records import Half

MOST: Final = 200  # lines of a page
_HALVES: Final = tuple(half.value for half in Half)
_BADGES: Final = {
    "warning": Badge("warning", "!", "warn"),
    "error": Badge("error", "✕", "bad"),
    "critical": Badge("critical", "✕", "bad"),
}
_INFO: Final = Badge("info", "·", "idle")


@dataclass(frozen=True, slots=True)
class LineQuestion:
    """Which lines are meant; `after` is the offset of the newest one that is known, -1: none is."""

    level: str = "info"
    half: str = ""
    text: str = ""
    after: int = -1


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line."""

    place: int
    time: str
    moment: str
    badge: Badge
    half: str
    event: str
    text: str
    table: str
    code: str


@dataclass(frozen=True, slots=True)
class LinesPage:
    """The page; `sent` is false where no lines are sent."""

    name: str
    question: LineQuestion
    rows: Sequence[LineRow]
    more: int
    sent: bool
    newest: int  # offset, whatever is meant


def read_line_question(level: str, half: str, text: str, after: int) -> LineQuestion:
    """Return what is asked; what is odd becomes what is usual."""
    return LineQuestion(
        level if level in LEVELS else "info", half if half in _HALVES else "", text.strip(), max(-1, after)
    )


def lines_page(
    name: str, question: LineQuestion, lines: Sequence[tuple[int, bytes]] | None, most: int = MOST
) -> LinesPage:
    """Make the page."""
    choice = LineChoice(question.level, limit=most)
    found = []
    for place, record in lines or ():
        line = read_line(record) if place > question.after else None
        if line is not None and fits(line, choice) and _means(question, line):
            found.append(_row(place, line))
    newest = max((place for place, _ in lines or ()), default=question.after)
    return LinesPage(
        name,
        question,
        found[: -most - 1 : -1],
        max(0, len(found) - most),
        lines is not None,
        max(newest, question.after),
    )


def _means(question: LineQuestion, line: Mapping[str, Any]) -> bool:
    said = f"{line['line']} {line.get('event')} {line.get('table')}".lower()
    return question.half in ("", line.get("half")) and question.text.lower() in said


def _row(place: int, line: Mapping[str, Any]) -> LineRow:
    error = line.get("error")
    moment = exact_utc_text(line["ts_ms"])
    return LineRow(
        place,
        moment[11:23] or moment,
        moment,
        _BADGES.get(str(line.get("level")), _INFO),
        _word(line.get("half")),
        _word(line.get("event")),
        cut_text(line["line"]),
        _word(line.get("table")),
        _word(error.get("code")) if isinstance(error, dict) else "",
    )


def _word(value: object) -> str:
    return cut_text(value, 200) if isinstance(value, str) else ""
