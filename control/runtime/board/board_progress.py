"""What the target half reads of the board: how far the source half is, for which tables, and if it rests."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial

from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard
from wrackline.schemas.settings.settings_registry import Values


@contextmanager
def followed_board(values: Values) -> Iterator[BoardFollower]:
    """Follow the pipeline's board until the block ends."""
    with closing(BoardFollower()) as boards:
        boards.follow(values.text("name"), values)
        yield boards


def source_progress(boards: BoardFollower, name: str) -> Callable[[], SourceProgress | None]:
    """Return what says how far the source half is."""
    return partial(_newest, boards, name)


def source_rests(boards: BoardFollower, name: str) -> Callable[[], bool]:
    """Return what says whether somebody wished that the source half rests."""

    def rests() -> bool:
        if not boards.is_read(name):
            return False
        with boards.held(name) as halves:
            source = halves[Half.SOURCE]
            wished = bool(source.report.get("wished"))  # of one that was killed it is the last word
            return wished and not source.runs(now_ms())

    return rests


def _newest(boards: BoardFollower, name: str) -> SourceProgress | None:
    if not boards.is_read(name):  # a record that comes later may say something else
        return None
    with boards.held(name) as halves:
        return progress_of(halves[Half.SOURCE])


def progress_of(source: HalfBoard) -> SourceProgress | None:
    """Return through which moment each database's commits are in Kafka; None: that is not known of one.

    The half's tables are looked at after its moment and are written before it, so none of them was set aside
    by then without being known so here.
    """
    moments = [one["through_ms"] for one in _databases(source).values()]
    all_tasks = all(task["state"] for task in source.report.get("tasks", ()))  # or a database is not known
    if not moments or None in moments or not all_tasks:
        return None
    there = {
        name: table["state"] == TableStatus.STREAMING.value and not table["reason"]
        for name, table in source.tables.items()
        if table["state"] != TableStatus.GONE.value
    }
    whole = frozenset(name for name, is_whole in there.items() if is_whole)
    return SourceProgress(min(moments), whole, frozenset(there) - whole)


def _databases(source: HalfBoard) -> Mapping[str, Document]:
    found: Mapping[str, Document] = source.report.get("databases", {})
    return found
