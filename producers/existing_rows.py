"""Existing rows beside the log: the snapshot machine between a stream and its cutter, and its readers.

    batch --> step by step: machine, then cutter --> [a place outside a transaction] --> slices --> cutter
                              ^                                                            |
                readers ------'  outcomes                    states, in the slice's own Kafka transaction

Why it is right: the machine has seen every step up to the place where a slice goes out, and none after it;
the cutter takes them in the same order, so a row read earlier never follows a change that the log told
later (INV-3); what the machine wants saved goes in with the step that made it so (INV-2).
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from wrackline.producers.asking import Asking
from wrackline.producers.batching import Cutter
from wrackline.producers.changes import (
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
from wrackline.producers.failpoints import reach
from wrackline.producers.going_on import settled, unread
from wrackline.producers.plugin import LogStream
from wrackline.producers.readers import Chunked, Failed, Looked, Outcome, Planned, Readers, Voided
from wrackline.producers.room import Room
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.work import Unsaved
from wrackline.schemas.errors import WracklineError

_LOOK: Final = 0.005  # seconds between two questions where the log is, while a window waits for its mark


class ReopenError(Exception):
    """The log is to be opened again, for it does not hand out a table that was asked for."""


class ExistingRows:
    """Feeds one lane; the task's thread alone calls it."""

    def __init__(
        self,
        machine: Machine,
        readers: Readers,
        stream: LogStream,
        cutter: Cutter,
        asking: Asking,
        *,
        clock: Callable[[], float],
        now_ms: Callable[[], int],
    ) -> None:
        self._machine, self._readers, self._stream, self._cutter = machine, readers, stream, cutter
        self._asking, self._clock, self._now_ms = asking, clock, now_ms
        self._room = Room()
        self._place_asked = -inf  # when the server was last asked where it stands
        self._under_way = 0  # work that readers have
        self._kept_by: int | None = None  # the save from which on Kafka has what was asked
        self._reopened_by: int | None = None  # the same of tables that the log does not hand out yet

    def feed(self, batch: Batch) -> Sequence[Fault]:
        """Give the log's next steps to machine and cutter, and slices where it is outside a transaction.

        Return what was found of tables that are set aside.
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

        `hears`: the log is polled, so it is worth asking the server where it stands.  Return what was found
        of tables that are set aside.
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

    def due(self) -> float:
        """The moment from which `advance` may have something to do."""
        if self._machine.waiting:
            return self._clock() + _LOOK
        return self._machine.due(self._clock())

    @property
    def over(self) -> bool:
        """Whether nothing more is going to be read, unless somebody asks, and what is taken has all of it."""
        return (
            self._cutter.saves == self._cutter.saves_taken
            and self._asking.heard
            and all(map(settled, self._machine.states.values()))
        )

    @property
    def unread(self) -> WracklineError | None:
        """Of which tables not all rows were read."""
        return unread(self._machine.states)

    def took(self, size: int, seconds: float) -> None:
        """Kafka took so many bytes of this lane in so long."""
        self._room.took(size, seconds)

    def saved(self) -> None:
        """Kafka has what was taken for it: a request counts as kept, a table that came back is taken up.

        What came of a request may be in the next transaction only, or in one after it.
        """
        given, committed = self._cutter.saves, self._cutter.saves_taken
        if self._asking.took():
            self._kept_by = given
        if self._kept_by is not None and committed >= self._kept_by:
            self._kept_by = None
            self._asking.kept()
        if not self._machine.unstreamed:
            self._reopened_by = None
        elif self._reopened_by is None:
            self._reopened_by = given
        if self._reopened_by is not None and committed >= self._reopened_by:
            raise ReopenError

    def close(self) -> None:
        """Let the readers go; what they have under way is forgotten, as the machine is."""
        self._readers.close()
        self._asking.close()

    def _take(self, outcome: Outcome, now: float) -> None:
        match outcome:
            case Planned() as plan:
                self._machine.planned(plan.ticket, plan.key, plan.spans, plan.mark, plan.expected)
            case Chunked():
                self._machine.chunk(outcome.ticket, outcome.chunk, outcome.mark)
            case Voided():
                self._machine.voided(outcome.ticket, outcome.void)
            case Looked():
                self._machine.looked(outcome.ticket, outcome.hidden)
            case Failed():
                self._machine.failed(outcome.ticket, outcome.error, now, outcome.hidden)

    def _begin(self, now: float) -> None:
        """Hand out what is to be read, where the log is outside a transaction."""
        for work in self._machine.work(now):
            self._readers.begin(work)
            self._under_way += 1

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
    """Where the batch is outside a transaction for the last time."""
    return max((i for i, step in enumerate(steps) if isinstance(step, Commit | Progress)), default=-1)
