"""What the target half reports: its state, and each table with its offsets, lag and errors.

In: a consumer's figures.  Out: looks for the board.
"""

from collections.abc import Callable
from threading import Lock

from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.status import table_documents
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope, urgent
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.schemas.kafka.board_records import Document, HalfBoard, HalfState


class TargetReport:
    """Looks at a consumer; on the board's thread."""

    def __init__(
        self, kind: str, figures: ConsumerFigures, hears: Callable[[HalfState], None] = lambda _: None
    ) -> None:
        """Take also what is called with each new state."""
        self.standing = HalfStanding(hears)
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
        if scope is LookScope.STATES:  # a later moment would count for tables that are not looked at
            topics: frozenset[str] | None = urgent(figures.take_states())
        else:
            self._reached = {"outages": figures.outages, "through_ms": figures.through_ms}
            changed = figures.take_changed()  # after the moment: whether they are current is as of then
            topics = None if scope is LookScope.ALL else changed
        half = {**self.standing.document(), "target": self._kind, **self._reached}
        return HalfLook(half, table_documents(figures, topics))

    def earlier(self, half: HalfBoard) -> None:
        """Take what an earlier process has reported: a table that is stuck since then stays so."""
        complete = {name: half.complete_ms(name) for name in half.tables}
        self._figures.remember({name: at_ms for name, at_ms in complete.items() if at_ms is not None})

    def ends(self) -> None:
        """Take that it merges no more."""
        with self._lock:
            self._begun = False
