"""What is wrong with a pipeline now: errors of its halves and tables, and what was set aside.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.console.page_words import (
    Badge,
    count_or_dash,
    half_badge,
    source_badge,
    target_badge,
)
from wrackline.control.runtime.board.board_summary import database_errors, table_errors
from wrackline.control.runtime.ground.number_text import duration_text
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

_MOST: Final = 200  # errors that are listed
_ORDER: Final = ("bad", "warn", "busy", "good", "idle")


@dataclass(frozen=True, slots=True)
class ErrorNow:
    """An error that stands now."""

    where: str
    badge: Badge
    since: str
    error: Document
    table: str  # how it is called in addresses; empty: of a whole half


@dataclass(frozen=True, slots=True)
class SetAside:
    """Records of a table that did not become rows, or values that became null."""

    table: str
    shown: str
    letters: str
    by_reading: str
    nulls: str


@dataclass(frozen=True, slots=True)
class ErrorsPage:
    """The page."""

    pipeline: str
    errors: Sequence[ErrorNow]
    more: int
    aside: Sequence[SetAside]
    has_target: bool


def errors_page(
    pipeline: str, halves: Mapping[Half, HalfBoard], at_ms: int, *, has_target: bool
) -> ErrorsPage:
    """Make the page."""
    own = {name: table["table"] for name, table in halves[Half.SOURCE].tables.items()}
    found = [
        ErrorNow(f"{half.value} half", half_badge(known, at_ms), _since(known, at_ms), error, "")
        for half, known in halves.items()
        if (error := known.report.get("error"))
    ]
    for known in halves.values():
        for name, error in sorted(database_errors(known).items()):
            found.append(ErrorNow(f"database {name}", half_badge(known, at_ms), "", error, ""))
    for half, known in halves.items():
        for name, error in sorted(table_errors(known).items()):
            table = known.tables[name]
            badge = (
                source_badge(table.get("state"))
                if half is Half.SOURCE
                else target_badge(table.get("standing"))
            )
            found.append(ErrorNow(own.get(name, name), badge, "", error, name))
    found.sort(key=lambda one: (bool(one.table), _ORDER.index(one.badge.tone), one.where))
    names = sorted({name for known in halves.values() for name in known.tables})
    aside = [made for name in names if (made := _aside(name, own.get(name, name), halves)) is not None]
    return ErrorsPage(pipeline, found[:_MOST], max(0, len(found) - _MOST), aside, has_target)


def _since(known: HalfBoard, at_ms: int) -> str:
    since = known.heard_ms if known.is_silent(at_ms) else known.report.get("since_ms")
    return "" if since is None else duration_text(max(0, at_ms - since))


def _aside(name: str, shown: str, halves: Mapping[Half, HalfBoard]) -> SetAside | None:
    nothing: Document = {}
    source, target = (halves[half].tables.get(name, nothing) for half in Half)
    letters, by_reading = target.get("dead_letters", 0), source.get("letters", {})
    nulls = source.get("nulls", {})
    if not (letters or by_reading or nulls):
        return None
    return SetAside(name, shown, count_or_dash(letters or None), _counts(by_reading), _counts(nulls))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{column} {count:,}" for column, count in counts.items())
