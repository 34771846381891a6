"""What Kafka Connect's REST says of connectors, made from what a worker knows: the same JSON, word for word.

In: a connector's name, settings and standing.  Out: documents for clients of Connect.  A pipeline of a
worker has one task, 0; one that was stopped has none, as Connect's have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.producers.connect.supervision import State

TASK: Final = 0
_UNASSIGNED, _RUNNING = "UNASSIGNED", "RUNNING"
_WORDS: Final = {  # Connect's words for states that it does not know
    State.STARTING: _UNASSIGNED,
    State.RECOVERING: _RUNNING,
    State.COMPLETED: State.STOPPED.value,
}
_IDLE: Final = (State.STOPPED, State.COMPLETED)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a pipeline's process is; `reason` is why it failed, `worker` who has it, if not who is asked."""

    state: State
    reason: str | None = None
    worker: str | None = None


def info(name: str, config: Mapping[str, str], standing: Standing) -> dict[str, Any]:
    """Describe a connector."""
    tasks = [{"connector": name, "task": TASK}] if _has_task(standing) else []
    return {"name": name, "config": dict(config), "tasks": tasks, "type": "source"}


def status(name: str, standing: Standing, worker: str) -> dict[str, Any]:
    """Say how a connector and its task are."""
    word = _WORDS.get(standing.state, standing.state.value)
    of_connector = _RUNNING if standing.state in (State.FAILED, State.RESTARTING) else word
    tasks = [task_status(standing, worker)] if _has_task(standing) else []
    connector = {"state": of_connector, "worker_id": standing.worker or worker}
    return {"name": name, "connector": connector, "tasks": tasks, "type": "source"}


def task_status(standing: Standing, worker: str) -> dict[str, Any]:
    """Say how the task is, and why it failed."""
    trace = {} if standing.reason is None else {"trace": standing.reason}
    word = _WORDS.get(standing.state, standing.state.value)
    return {"id": TASK, "state": word, "worker_id": standing.worker or worker, **trace}


def tasks(name: str, config: Mapping[str, str], standing: Standing) -> list[dict[str, Any]]:
    """List the tasks with what they were given."""
    one = {"id": {"connector": name, "task": TASK}, "config": dict(config)}
    return [one] if _has_task(standing) else []


def offsets(positions: Sequence[tuple[Mapping[str, str], object]]) -> dict[str, Any]:
    """List positions by partition of the source."""
    return {"offsets": [{"partition": dict(where), "offset": position} for where, position in positions]}


def _has_task(standing: Standing) -> bool:
    return standing.state not in _IDLE
