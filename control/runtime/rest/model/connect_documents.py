"""What Kafka Connect's REST reports of connectors, made from what a worker knows: the same JSON, to the word.

In: a connector's name, settings and state.  Out: documents for clients of Connect.  A pipeline of a worker
has one task, 0; a stopped one has none, as in Connect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Problem

TASK: Final = 0
_UNASSIGNED, _RUNNING = "UNASSIGNED", "RUNNING"
_WORDS: Final = {  # Connect's words for states that it does not know
    TaskState.STARTING: _UNASSIGNED,
    TaskState.RECOVERING: _RUNNING,
    TaskState.COMPLETED: TaskState.STOPPED.value,
}
_IDLE: Final = (TaskState.STOPPED, TaskState.COMPLETED)


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of a pipeline's process; `reason` is why it failed, `worker` runs it; None: the asked one.

    `tables` are the tables with errors, by the process's last report: their count, and the first of them.
    """

    state: TaskState
    reason: str | None = None
    worker: str | None = None
    tables: Mapping[str, Any] | None = None


def info(name: str, config: Mapping[str, str], standing: ConnectorState) -> dict[str, Any]:
    """Describe a connector."""
    tasks = [{"connector": name, "task": TASK}] if _has_task(standing) else []
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
    of_connector = _RUNNING if standing.state in (TaskState.FAILED, TaskState.RESTARTING) else word
    tasks = [task_status(standing, worker)] if _has_task(standing) else []
    connector = {"state": of_connector, "worker_id": standing.worker or worker}
    wrong = {"tables_with_errors": standing.tables} if standing.tables and standing.tables["count"] else {}
    return {"name": name, "connector": connector, "tasks": tasks, "type": "source", **wrong}


def task_status(standing: ConnectorState, worker: str) -> dict[str, Any]:
    """Report the task's state, and why it failed."""
    trace = {} if standing.reason is None else {"trace": standing.reason}
    word = _WORDS.get(standing.state, standing.state.value)
    return {"id": TASK, "state": word, "worker_id": standing.worker or worker, **trace}


def tasks(name: str, config: Mapping[str, str], standing: ConnectorState) -> list[dict[str, Any]]:
    """List the tasks with their settings."""
    one = {"id": {"connector": name, "task": TASK}, "config": dict(config)}
    return [one] if _has_task(standing) else []


def offsets(positions: Sequence[tuple[Mapping[str, str], object]]) -> dict[str, Any]:
    """List positions by partition of the source."""
    return {"offsets": [{"partition": dict(where), "offset": position} for where, position in positions]}


def _has_task(standing: ConnectorState) -> bool:
    return standing.state not in _IDLE
