"""One worker's part of its group: the tasks whose slots it owns, run by its supervisor.

In: the records of the group's two topics, as they are read; which slots are ours; the states of the tasks'
processes.  Out: tasks given to the supervisor and let go, and reports of them.  Nothing begins before all
records that were there at the start have been read.  Any thread may call; a thread that waits for a process
to end holds no lock meanwhile.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, RLock
from typing import Final

from wrackline.control.runtime.group import status_records
from wrackline.control.runtime.group.config_records import (
    UNREADABLE,
    Change,
    Connector,
    CoordinatorTerm,
    GroupConfig,
)
from wrackline.control.runtime.group.status_records import GroupState, TaskReport
from wrackline.control.runtime.rest.model.connect_documents import (
    SOURCE_TASK,
    TARGET_TASK,
    ConnectorState,
)
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.model.kept_answers import KeptAnswer
from wrackline.control.runtime.worker.pipeline_tasks import asks_for_target, task_key, task_of
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.connect.supervisor import MOVING, Supervisor
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.draft_records import StoredDraft
from wrackline.schemas.kafka.topic_names import InternalTopics

SAME_WORKER = define(
    "group.same_worker",
    OperatorNeeded,
    "another worker of the group is called {worker} too, and was there before",
    hint="give each worker its own address: wrackline worker --group <group.toml> --rest-host <address>"
    " --rest-advertised <host>:<port>",
)

_UNHEARD: Final = {
    DesiredState.RUN: TaskState.STARTING,
    DesiredState.PAUSE: TaskState.PAUSED,
    DesiredState.STOP: TaskState.STOPPED,
}
_KILLED: Final = 2.0  # seconds from a kill to the end of a process


@dataclass(frozen=True, slots=True)
class _OwnTasks:
    """A connector's tasks that the supervisor has."""

    connector: Connector  # as it was when it was settled
    claim: int
    tasks: Mapping[str, DesiredState]  # with what is wished of each


@dataclass(slots=True)
class _OwnChange:
    """A record that this worker writes; `counts`: what it says is done."""

    key: bytes
    value: bytes | None
    counts: bool = False


class WorkerTasks:
    """Keeps the supervisor's tasks as the group wants them."""

    def __init__(
        self,
        topics: InternalTopics,
        supervisor: Supervisor,
        begins: Callable[[Connector], Mapping[str, Begin]],
        report: Callable[[Change], None],
        tell: Callable[[WracklineError], None],
    ) -> None:
        self._worker, self._topics, self._supervisor = "", topics, supervisor
        self._begins, self._report, self._tell = begins, report, tell
        self._config, self._heard = GroupConfig(), GroupState()
        self._own: frozenset[int] = frozenset()
        self._tasks: dict[str, _OwnTasks] = {}  # by connector
        self._task_reports: dict[str, TaskReport] = {}
        self._unread: deque[_OwnChange] = deque()  # what this worker has written, and will read
        self._ready, self._since = False, 0
        self._lock = RLock()

    def hears(self, topic: str, offset: int, key: bytes, value: bytes | None) -> None:
        """Take the next record of one of the two topics."""
        with self._lock:
            try:
                if topic == self._topics.configs:
                    self._read(key, value, offset)
                else:
                    self._reported(key, value)
            except (ValueError, KeyError, TypeError, AttributeError):
                self._tell(UNREADABLE(topic=topic, offset=offset))

    def begin(self, worker: str) -> None:
        """Start: all records that were there at the start have been read; `worker` is our name."""
        with self._lock:
            self._worker, self._ready, self._since = worker, True, time.time_ns()

    def leave(self) -> None:
        """Report that this worker owns nothing any more."""
        with self._lock:
            self._report(status_records.worker_left(self._worker))

    def owns(self, slots: frozenset[int]) -> None:
        """Take these slots as ours, and no others."""
        with self._lock:
            self._own = slots
            self._report(status_records.worker_record(self._worker, slots, self._since))
            self._settle()

    def loses(self, slots: Iterable[int]) -> None:
        """Give up slots that another worker gets; return when their tasks have ended."""
        with self._lock:
            self._own -= frozenset(slots)
            found = self._config.connectors
            leaving = [name for name in self._tasks if name in found and found[name].slot not in self._own]
            claims = {task: self._tasks[name] for name in leaving for task in self._tasks[name].tasks}
            ends = [end for name in leaving for end in self._let_go(name)]
        deadline = time.monotonic() + MOVING + _KILLED
        for end in ends:
            end.wait(max(0.0, deadline - time.monotonic()))
        for task, taken in claims.items():  # until another worker has the task, it has no owner
            self._report(
                status_records.task_record(
                    task, TaskReport(TaskState.STARTING, self._worker, taken.claim, taken.connector.cut)
                )
            )

    def stands(self, task: str, standing: ConnectorState) -> None:
        """Report the state of a task's process."""
        with self._lock:
            taken = self._tasks.get(task_of(task)[0])
            if taken is not None:
                self._task_reports[task] = TaskReport(
                    standing.state,
                    self._worker,
                    taken.claim,
                    taken.connector.cut,
                    standing.reason,
                    standing.tables,
                )
                self._report(status_records.task_record(task, self._task_reports[task]))

    def forgets(self, name: str) -> None:
        """Report that a connector's tasks no longer exist."""
        for number in (SOURCE_TASK, TARGET_TASK):
            self._report(status_records.task_forgotten(task_key(name, number)))

    def connectors(self) -> Mapping[str, Connector]:
        """The group's connectors."""
        with self._lock:
            return self._config.connectors

    def drafts(self) -> Mapping[str, StoredDraft]:
        """The group's drafts, by their ids."""
        with self._lock:
            return dict(self._config.drafts)

    def end_session(self, session: str, until_s: int) -> None:
        """Report that a session has ended, and that older ones need no record any more."""
        with self._lock:
            over = [one for one, until in self._heard.ended.items() if until <= time.time()]
            self._report(status_records.session_ended(session, until_s))
            for one in over:
                self._report(status_records.session_over(one))

    def is_session_ended(self, session: str) -> bool:
        """Whether some worker has reported that a session has ended."""
        with self._lock:
            return session in self._heard.ended

    def answers(self) -> Mapping[str, KeptAnswer]:
        """The answers to requests that are done once."""
        with self._lock:
            return dict(self._config.answers)

    def standing(self, connector: Connector) -> ConnectorState:
        """Return the states of a connector's tasks, wherever they run."""
        source, *target = (self._state(connector, number) for number in task_numbers(connector))
        return replace(source, target=target[0]) if target else source

    def _state(self, connector: Connector, number: int) -> ConnectorState:
        with self._lock:
            told = self._heard.tasks.get(task_key(connector.name, number))
            owner = self._heard.owners.get(connector.slot)
        if told is None or told.cut != connector.cut:
            return ConnectorState(_UNHEARD[connector.task_wish(number)], None, owner)
        return ConnectorState(told.state, told.reason, told.worker, told.tables)

    def owners(self) -> Mapping[int, str]:
        """Return each slot's owner, as far as it is known."""
        with self._lock:
            return self._heard.owners

    def members(self) -> Sequence[GroupMember]:
        """Return the workers of the group, as they have reported."""
        with self._lock:
            office, owned = self._config.office, Counter(self._heard.owners.values())
            return [
                GroupMember(
                    name,
                    owned[name],
                    since // 1_000_000,
                    self._heard.versions.get(name, ""),
                    leads=office is not None and office.worker == name,
                )
                for name, since in sorted(self._heard.since.items())
                if since
            ]

    def office(self) -> CoordinatorTerm | None:
        """Return which worker writes."""
        with self._lock:
            return self._config.office

    @contextmanager
    def written(self, changes: Iterable[Change]) -> Iterator[None]:
        """Take what the block commits: from its end on it counts here, though it may be read much later.

        Kafka shows a transaction to readers only when its end is written in each partition, which takes a
        busy broker half a second.  These records are read in this order, because there is one writer; they
        are passed over then, or an older one would undo a newer one for a moment.
        """
        own = [_OwnChange(*change) for change in changes]
        with self._lock:
            self._unread.extend(own)
        try:
            yield
        except BaseException:  # Kafka may have them or not: they count if they are read
            with self._lock:
                self._unread = deque(one for one in self._unread if all(one is not other for other in own))
            raise
        with self._lock:
            for one in own:
                self._count(one)

    def _count(self, one: "_OwnChange", offset: int = 0) -> None:
        if not one.counts:
            one.counts = True
            self._decided(one.key, one.value, offset)

    def _read(self, key: bytes, value: bytes | None, offset: int) -> None:
        if self._unread and (self._unread[0].key, self._unread[0].value) == (key, value):
            self._count(self._unread.popleft(), offset)
        else:
            self._decided(key, value, offset)

    def _decided(self, key: bytes, value: bytes | None, offset: int) -> None:
        again = self._config.apply(key, value, offset)
        taken = None if again is None else self._tasks.get(again.connector)
        if again is not None and taken is not None:
            only = None if again.task is None else task_key(again.connector, again.task)
            for task, wish in taken.tasks.items():
                if only in (None, task) and wish is DesiredState.RUN:
                    self._supervisor.wish(task, DesiredState.RESTART)
        self._settle()

    def _reported(self, key: bytes, value: bytes | None) -> None:
        late = self._heard.apply(key, value)
        if self._ready and 0 < self._heard.since.get(self._worker, 0) < self._since:
            raise SAME_WORKER(worker=self._worker)
        if late is None or late not in self._task_reports:
            return
        ours, other = self._task_reports[late], self._heard.tasks[late]
        if (ours.cut, ours.claim) >= (other.cut, other.claim):
            self._report(status_records.task_record(late, ours))  # a compacted topic keeps the last one

    def _settle(self) -> None:
        if not self._ready:
            return
        wanted = {one.name: one for one in self._config.connectors.values() if one.slot in self._own}
        for name in [name for name in self._tasks if name not in wanted]:
            self._let_go(name)
        for name, connector in wanted.items():
            taken = self._tasks.get(name)
            if taken is not None and taken.connector is connector:
                continue  # or each record would cost as much as all connectors
            claim = self._heard.next_claim(name) if taken is None else taken.claim
            before: Mapping[str, DesiredState] = {} if taken is None else taken.tasks
            begins = self._begins(connector) if taken is None or taken.connector.cut != connector.cut else {}
            tasks = {task: connector.task_wish(task_of(task)[1]) for task in begins or before}
            self._tasks[name] = _OwnTasks(connector, claim, tasks)
            for task in before.keys() - tasks.keys():
                self._task_reports.pop(task, None)
                self._supervisor.let_go(task)
            for task, wish in tasks.items():
                if task in begins:
                    self._supervisor.give(task, begins[task], wish)
                elif wish is not before[task]:
                    self._supervisor.wish(task, wish)

    def _let_go(self, name: str) -> list[Event]:
        taken = self._tasks.pop(name)
        for task in taken.tasks:
            self._task_reports.pop(task, None)
        return [self._supervisor.let_go(task) for task in taken.tasks]


def task_numbers(connector: Connector) -> Sequence[int]:
    """Return the numbers of a connector's tasks."""
    return (SOURCE_TASK, TARGET_TASK) if asks_for_target(connector.config) else (SOURCE_TASK,)
