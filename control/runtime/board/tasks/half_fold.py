"""One half of a pipeline from the reports of its tasks.  Pure.

In: what each task of a half reported; the source half may have several (`pipelines/deal.py`).  Out: the half
as readers know it, which runs while one of its tasks does.  What a task suffers is shown as that of its
databases, because the others continue; `tasks` in the half's report says it task by task.

Why it is right: each report says to which deal its task belongs, and only those of the newest deal count.  A
task of it that has not reported yet is missing, and said to be.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from wrackline.control.runtime.ground.times import utc_text
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.kafka.board_records import (
    MOST_TASKS,
    Board,
    Document,
    Half,
    HalfBoard,
    HalfState,
)
from wrackline.schemas.kafka.past.error_days import ErrorDays

_NO_DEAL: Final = {"number": -1, "tasks": 1}  # it has only reported tables
_BEST_FIRST: Final = (
    HalfState.RUNNING,
    HalfState.RECOVERING,
    HalfState.STARTING,
    HalfState.FAILED,
    HalfState.STOPPED,
    HalfState.COMPLETED,
)

TASK_SILENT = define(
    "board.task_silent",
    Transient,
    "task {task} of {pipeline} has reported nothing since {since}",
    hint="see whether its process, {pid} on {host}, still runs, and whether Kafka answers there; to start it:"
    " POST /connectors/{pipeline}/tasks/{task}/restart",
)
TASK_MISSING = define(
    "board.task_missing",
    Transient,
    "task {task} of {pipeline} has not reported yet",
    hint="see whether a worker runs it: GET /connectors/{pipeline}/status",
)


def half_of(board: Board, pipeline: str, half: Half, at_ms: int) -> HalfBoard:
    """Return a half as it is at a moment; a half of one task is its task."""
    tasks = board.tasks(pipeline, half)
    return fold_tasks(pipeline, tasks, at_ms) if tasks else HalfBoard()


def fold_tasks(pipeline: str, tasks: Mapping[int, HalfBoard], at_ms: int) -> HalfBoard:
    """Put the tasks of a half together; there is at least one."""
    deals = {task: one.report.get("deal", _NO_DEAL) for task, one in tasks.items()}
    newest = max((deal["number"], deal["tasks"]) for deal in deals.values())
    known = {
        task: one for task, one in tasks.items() if (deals[task]["number"], deals[task]["tasks"]) == newest
    }
    count = max(1, min(newest[1], MOST_TASKS))
    if count == 1:
        return known.get(0) or next(iter(known.values()))
    of_tasks = [_task(pipeline, task, known.get(task), at_ms) for task in range(count)]
    states = [one.state for one in known.values() if one.state is not None]
    best = min(known.values(), key=lambda one: _BEST_FIRST.index(one.state or HalfState.COMPLETED))
    nothing_runs = min(map(_BEST_FIRST.index, states)) >= _BEST_FIRST.index(HalfState.FAILED)
    errors = [one["error"] for one in of_tasks if one["error"]]
    report = {
        **best.report,
        "error": errors[0] if errors and nothing_runs else None,
        "events": sum(one.report["events"] for one in known.values()),
        "wished": all(one.report["wished"] for one in known.values()),
        "databases": {
            name: database
            for task, one in sorted(known.items())
            for name, database in _databases(one, of_tasks[task]).items()
        },
        "tasks": of_tasks,
    }
    return HalfBoard(
        report,
        max(one.heard_ms for one in known.values()),
        {name: table for one in known.values() for name, table in one.tables.items()},
        tasks[0].maps if 0 in tasks else best.maps,  # all tasks write theirs there
        _errors(list(tasks.values())),
        max(one.version for one in tasks.values()),
        max(one.states for one in tasks.values()),
    )


def _task(pipeline: str, task: int, known: HalfBoard | None, at_ms: int) -> dict[str, Any]:
    if known is None or not known.report:
        missing = TASK_MISSING(pipeline=pipeline, task=task).document()
        return {"task": task, "state": None, "error": missing, "databases": []}
    report, error = known.report, known.report["error"]
    state = report["state"]
    if known.is_silent(at_ms):
        since = utc_text(known.heard_ms)
        named = {
            "pipeline": pipeline,
            "task": task,
            "since": since,
            "pid": report["pid"],
            "host": report["host"],
        }
        state, error = "silent", TASK_SILENT(**named).document()
    of_process = {name: report[name] for name in ("since_ms", "host", "pid", "wished")}
    return {
        "task": task,
        "state": state,
        "error": error,
        **of_process,
        "databases": list(report["databases"]),
    }


def _databases(known: HalfBoard, task: Mapping[str, Any]) -> Mapping[str, Document]:
    """Return a task's databases; they are as it is, unless they say more of themselves."""
    own: Mapping[str, Document] = known.report["databases"]
    if task["state"] == HalfState.RUNNING.value:
        return own
    return {
        name: {**one, "state": task["state"], "error": task["error"] or one["error"]}
        for name, one in own.items()
    }


def _errors(tasks: Sequence[HalfBoard]) -> ErrorDays:
    """Add the counts of all tasks up."""
    made, counts = ErrorDays(), Counter[Any]()
    for task in tasks:
        for about, one in task.errors.items():
            before = made.of(about)
            counts[about] += one.count
            first = one.first_ms if before is None else min(one.first_ms, before.first_ms)
            newest = one if before is None or one.last_ms >= before.last_ms else before
            made.take(about, replace(newest, count=counts[about], first_ms=first), 0)
    return made
