"""Existing rows beside the log: the snapshot machine between a stream and its cutter, and its readers.

    batch --> step by step: machine, then cutter --> [a place outside a transaction] --> slices --> cutter
                              ^                                                            |
                readers ------'  outcomes                    states, in the slice's own Kafka transaction

Why it is right: the machine has seen every step up to the place where a slice goes out, and none after it;
the cutter takes them in the same order, so a row that was read earlier never follows a later change of the
log (INV-3); what the machine wants saved goes in with the step that caused it (INV-2).
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import (
    Appeared,
    Batch,
    Commit,
    Fault,
    Progress,
    Renamed,
    Rows,
    Signal,
    Step,
)
from wrackline.producers.cutting.cutter import Cutter
from wrackline.producers.failpoints import reach
from wrackline.producers.reading.readers import (
    ChunkOutcome,
    FailureOutcome,
    Outcome,
    PlanOutcome,
    Readers,
    VisibilityOutcome,
    VoidOutcome,
)
from wrackline.producers.reading.release_budget import ReleaseBudget
from wrackline.producers.reading.request_intake import RequestIntake
from wrackline.producers.reading.resume_state import needs_no_more_reads, unread_error
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.snapshot.work_items import Unsaved
from wrackline.schemas.errors import WracklineError

_LOOK: Final = 0.005  # seconds between two questions where the log is, while a window waits for its mark


class ReopenError(Exception):
    """The log must be opened again, because it does not hand out a table that was requested."""


class Interleaver:
    """Feeds one lane; only the task's thread calls it, unless a method says otherwise."""

    def __init__(
        self,
        machine: Machine,
        readers: Readers,
        stream: LogStream,
        cutter: Cutter,
        asking: RequestIntake,
        *,
        clock: Callable[[], float],
        now_ms: Callable[[], int],
    ) -> None:
        self._machine, self._readers, self._stream, self._cutter = machine, readers, stream, cutter
        self._asking, self._clock, self._now_ms = asking, clock, now_ms
        self.beside: Callable[[int], int] = lambda _: 0  # takes this lane's bytes of windows: the others'
        self._room = ReleaseBudget()
        self._place_asked = -inf  # when the server was last asked for its place in the log
        self._under_way = 0  # work that readers have
        self._commit_at: int | None = None  # the save from which on Kafka has the requests
        self._reopened_by: int | None = None  # the same for tables that the log does not hand out yet

    def feed(self, batch: Batch) -> Sequence[Fault]:
        """Give the log's next steps to machine and cutter, and slices where it is outside a transaction.

        Return the faults of tables that are set aside.
        """
        found: list[Fault] = []
        now = self._clock()
        outside = _last_outside(batch.steps) if self._machine.reading or self._under_way else -1
        piece: list[Step] = []
        for place, step in enumerate(batch.steps):
            self._machine.step(step)
            if isinstance(step, Rows):
                self._room.moved(now)
            elif isinstance(step, Signal):
                self._asking.row(step)
            elif isinstance(step, Appeared | Renamed):
                self._asking.comes(step)
            if unsaved := self._machine.unsaved():
                found += self._pass_on(piece, batch.size)
                self._save(unsaved)
                piece = []
            piece.append(step)
            if place == outside:
                found += self._pass_on(piece, batch.size)
                found += self._release()
                self._begin(self._clock())  # a busy log may end each batch inside a transaction
                piece = []
        found += self._pass_on(piece, batch.size)
        return found

    def advance(self, *, hears: bool) -> Sequence[Fault]:
        """Take what readers have done, give out what may go, begin what is wanted; never waits.

        `hears`: the log is polled, so it is worth asking the server for its place.  Return the faults of
        tables that are set aside.
        """
        now = self._clock()
        self._asking.look(now)
        if self._under_way:
            for outcome in self._readers.outcomes():
                self._under_way -= 1
                self._take(outcome, now)
        if unsaved := self._machine.unsaved():
            self._save(unsaved)
        found = self._release()
        if not self._cutter.inside:
            self._begin(now)
        if hears and self._machine.waiting and now - self._place_asked >= _LOOK:
            self._stream.ask()
            self._place_asked = now
        return found

    def hear(self) -> bool:
        """Take requests that come from elsewhere than the log; return whether any came."""
        return self._asking.look(self._clock())

    def due(self) -> float:
        """The moment from which `advance` may have something to do."""
        if self._machine.waiting:
            return self._clock() + _LOOK
        return self._machine.due(self._clock())

    @property
    def quiet(self) -> bool:
        """Whether it has nothing to do until the log brings something, or a request comes."""
        machine = self._machine
        return not (self._under_way or machine.reading or machine.waiting or machine.unstreamed)

    @property
    def over(self) -> bool:
        """Whether nothing more will be read without a new request, and all of it was taken for Kafka."""
        return (
            self._cutter.saves == self._cutter.saves_taken
            and self._asking.heard
            and all(map(needs_no_more_reads, self._machine.states.values()))
        )

    @property
    def reads(self) -> Sequence[ReadUnderWay]:
        """The chunks that are being read or held; on any thread."""
        return self._machine.work_index.reads()

    @property
    def unread(self) -> WracklineError | None:
        """An error that names the tables of which not all rows were read."""
        return unread_error(self._machine.states)

    def took(self, size: int, seconds: float) -> None:
        """Note that Kafka took this many bytes of this lane in this many seconds."""
        self._room.took(size, seconds)

    def saved(self) -> None:
        """Kafka has what was taken for it: a request counts as kept, and a table that came back is taken up.

        The result of a request may be only in the next transaction, or in one after it.
        """
        given, committed = self._cutter.saves, self._cutter.saves_taken
        if self._asking.took():
            self._commit_at = given
        if self._commit_at is not None and committed >= self._commit_at:
            self._commit_at = None
            self._asking.commit()
        if not self._machine.unstreamed:
            self._reopened_by = None
        elif self._reopened_by is None:
            self._reopened_by = given
        if self._reopened_by is not None and committed >= self._reopened_by:
            raise ReopenError

    def close(self) -> None:
        """Close the readers; their work is dropped, as the machine is."""
        self._readers.close()
        self._asking.close()

    def _take(self, outcome: Outcome, now: float) -> None:
        match outcome:
            case PlanOutcome() as plan:
                self._machine.planned(plan.ticket, plan.key, plan.spans, plan.mark, plan.expected)
            case ChunkOutcome():
                self._machine.chunk(outcome.ticket, outcome.chunk, outcome.mark)
            case VoidOutcome():
                self._machine.voided(outcome.ticket, outcome.void)
            case VisibilityOutcome():
                self._machine.visibility(outcome.ticket, outcome.hidden)
            case FailureOutcome():
                self._machine.failed(outcome.ticket, outcome.error, now, outcome.hidden)

    def _begin(self, now: float) -> None:
        """Hand out the reads that are wanted, where the log is outside a transaction."""
        machine = self._machine
        machine.bytes_beside = self.beside(machine.work_index.held)
        for work in machine.work(now):
            self._readers.begin(work)
            self._under_way += 1
            self.beside(machine.work_index.held)

    def _save(self, unsaved: Unsaved) -> None:
        self._asking.tell(unsaved.receipts)
        self._cutter.save(unsaved.states, self._clock())

    def _pass_on(self, steps: Sequence[Step], size: int) -> Sequence[Fault]:
        return self._cutter.feed(Batch(tuple(steps), size), self._clock()) if steps else ()

    def _release(self) -> Sequence[Fault]:
        """Give out slices at the place where the log is, as long as Kafka keeps up."""
        found: list[Fault] = []
        place, room = self._cutter.outside, self._room.size(self._clock())
        while place is not None and self._cutter.ahead < room:
            released = self._machine.release(place, self._now_ms())
            if released is None:
                break
            reach("before_slice", released.table)
            self._asking.tell(released.unsaved.receipts)
            states = released.unsaved.states
            found += self._cutter.insert(released.table, released.rows, states, self._clock(), released.op)
            reach("after_slice", released.table)
        return found


def _last_outside(steps: Sequence[Step]) -> int:
    """Return the last place in the batch that is outside a transaction."""
    return max((i for i, step in enumerate(steps) if isinstance(step, Commit | Progress)), default=-1)
