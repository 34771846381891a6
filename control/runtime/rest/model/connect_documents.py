"""What Kafka Connect's REST reports of connectors, made from what a worker knows: the same JSON, to the word.

In: a connector's name, settings and state.  Out: documents for clients of Connect.  The tasks of a pipeline's
source half come first, from 0 on; the next is its target half, where a worker runs that too.  What is stopped
has no tasks, as in Connect.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.pipelines.deal import DATABASES, shares_of
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.settings_registry import Problem

_UNASSIGNED, _RUNNING = "UNASSIGNED", "RUNNING"
_WORDS: Final = {  # Connect's words for states that it does not know
    TaskState.STARTING: _UNASSIGNED,
    TaskState.RECOVERING: _RUNNING,
    TaskState.COMPLETED: TaskState.STOPPED.value,
}
_IDLE: Final = (TaskState.STOPPED, TaskState.COMPLETED)
_OF_HALF: Final = (  # the first of these that one of its tasks is in
    TaskState.RUNNING,
    TaskState.RECOVERING,
    TaskState.STARTING,
    TaskState.RESTARTING,
    TaskState.FAILED,
    TaskState.PAUSED,
    TaskState.COMPLETED,
    TaskState.STOPPED,
)


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of a pipeline's source half; `reason` is why it failed.

    `worker` runs it; None: the worker that is asked.  `tables` are the tables with errors, by the process's
    last report: their count, and the first of them; `databases` are those that are not read.  `target` is the
    state of the target half, where a worker runs that too.  `sources` are the states of the source half's
    tasks, if it has several.
    """

    state: TaskState
    reason: str | None = None
    worker: str | None = None
    tables: Mapping[str, Any] | None = None
    databases: Mapping[str, Any] | None = None
    target: "ConnectorState | None" = None
    sources: "tuple[ConnectorState, ...]" = ()

    @property
    def tasks(self) -> Mapping[int, "ConnectorState"]:
        """The tasks that there are, by their numbers."""
        if not self.sources and self.target is None:
            return {} if self.state in _IDLE else {0: self}
        known = [*(self.sources or (self,)), *(() if self.target is None else (self.target,))]
        return {number: one for number, one in enumerate(known) if one.state not in _IDLE}

    @property
    def target_task(self) -> int:
        """The number of the target half."""
        return len(self.sources) or 1


def state_of_tasks(sources: Sequence[ConnectorState], target: ConnectorState | None) -> ConnectorState:
    """Put the states of a connector's tasks together; a half runs while one of its tasks does."""
    if len(sources) == 1:
        return sources[0] if target is None else replace(sources[0], target=target)
    nearest = min(sources, key=lambda one: _OF_HALF.index(one.state))
    tables, databases = _together(one.tables for one in sources), _together(one.databases for one in sources)
    return replace(nearest, tables=tables, databases=databases, target=target, sources=tuple(sources))


def _together(reports: Iterable[Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """Return the tables with errors, or the databases, of all of them."""
    known = [one for one in reports if one]
    if not known:
        return None
    return {
        "count": sum(one["count"] for one in known),
        "first": [one for all_ in known for one in all_["first"]],
    }


def info(name: str, config: Mapping[str, str], standing: ConnectorState) -> dict[str, Any]:
    """Describe a connector."""
    tasks = [{"connector": name, "task": number} for number in standing.tasks]
    return {"name": name, "config": dict(config), "tasks": tasks, "type": "source"}


def warnings(problems: Sequence[Problem]) -> dict[str, Any]:
    """Report which settings have no effect here, beside Connect's own fields; nothing if all have one."""
    told = [{"setting": shown_name(one.setting), **one.error.document()} for one in problems]
    return {"warnings": told} if told else {}


def status(name: str, standing: ConnectorState, worker: str) -> dict[str, Any]:
    """Report a connector's and its task's state, and beside Connect's fields what has an error.

    The task continues without such a table or database, so it is RUNNING: a client that restarts FAILED tasks
    would gain nothing, and stop the others.
    """
    word = _WORDS.get(standing.state, standing.state.value)
    of_connector = _RUNNING if _has_work(standing) else word
    tasks = [
        task_status(number, one, worker) | _half(standing, number) for number, one in standing.tasks.items()
    ]
    connector = {"state": of_connector, "worker_id": standing.worker or worker}
    halves = [standing] if standing.target is None else [standing, standing.target]
    known = {
        "databases_with_errors": standing.databases,
        "tables_with_errors": _together(one.tables for one in halves),
    }
    wrong = {name: one for name, one in known.items() if one and one["count"]}
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
    """List the tasks with their settings; those that share the databases, each with its own."""
    dealt: dict[int, dict[str, str]] = {}
    if standing.sources and DATABASES in config:  # or the settings have changed since the state was read
        names = [one.strip() for one in config[DATABASES].split(",")]
        shares = shares_of(names, len(standing.sources))
        dealt = {number: {DATABASES: ",".join(share)} for number, share in enumerate(shares)}
    return [
        {"id": {"connector": name, "task": number}, "config": {**config, **dealt.get(number, {})}}
        for number in standing.tasks
    ]


def _half(standing: ConnectorState, number: int) -> dict[str, str]:
    """Say which half a task is of where that is not clear from its number."""
    if not standing.sources:
        return {}
    return {"half": "target" if number == standing.target_task else "source"}


def offsets(positions: Sequence[tuple[Mapping[str, str], object]]) -> dict[str, Any]:
    """List positions by partition of the source."""
    return {"offsets": [{"partition": dict(where), "offset": position} for where, position in positions]}
