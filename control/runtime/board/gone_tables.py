"""What the target half reads of the board: which tables are gone at the source.

In: a pipeline's board, which is followed.  Out: for each table of which the source half knows that it was
dropped or renamed, what is known of it.  A table that is only left out by the filters, or hidden, is not
among them, nor is a renamed one whose rows the settings do not read again under the new name.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from wrackline.consumers.drive.departures import GoneTable, SourceNews
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard, HalfState

_PATIENCE_S: Final = 10.0  # for the first look, which a run with --once needs
_LOOK_S: Final = 0.05


def gone_tables(boards: BoardFollower, name: str) -> Callable[[], SourceNews | None]:
    """Return what says which tables are gone; None: not known yet."""
    deadline = time.monotonic() + _PATIENCE_S

    def news() -> SourceNews | None:
        while not boards.is_read(name):
            if time.monotonic() > deadline:
                return None
            time.sleep(_LOOK_S)
        with boards.held(name) as halves:
            return source_news(halves[Half.SOURCE], now_ms())

    return news


def source_news(source: HalfBoard, at_ms: int) -> SourceNews:
    """Return which tables are gone, and whether the source half is heard."""
    gone = {name: _gone(name, source.tables) for name, table in source.tables.items() if _is_gone(table)}
    runs = source.state is HalfState.RUNNING and not source.is_silent(at_ms)
    return SourceNews(gone, runs)


def beginnings(target: HalfBoard) -> Mapping[str, tuple[int, str]]:
    """Return when an earlier process of the target half has announced departures, and what was to become."""
    known = ((name, table["departure"]) for name, table in target.tables.items())
    return {name: (one["since_ms"], one["behavior"]) for name, one in known if one}


def _is_gone(table: Document) -> bool:
    return table["state"] == TableStatus.GONE.value and bool(table["dropped"])


def _gone(name: str, tables: Mapping[str, Document]) -> GoneTable:
    """Follow a table through its names to the last one: another rename may have come, or its end."""
    first = last = tables[name]["renamed_to"]
    seen = {name}
    while last is not None and last not in seen and last in tables and _is_gone(tables[last]):
        seen.add(last)
        last = tables[last]["renamed_to"]
    reads = last in tables and tables[last]["state"] == TableStatus.STREAMING.value
    return GoneTable(last, follows=last is None or reads, renamed=first is not None)
