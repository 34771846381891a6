"""What the page of earlier positions shows: those that were kept, and what going back to one would do.  Pure.

In: the positions that were kept, and what a dry run has found.  Out: a page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Final

from wrackline.control.console.page_words import DASH
from wrackline.control.runtime.ground.number_text import ago_text, count_text
from wrackline.control.runtime.ground.times import parse_moment
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Document

_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class RewindQuestion:
    """Where to go back to, as it was typed."""

    to: str = ""
    as_new: bool = False


@dataclass(frozen=True, slots=True)
class RewindLook:
    """What is known of it."""

    history: Sequence[PastPosition]
    moves: Sequence[PlannedMove]
    stopped: bool
    grouped: bool  # whether it is done here; else a command does it
    error: Document | None


@dataclass(frozen=True, slots=True)
class PastRow:
    """A position that can be chosen."""

    time: str
    ago: str
    database: str
    place: str
    generation: int
    chosen: bool  # it is where the dry run leads


@dataclass(frozen=True, slots=True)
class MoveRow:
    """How far back one database goes."""

    database: str
    now: str
    then: str


@dataclass(frozen=True, slots=True)
class RewindPage:
    """The page; without moves nothing was chosen, or it can't be done."""

    name: str
    question: RewindQuestion
    rows: Sequence[PastRow]
    page: int
    pages: int
    count: str
    moves: Sequence[MoveRow]
    back: str  # how long ago it was there
    look: RewindLook
    command: str


def rewind_page(
    name: str, question: RewindQuestion, look: RewindLook, at_ms: int, page: int = 1
) -> RewindPage:
    """Make the page."""
    newest = list(reversed(look.history))
    pages = max(1, -(-len(newest) // _PAGE))
    page = min(max(1, page), pages)
    chosen = _chosen(look.history, question.to)
    return RewindPage(
        name,
        question,
        [_row(one, at_ms, chosen=one in chosen) for one in newest[(page - 1) * _PAGE : page * _PAGE]],
        page,
        pages,
        count_text(len(newest), "position", "positions"),
        [MoveRow(one.database, one.now or DASH, one.then) for one in look.moves],
        ", ".join(dict.fromkeys(_ago(one.time, at_ms) for one in chosen)),
        look,
        f"wrackline offsets rewind pipeline.toml --to {quote(question.to or '2026-05-01T12:00:00Z')}"
        + (" --as-new" if question.as_new else ""),
    )


def is_stopped(standing: ConnectorState) -> bool:
    """Whether no process of a pipeline runs, by the wish of an operator."""
    halves = (standing, standing.target)
    return all(one is None or one.state is TaskState.STOPPED for one in halves)


def _chosen(history: Sequence[PastPosition], to: str) -> Sequence[PastPosition]:
    """Return the last position of each database up to a moment."""
    try:
        until = parse_moment(to)
    except ValueError:
        return ()
    last = {one.database: one for one in history if datetime.fromisoformat(one.time) <= until}
    return list(last.values())


def _row(one: PastPosition, at_ms: int, *, chosen: bool) -> PastRow:
    return PastRow(one.time, _ago(one.time, at_ms), one.database, one.place, one.generation, chosen)


def _ago(time: str, at_ms: int) -> str:
    return ago_text(round(datetime.fromisoformat(time).timestamp() * 1000), at_ms)
