"""What Kafka Connect's REST reports of connectors, made from what a worker knows: the same JSON, to the word.

In: a connector's name, settings and state.  Out: documents for clients of Connect.  A pipeline has task 0,
its source half, and task 1 where the worker runs its target half too; a stopped one has none, as in Connect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Problem

SOURCE_TASK: Final = 0
TARGET_TASK: Final = 1
_UNASSIGNED, _RUNNING = "UNASSIGNED", "RUNNING"
_WORDS: Final = {  # Connect's words for states that it does not know
    TaskState.STARTING: _UNASSIGNED,
    TaskState.RECOVERING: _RUNNING,
    TaskState.COMPLETED: TaskState.STOPPED.value,
}
_IDLE: Final = (TaskState.STOPPED, TaskState.COMPLETED)


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of a pipeline's source half; `reason` is why it failed.

    `worker` runs it; None: the worker that is asked.  `tables` are the tables with errors, by the process's
    last report: their count, and the first of them.  `target` is the state of the target half, where a worker
    runs that too.
    """

    state: TaskState
    reason: str | None = None
    worker: str | None = None
    tables: Mapping[str, Any] | None = None
    target: "ConnectorState | None" = None

    @property
    def tasks(self) -> Mapping[int, "ConnectorState"]:
        """The tasks that there are, by their numbers."""
        halves = {SOURCE_TASK: self} | ({} if self.target is None else {TARGET_TASK: self.target})
        return {number: one for number, one in halves.items() if one.state not in _IDLE}


def info(name: str, config: Mapping[str, str], standing: ConnectorState) -> dict[str, Any]:
    """Describe a connector."""
    tasks = [{"connector": name, "task": number} for number in standing.tasks]
    return {"name": name, "config": dict(config), "tasks": tasks, "type": "source"}


def warnings(problems: Sequence[Problem]) -> dict[str, Any]:
    """Report which settings have no effect here, beside Connect's own fields; nothing if all have one."""
    told = [{"setting": shown_name(one.setting), **one.error.document()} for one in problems]
    return {"warnings": told} if told else {}


def status(name: str, standing: ConnectorState, worker: str) -> dict[str, Any]:
    """Report a connector's and its task's state, and beside Connect's fields which tables have an error.

    The task continues without such a table, so it is RUNNING: a client that restarts FAILED tasks would gain
    nothing, and stop the other tables.
    """
    word = _WORDS.get(standing.state, standing.state.value)
    of_connector = _RUNNING if _has_work(standing) else word
    tasks = [task_status(number, one, worker) for number, one in standing.tasks.items()]
    connector = {"state": of_connector, "worker_id": standing.worker or worker}
    halves = [half.tables for half in (standing, standing.target) if half and half.tables]
    count, first = sum(one["count"] for one in halves), [table for one in halves for table in one["first"]]
    wrong = {"tables_with_errors": {"count": count, "first": first}} if count else {}
    return {"name": name, "connector": connector, "tasks": tasks, "type": "source", **wrong}


def _has_work(standing: ConnectorState) -> bool:
    """Whether the connector runs, whatever becomes of its tasks; one that is paused alone changes nothing."""
    if standing.state is TaskState.PAUSED:
        return standing.target is not None and standing.target.state is not TaskState.PAUSED
    return standing.state in (TaskState.FAILED, TaskState.RESTARTING)


def task_status(number: int, standing: ConnectorState, worker: str) -> dict[str, Any]:
    """Report a task's state, and why it failed."""
    trace = {} if standing.reason is None else {"trace": standing.reason}
    word = _WORDS.get(standing.state, standing.state.value)
    return {"id": number, "state": word, "worker_id": standing.worker or worker, **trace}


def tasks(name: str, config: Mapping[str, str], standing: ConnectorState) -> list[dict[str, Any]]:
    """List the tasks with their settings."""
    return [{"id": {"connector": name, "task": number}, "config": dict(config)} for number in standing.tasks]


def offsets(positions: Sequence[tuple[Mapping[str, str], object]]) -> dict[str, Any]:
    """List positions by partition of the source."""
    return {"offsets": [{"partition": dict(where), "offset": position} for where, position in positions]}
