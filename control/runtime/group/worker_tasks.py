"""One worker's part of its group: the tasks whose slots it owns, run by its supervisor.

In: the records of the group's two topics, as they are read; which slots are ours; the states of the tasks'
processes.  Out: tasks given to the supervisor and let go, and reports of them.  Nothing begins before all
records that were there at the start have been read.  Any thread may call; a thread that waits for a process
to end holds no lock meanwhile.  A fault of ours with one connector's tasks fails that connector alone; any
other ends the worker.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, RLock
from typing import Final, NamedTuple

from wrackline.control.runtime.group import status_records
from wrackline.control.runtime.group.config_records import (
    SLOTS,
    UNREADABLE,
    Change,
    Connector,
    CoordinatorTerm,
    GroupConfig,
    Sent,
)
from wrackline.control.runtime.group.status_records import GroupState, Task, TaskReport
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.model.kept_answers import KeptAnswer
from wrackline.control.runtime.worker.pipeline_tasks import pipeline_of, standing_of
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.connect.supervisor import MOVING, Supervisor
from wrackline.schemas.errors import Definite, OperatorNeeded, WracklineError, define, fault_text
from wrackline.schemas.kafka.draft_records import StoredDraft
from wrackline.schemas.kafka.topic_names import InternalTopics

SAME_WORKER = define(
    "group.same_worker",
    OperatorNeeded,
    "another worker of the group is called {worker} too, and was there before",
    hint="give each worker its own address: wrackline worker --group <group.toml> --rest-host <address>"
    " --rest-advertised <host>:<port>",
)

FAULT = define(
    "group.fault",
    Definite,
    "a fault of Wrackline keeps the tasks of {name} from starting on this worker: {fault}",
    hint="report it; the other connectors continue. Another version may start it: wrackline restart <name>",
)

_UNHEARD: Final = {
    DesiredState.RUN: TaskState.STARTING,
    DesiredState.PAUSE: TaskState.PAUSED,
    DesiredState.STOP: TaskState.STOPPED,
}
_KILLED: Final = 2.0  # seconds from a kill to the end of a process


class _UnreadableRecord(Exception):  # noqa: N818 - a record is refused, nothing failed
    """A record says nothing that is known."""


class _OwnTask(NamedTuple):
    """A task that the supervisor has."""

    number: int
    wish: DesiredState
    claim: int


@dataclass(frozen=True, slots=True)
class _OwnTasks:
    """A connector's tasks that the supervisor has."""

    connector: Connector  # as it was when it was settled
    slots: frozenset[int]  # that were ours then
    tasks: Mapping[str, _OwnTask]  # by the supervisor's keys


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
        begins: Callable[[Connector, Iterable[int]], Mapping[int, Begin]],
        report: Callable[[Change], None],
        tell: Callable[[WracklineError], None],
    ) -> None:
        self._worker, self._topics, self._supervisor = "", topics, supervisor
        self._begins, self._report, self._tell = begins, report, tell
        self._config, self._heard = GroupConfig(), GroupState()
        self._own: frozenset[int] = frozenset()
        self._tasks: dict[str, _OwnTasks] = {}  # by connector
        self._faulty: dict[str, tuple[Connector, frozenset[int]]] = {}  # with which slots it was tried
        self._task_reports: dict[Task, TaskReport] = {}
        self._unread: deque[_OwnChange] = deque()  # what this worker has written, and will read
        self._ready, self._since = False, 0
        self._idle: set[str] = set()  # workers that owned no slot at the last look
        self._lock = RLock()

    def hears(self, topic: str, offset: int, key: bytes, value: bytes | None) -> None:
        """Take the next record of one of the two topics."""
        with self._lock:
            try:
                if topic == self._topics.configs:
                    self._read(key, value, offset)
                else:
                    self._reported(key, value)
            except _UnreadableRecord:
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
            found, leaving = self._config.connectors, list[tuple[str, _OwnTasks, str]]()
            for name, taken in self._tasks.items():
                now = found.get(name)
                if now is not None:
                    gone = [
                        key for key, one in taken.tasks.items() if now.slot_of(one.number) not in self._own
                    ]
                    leaving += [(name, taken, key) for key in gone]
            ends = [self._let_go(name, key) for name, _, key in leaving]
        deadline = time.monotonic() + MOVING + _KILLED
        for end in ends:
            end.wait(max(0.0, deadline - time.monotonic()))
        for name, taken, key in leaving:  # until another worker has the task, it has no owner
            one, cut = taken.tasks[key], taken.connector.cut
            left = TaskReport(TaskState.STARTING, self._worker, one.claim, cut)
            self._report(status_records.task_record((name, one.number), left))

    def stands(self, task: str, standing: ConnectorState) -> None:
        """Report the state of a task's process."""
        with self._lock:
            name = pipeline_of(task)
            taken = self._tasks.get(name)
            own = None if taken is None else taken.tasks.get(task)
            if taken is not None and own is not None:
                report = TaskReport(
                    standing.state,
                    self._worker,
                    own.claim,
                    taken.connector.cut,
                    standing.reason,
                    standing.tables,
                    standing.databases,
                )
                self._task_reports[name, own.number] = report
                self._report(status_records.task_record((name, own.number), report))

    def forget_gone(self) -> None:
        """Report which tasks no longer exist, and which workers have left without a word.

        Tasks go with their connector, or with a smaller count of tasks.  A killed worker owns no slot at two
        looks; one that was only frozen reports again when it gets slots.
        """
        with self._lock:
            owning = set(self._heard.owners.values())
            idle = {name for name, since in self._heard.since.items() if since and name not in owning}
            if len(owning | idle) <= SLOTS:  # of more workers, some own none although they live
                for name in sorted(idle & self._idle):
                    self._report(status_records.worker_left(name))
            self._idle = idle
            known = self._config.connectors
            for name, number in self._heard.tasks:
                if name not in known or number not in tuple(known[name].tasks):
                    self._report(status_records.task_forgotten((name, number)))

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
        return standing_of(connector.tasks, lambda number: self._state(connector, number))

    def _state(self, connector: Connector, number: int) -> ConnectorState:
        with self._lock:
            told = self._heard.tasks.get((connector.name, number))
            owner = self._heard.owners.get(connector.slot_of(number))
        if told is None or told.cut != connector.cut:
            return ConnectorState(_UNHEARD[connector.task_wish(number)], None, owner)
        return ConnectorState(told.state, told.reason, told.worker, told.tables, told.databases)

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

    def has_read(self, sent: Sent) -> bool:
        """Whether a record has been read that was sent, or one that was sent after it."""
        return self._config.last_sent >= sent

    def is_newest(self, term: int) -> bool:
        """Whether no later term has been read."""
        return self._config.newest_term == term

    def restated(self) -> Sequence[Change]:
        """Return the wishes that have to be written again."""
        with self._lock:
            return self._config.restated()

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
        with _reading():
            again = self._config.apply(key, value, offset)
        if again is not None:
            self._faulty.pop(again.connector, None)
        taken = None if again is None else self._tasks.get(again.connector)
        if again is not None and taken is not None:
            for task, own in taken.tasks.items():
                if again.task in (None, own.number) and own.wish is DesiredState.RUN:
                    self._supervisor.wish(task, DesiredState.RESTART)
        self._settle()

    def _reported(self, key: bytes, value: bytes | None) -> None:
        with _reading():
            late = self._heard.apply(key, value)
        own = key == status_records.worker_key(self._worker)
        if self._ready and own and 0 < self._heard.since[self._worker] < self._since:
            raise SAME_WORKER(worker=self._worker)
        if late is None or late not in self._task_reports:
            return
        ours, other = self._task_reports[late], self._heard.tasks.get(late)
        if other is None or (ours.cut, ours.claim) >= (other.cut, other.claim):
            self._report(status_records.task_record(late, ours))  # a compacted topic keeps the last one

    def _settle(self) -> None:
        if not self._ready:
            return
        own = self._own  # most connectors have one task, and this is asked of all at each record
        wanted = {
            name: one
            for name, one in self._config.connectors.items()
            if one.slot in own or not own.isdisjoint(one.more)
        }
        for name in [name for name in self._tasks if name not in wanted]:
            self._drop(name)
        self._faulty = {name: tried for name, tried in self._faulty.items() if name in wanted}
        for name, connector in wanted.items():
            taken = self._tasks.get(name)
            if taken is None or taken.connector is not connector or taken.slots is not self._own:
                self._try_to_take(connector, taken)  # or each record would cost as much as all connectors

    def _try_to_take(self, connector: Connector, taken: _OwnTasks | None) -> None:
        """Take its tasks; a fault is reported once, and there is no process until something changes."""
        name, tried = connector.name, (connector, self._own)
        if self._faulty.get(name) == tried:
            return
        try:
            self._take(connector, taken)
            self._faulty.pop(name, None)
        except Exception as fault:  # noqa: BLE001 - it must stop no other connector
            self._faulty[name] = tried
            error = fault if isinstance(fault, WracklineError) else FAULT(name=name, fault=fault_text(fault))
            self._tell(error)
            if name in self._tasks:
                self._drop(name)
            for number in connector.tasks:
                if connector.slot_of(number) in self._own:
                    task, cut = (name, number), connector.cut
                    failed = TaskReport(
                        TaskState.FAILED, self._worker, self._heard.next_claim(task), cut, str(error)
                    )
                    self._report(status_records.task_record(task, failed))

    def _take(self, connector: Connector, taken: _OwnTasks | None) -> None:
        name, before = connector.name, {} if taken is None else taken.tasks
        ours = [number for number in connector.tasks if connector.slot_of(number) in self._own]
        keys = {connector.tasks.key(name, number): number for number in ours}
        anew = taken is None or taken.connector.cut != connector.cut
        begins = self._begins(connector, [keys[key] for key in keys if anew or key not in before])
        claims = {
            key: before[key].claim if key in before else self._heard.next_claim((name, number))
            for key, number in keys.items()
        }
        tasks = {
            key: _OwnTask(number, connector.task_wish(number), claims[key]) for key, number in keys.items()
        }
        for key in before.keys() - tasks.keys():
            self._let_go(name, key)
        self._tasks[name] = _OwnTasks(connector, self._own, tasks)
        for key, task in tasks.items():
            if task.number in begins:
                self._supervisor.give(key, begins[task.number], task.wish)
            elif task.wish is not before[key].wish:
                self._supervisor.wish(key, task.wish)

    def _let_go(self, name: str, key: str) -> Event:
        """Let a task end, and forget it."""
        taken = self._tasks[name]
        self._task_reports.pop((name, taken.tasks[key].number), None)
        self._tasks[name] = replace(
            taken, tasks={other: one for other, one in taken.tasks.items() if other != key}
        )
        return self._supervisor.let_go(key)

    def _drop(self, name: str) -> None:
        for key in self._tasks[name].tasks:
            self._let_go(name, key)
        del self._tasks[name]


@contextmanager
def _reading() -> Iterator[None]:
    """Tell a record that can't be read from a fault of what is done with it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _UnreadableRecord from error
