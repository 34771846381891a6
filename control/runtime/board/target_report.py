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
from wrackline.schemas.kafka.board_records import ENDED, Document, HalfBoard, HalfState
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
            self._reached = {"outages": figures.outages, "through_ms": figures.through_ms}
            knows_all = figures.has_looked  # first: tables that are seen meanwhile are in the documents
            changed = figures.take_changed()  # after the moment: whether they are current is as of then
            topics = None if scope is LookScope.ALL else changed
            minutes = self._slo.look(source_rests=self._source_rests(), whole=scope is LookScope.ALL)
        half = {**self.standing.document(), "target": self._kind, **self._reached}
        return HalfLook(half, table_documents(figures, topics), knows_all, minutes)

    def earlier(self, half: HalfBoard) -> None:
        """Take what an earlier process has reported: a table that is stuck since then stays so."""
        complete = {name: half.complete_ms(name) for name in half.tables}
        self._figures.remember(
            {
                name: EarlierTable(at_ms, half.tables[name]["complete_since_ms"] or at_ms, half.lacks(name))
                for name, at_ms in complete.items()
                if at_ms is not None
            }
        )

        was_wished = half.state in ENDED and half.report["wished"]
        self._slo.open(half.minutes.copy(), was_wished=was_wished)

    def ends(self) -> None:
        """Take that it merges no more."""
        with self._lock:
            self._begun = False
