"""What a group's workers report of themselves and of their tasks: the records of `<group>-status`.  Pure.

    worker-<id>         {"slots", "since", "version"}                     the slots that it owns
    status-<name>-<n>   {"state", "reason", "worker", "claim", "cut", "tables", "databases"}   a task's state:
                        the source half's come first, from 0 on; the target half is the next
    session-<id>        {"until"}           a session that ended with a log-out, until it would end by itself

Each is written by the worker itself.  A worker that was frozen, and does not know yet that its tasks have
another worker, may write too: `claim` grows with every worker that takes a task, and a lower claim than the
highest known one is ignored.  A state of another cut than the connector's belongs to an old configuration:
a connector that was deleted and made again counts its claims from the start, and the old claims are ignored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from wrackline.control.runtime.group.config_records import slot_of, task_in
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.untrusted import number, text
from wrackline.schemas.versions import OURS

Task = tuple[str, int]  # a connector and the number of one of its tasks

MOST_BYTES: Final = 256 << 10  # of a task's record: a server writes parts of its sentences, of any length
_LONGEST: Final = 8 << 10  # characters of the reason of such a record


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task's state, by the worker that has it."""

    state: TaskState
    worker: str
    claim: int
    cut: int
    reason: str | None = None
    tables: Mapping[str, Any] | None = None  # that have an error
    databases: Mapping[str, Any] | None = None  # that are not read


class GroupState:
    """The fold of the records."""

    def __init__(self) -> None:
        self.tasks: dict[Task, TaskReport] = {}
        self.owners: dict[int, str] = {}
        self.since: dict[str, int] = {}  # when each worker began, by its last report; 0: it has left
        self.versions: dict[str, str] = {}  # of each worker's program
        self.ended: dict[str, int] = {}  # sessions of the console, with the second at which they end anyway

    def apply(self, key: bytes, value: bytes | None) -> Task | None:
        """Take the next record; return the task of a late report, or of one that was forgotten.

        A report is late if its worker no longer has the task.

        ValueError, KeyError or TypeError: the record is not known.
        """
        kind, _, name = key.decode().partition("-")
        document = None if value is None else orjson.loads(value)
        if kind == "worker":
            slots = [] if document is None else [slot_of(slot) for slot in document["slots"]]
            since = 0 if document is None else number(document["since"])
            kept = {slot: worker for slot, worker in self.owners.items() if worker != name}
            self.owners = kept | dict.fromkeys(slots, name)
            self.since[name] = since
            self.versions[name] = "" if document is None else text(document.get("version", ""))
            return None
        if kind == "session":
            if document is None:
                self.ended.pop(name, None)
            else:
                self.ended[name] = number(document["until"])
            return None
        if kind != "status":
            raise ValueError(kind)
        task = task_in(name)
        if document is None:
            self.tasks.pop(task, None)
            return task
        known, report = self.tasks.get(task), _report(document)
        if known is not None and (report.cut, report.claim) < (known.cut, known.claim):
            return task
        self.tasks[task] = report
        return None

    def next_claim(self, task: Task) -> int:
        """The number that a worker takes a task with."""
        known = self.tasks.get(task)
        return 1 if known is None else known.claim + 1


def worker_record(worker: str, slots: Iterable[int], since: int) -> tuple[bytes, bytes]:
    """Report a worker's slots, and when it began: this distinguishes two workers of one name."""
    report = {"slots": sorted(slots), "since": since, "version": OURS}
    return worker_key(worker), orjson.dumps(report)


def worker_left(worker: str) -> tuple[bytes, None]:
    """Report that a worker leaves."""
    return worker_key(worker), None


def worker_key(worker: str) -> bytes:
    """Return the key of a worker's own record."""
    return f"worker-{worker}".encode()


def session_ended(session: str, until_s: int) -> tuple[bytes, bytes]:
    """Report that a session has ended before its time."""
    return f"session-{session}".encode(), orjson.dumps({"until": until_s})


def session_over(session: str) -> tuple[bytes, None]:
    """Forget a session that would have ended by itself."""
    return f"session-{session}".encode(), None


def task_record(task: Task, report: TaskReport) -> tuple[bytes, bytes]:
    """Report a task's state; of very long errors fewer are named, or Kafka would not take the record."""
    value = _value(report)
    while len(value) > MOST_BYTES and (shorter := _shorter(report)) != report:
        report, value = shorter, _value(shorter)
    return _key(task), value


def _value(report: TaskReport) -> bytes:
    always = {"state": report.state.value, "worker": report.worker, "claim": report.claim, "cut": report.cut}
    more = {"reason": report.reason, "tables": report.tables, "databases": report.databases}
    return orjson.dumps(always | {name: value for name, value in more.items() if value is not None})


def _shorter(report: TaskReport) -> TaskReport:
    """Name half as many tables and databases, whose counts stay; when none is named, cut the reason."""
    named = {"tables": report.tables, "databases": report.databases}
    fewer: dict[str, Any] = {
        name: {**one, "first": one["first"][: len(one["first"]) // 2]}
        for name, one in named.items()
        if one is not None and one["first"]
    }
    if not fewer:
        fewer["reason"] = (report.reason or "")[:_LONGEST]
    return replace(report, **fewer)


def task_forgotten(task: Task) -> tuple[bytes, None]:
    """Forget a task that no longer exists."""
    return _key(task), None


def _key(task: Task) -> bytes:
    name, number = task
    return f"status-{name}-{number}".encode()


def _report(read: dict[str, object]) -> TaskReport:
    reason = read.get("reason")
    return TaskReport(
        TaskState(read["state"]),
        text(read["worker"]),
        number(read["claim"]),
        number(read["cut"]),
        None if reason is None else text(reason),
        _with_errors(read.get("tables")),
        _with_errors(read.get("databases")),
    )


def _with_errors(read: object) -> Mapping[str, object] | None:
    if not isinstance(read, dict):
        return None
    return {"count": number(read["count"]), "first": list(read["first"])}
