"""The model's Kafka: transactions that hold events, the position and the tables' states, or nothing.

What the task has made and not committed is lost with it.  A commit takes everything up to any place that
may be resumed from, so a transaction of the source may be cut where the log gave a place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fakes.place import Place
from tests.simulation.replica import Broken, Record
from wrackline.producers.contract.snapshot_requests import RequestAccepted, RequestMoved
from wrackline.producers.contract.steps import Commit
from wrackline.producers.snapshot.work_items import Unsaved
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.tables.table import TableId

NOTHING = Unsaved()
ENDED = frozenset({RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED})


@dataclass(eq=False)
class Durable:
    """What Kafka keeps: all that a restart finds."""

    position: Place
    records: list[Record] = field(default_factory=list)
    states: dict[TableId, Json] = field(default_factory=dict)
    receipts: dict[str, RequestState] = field(default_factory=dict)
    streamed: Sequence[Commit] = ()  # with the position: which transactions a reader may not see yet


@dataclass(slots=True)
class Piece:
    """Records that are made together; with a position, a transaction may end behind them."""

    records: Sequence[Record]
    position: Place | None
    unsaved: Unsaved = NOTHING


class Publisher:
    """One run's."""

    def __init__(self, durable: Durable) -> None:
        self.durable = durable
        self._pieces: list[Piece] = []
        self._ends: list[int] = []  # how many pieces a transaction may hold

    @property
    def idle(self) -> bool:
        """Whether nothing waits."""
        return not self._ends

    @property
    def waiting(self) -> int:
        """How many records wait."""
        return sum(len(piece.records) for piece in self._pieces)

    def add(self, piece: Piece) -> None:
        """Take what comes next in the log's order."""
        self._pieces.append(piece)
        if piece.position is not None:
            self._ends.append(len(self._pieces))

    def beside(self, unsaved: Unsaved) -> None:
        """Save this as soon as may be: with the last place that may be resumed from, or the next."""
        end = self._ends[-1] if self._ends else 0
        newest = self._pieces[end - 1].position if end else self.durable.position
        self._pieces.insert(end, Piece((), newest, unsaved))
        self._ends.append(end + 1)

    def save(self, unsaved: Unsaved) -> None:
        """Keep states and receipts."""
        durable = self.durable
        durable.states |= unsaved.states
        for change in unsaved.receipts:
            if isinstance(change, RequestAccepted):
                durable.receipts.setdefault(change.id, RequestState.ACCEPTED)
            elif isinstance(change, RequestMoved):
                if durable.receipts.get(change.id) in ENDED:
                    raise Broken("receipt", f"{change.id} became {change.state.value} after its end")
                durable.receipts[change.id] = change.state

    def commit(self, which: float) -> None:
        """Commit a prefix of what waits; 1 is all that may be committed."""
        if not self._ends:
            return
        at = min(int(which * len(self._ends)), len(self._ends) - 1)
        end = self._ends[at]
        durable = self.durable
        for piece in self._pieces[:end]:
            durable.records += piece.records
            self.save(piece.unsaved)
            if piece.position is not None:
                durable.position = piece.position
        del self._pieces[:end]
        self._ends = [other - end for other in self._ends[at + 1 :]]
