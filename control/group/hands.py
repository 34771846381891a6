"""What one worker has of its group: the tasks whose slots it owns, run by its supervisor.

In: the records of the group's two topics, as they are heard; which slots are ours; how the tasks' processes
are.  Out: tasks given to the supervisor and let go, and reports of them.  Nothing begins before all that was
there at first has been heard.  Any thread may call; whoever waits for a process to end holds nothing
meanwhile.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Event, RLock
from typing import Final

from wrackline.control.group import reports
from wrackline.control.group.records import UNREADABLE, Change, Connector, Kept, Office
from wrackline.control.group.reports import Heard, Report
from wrackline.control.rest.shapes import Standing
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.supervision import State, Wish
from wrackline.producers.connect.supervisor import MOVING, Supervisor
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.topics import InternalTopics

SAME_WORKER = define(
    "group.same_worker",
    OperatorNeeded,
    "another worker of the group is called {worker} too, and was there before",
    hint="say how the others reach each: wrackline worker --group <group.toml> --rest-host <address>"
    " --rest-advertised <host>:<port>",
)

_UNHEARD: Final = {Wish.RUN: State.STARTING, Wish.PAUSE: State.PAUSED, Wish.STOP: State.STOPPED}
_KILLED: Final = 2.0  # seconds from a kill to the end of a process


@dataclass(frozen=True, slots=True)
class _Taken:
    """A task that the supervisor has."""

    cut: int
    wish: Wish
    claim: int


class Hands:
    """Keeps the supervisor's tasks as the group wants them."""

    def __init__(
        self,
        topics: InternalTopics,
        supervisor: Supervisor,
        begin: Callable[[Connector], Begin],
        report: Callable[[Change], None],
        tell: Callable[[WracklineError], None],
    ) -> None:
        self._worker, self._topics, self._supervisor = "", topics, supervisor
        self._begin, self._report, self._tell = begin, report, tell
        self._kept, self._heard = Kept(), Heard()
        self._own: frozenset[int] = frozenset()
        self._taken: dict[str, _Taken] = {}
        self._told: dict[str, Report] = {}
        self._ready, self._since = False, 0
        self._lock = RLock()

    def hears(self, topic: str, offset: int, key: bytes, value: bytes | None) -> None:
        """Take the next record of one of the two topics."""
        with self._lock:
            try:
                if topic == self._topics.configs:
                    self._decided(key, value)
                else:
                    self._reported(key, value)
            except (ValueError, KeyError, TypeError, AttributeError):
                self._tell(UNREADABLE(topic=topic, offset=offset))

    def begin(self, worker: str) -> None:
        """All that was there at first has been heard; this is what we are called."""
        with self._lock:
            self._worker, self._ready, self._since = worker, True, time.time_ns()

    def leave(self) -> None:
        """Own nothing any more."""
        with self._lock:
            self._report(reports.gone(self._worker))

    def owns(self, slots: frozenset[int]) -> None:
        """These slots are ours, and no others."""
        with self._lock:
            self._own = slots
            self._report(reports.of_worker(self._worker, slots, self._since))
            self._settle()

    def loses(self, slots: Iterable[int]) -> None:
        """Some slots become another's; return when their tasks have ended."""
        with self._lock:
            self._own -= frozenset(slots)
            found = self._kept.connectors
            leaving = [name for name in self._taken if name in found and found[name].slot not in self._own]
            claims = {name: self._taken[name] for name in leaving}
            ends = [self._let_go(name) for name in leaving]
        deadline = time.monotonic() + MOVING + _KILLED
        for end in ends:
            end.wait(max(0.0, deadline - time.monotonic()))
        for name, taken in claims.items():  # until somebody has it, it is nobody's
            self._report(reports.of_task(name, Report(State.STARTING, self._worker, taken.claim, taken.cut)))

    def stands(self, name: str, standing: Standing) -> None:
        """Report how a task's process is now."""
        with self._lock:
            taken = self._taken.get(name)
            if taken is not None:
                self._told[name] = Report(
                    standing.state, self._worker, taken.claim, taken.cut, standing.reason
                )
                self._report(reports.of_task(name, self._told[name]))

    def forgets(self, name: str) -> None:
        """Report that a connector's task is there no longer."""
        self._report(reports.forget(name))

    def connectors(self) -> Mapping[str, Connector]:
        """The group's connectors."""
        with self._lock:
            return self._kept.connectors

    def standing(self, connector: Connector) -> Standing:
        """Say how a connector's task is, wherever it runs."""
        with self._lock:
            told, owner = self._heard.tasks.get(connector.name), self._heard.owners.get(connector.slot)
        if told is None or told.cut != connector.cut:
            return Standing(_UNHEARD[connector.wish], None, owner)
        return Standing(told.state, told.reason, told.worker)

    def owners(self) -> Mapping[int, str]:
        """Whose each slot is, as far as was heard."""
        with self._lock:
            return self._heard.owners

    def office(self) -> Office | None:
        """Who writes."""
        with self._lock:
            return self._kept.office

    def _decided(self, key: bytes, value: bytes | None) -> None:
        again = self._kept.apply(key, value)
        if again in self._taken and self._taken[again].wish is Wish.RUN:
            self._supervisor.wish(again, Wish.RESTART)
        self._settle()

    def _reported(self, key: bytes, value: bytes | None) -> None:
        late = self._heard.apply(key, value)
        if self._ready and 0 < self._heard.since.get(self._worker, 0) < self._since:
            raise SAME_WORKER(worker=self._worker)
        if late is None or late not in self._told:
            return
        told, known = self._told[late], self._heard.tasks[late]
        ours_is_the_late_word = (told.cut, told.claim) < (known.cut, known.claim)
        if not ours_is_the_late_word:
            self._report(reports.of_task(late, told))  # a compacted topic keeps the last word alone

    def _settle(self) -> None:
        if not self._ready:
            return
        wanted = {one.name: one for one in self._kept.connectors.values() if one.slot in self._own}
        for name in [name for name in self._taken if name not in wanted]:
            self._let_go(name)
        for name, connector in wanted.items():
            taken = self._taken.get(name)
            claim = self._heard.next_claim(name) if taken is None else taken.claim
            self._taken[name] = _Taken(connector.cut, connector.wish, claim)
            if taken is None or taken.cut != connector.cut:
                self._supervisor.give(name, self._begin(connector), connector.wish)
            elif taken.wish is not connector.wish:
                self._supervisor.wish(name, connector.wish)

    def _let_go(self, name: str) -> Event:
        del self._taken[name]
        self._told.pop(name, None)
        return self._supervisor.let_go(name)
