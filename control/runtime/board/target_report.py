"""What the target half reports: its state, and each table with its offsets, lag and errors.

In: a consumer's figures.  Out: looks for the board.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from wrackline.consumers.observe.figures import ConsumerFigures, EarlierTable
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.consumers.observe.status import table_documents
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope, urgent
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.schemas.kafka.board_records import Document, HalfBoard, HalfState
from wrackline.schemas.minutes.minute_book import MinuteRecord


class TargetReport:
    """Looks at a consumer; on the board's thread."""

    def __init__(
        self,
        kind: str,
        figures: ConsumerFigures,
        standing: HalfStanding,
        slo: SloFigures,
        source_rests: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take also whether somebody wished that the source half rests."""
        self.standing, self._slo, self._source_rests = standing, slo, source_rests
        self._kind, self._figures = kind, figures
        self._begun, self._lock = False, Lock()
        self._reached: Document = {}  # at the last look at all figures
        self._earlier_ms: int | None = None  # the moment of an earlier process

    def begins(self) -> None:
        """Take that it merges from now on."""
        with self._lock:
            self._begun = True
            self.standing.becomes(HalfState.RUNNING)

    def look(self, scope: LookScope) -> HalfLook:
        """Return the half, and those of its tables that the look is at."""
        figures = self._figures
        with self._lock:  # an end that came meanwhile must not be replaced
            if self._begun:
                away = figures.outage
                self.standing.becomes(HalfState.RUNNING if away is None else HalfState.RECOVERING, away)
        topics: frozenset[str] | None
        minutes: Sequence[MinuteRecord] = ()
        if scope is LookScope.STATES:  # a later moment would count for tables that are not looked at
            knows_all, topics = False, urgent(figures.take_states())
        else:
            through_ms = self._earlier_ms if figures.through_ms is None else figures.through_ms
            self._reached = {"outages": figures.outages, "through_ms": through_ms}
            knows_all = figures.has_looked  # first: tables that are seen meanwhile are in the documents
            changed = figures.take_changed()  # after the moment: whether they are current is as of then
            topics = None if scope is LookScope.ALL else changed
            minutes = self._slo.look(source_rests=self._source_rests(), whole=scope is LookScope.ALL)
        half = {**self.standing.document(), "target": self._kind, **self._reached}
        return HalfLook(half, table_documents(figures, topics), knows_all, minutes)

    def earlier(self, half: HalfBoard) -> None:
        """Take what an earlier process has reported: a table that is stuck since then stays so.

        Its moment is reported until the source half is heard: tables that are not reported again count on it.
        """
        self._earlier_ms = half.report.get("through_ms")
        found = {}
        for name, table in half.tables.items():
            at_ms, since_ms = half.complete_ms(name), table["complete_since_ms"]
            first_ms = at_ms if since_ms is None else since_ms
            if first_ms is not None:
                found[name] = EarlierTable(at_ms, first_ms, half.lacks(name))
        self._figures.remember(found)
        self._figures.was_paused(
            frozenset(name for name, table in half.tables.items() if table.get("standing") == "paused")
        )
        was_wished = bool(half.report.get("wished"))  # also of one that was killed before it said its end
        self._slo.open(half.minutes.copy(), was_wished=was_wished)

    def ends(self) -> None:
        """Take that it merges no more."""
        with self._lock:
            self._begun = False
