"""A worker's child: one task of a pipeline, which ends when its worker does.

In: a pipeline's file, or the map that REST got; which task it is; and its end of the lifeline.  Out:
the lines of `wrackline run` or `wrackline consume`, the task's states and the reason of its end through the
lifeline, and the exit code of that reason's kind.
"""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path

from wrackline.control.runtime.check.pipeline_file import UnfitFile, good_pipeline, log_findings
from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.logs.lines import Log, log_through
from wrackline.control.runtime.running.run import run
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.task import memory_tuning
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import HalfState
from wrackline.schemas.message_texts import name_rest_in_hints
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

_MOST = 20  # tables, and databases, whose errors the worker gets: in a group they are in a record of Kafka
_STATES = {
    Health.STARTING: TaskState.STARTING,
    Health.RUNNING: TaskState.RUNNING,
    Health.RECOVERING: TaskState.RECOVERING,
    Health.COMPLETED: TaskState.COMPLETED,
}
_TARGET_STATES = {
    HalfState.STARTING: TaskState.STARTING,
    HalfState.RUNNING: TaskState.RUNNING,
    HalfState.RECOVERING: TaskState.RECOVERING,
}


def run_file(file: Path, task: TaskPlace, line: socket.socket) -> None:
    """Run a task of the pipeline of a file."""
    _run(partial(good_pipeline, file), task, line)


def run_settings(given: Mapping[str, str], allowed: Allowed, task: TaskPlace, line: socket.socket) -> None:
    """Run a task of the pipeline of a map of settings, whose references may read what is allowed."""
    _run(lambda: check(given, Installed(), Resolver(allowed, os.environ)), task, line)


def for_group(main: Callable[..., None], *arguments: object) -> None:
    """Run what a child of a group's worker does; `main` is run with these, and what went wrong names REST."""
    name_rest_in_hints()
    main(*arguments)


def _run(load: Callable[[], Pipeline], task: TaskPlace, line: socket.socket) -> None:
    memory_tuning.use_one_heap()
    lifeline = Lifeline(line)
    lifeline.hold()
    log = log_through(lambda line: lifeline.tell({"line": line}))

    def tell(health: Health, error: Exception | None) -> None:
        del error  # the pipeline logs what it recovers from
        lifeline.tell({"state": _STATES[health].value})

    def wrong(what: str, now: Mapping[str, FaultReason]) -> None:
        first = [{what: name, **asdict(now[name])} for name in sorted(now)[:_MOST]]
        lifeline.tell({f"{what}s": {"count": len(now), "first": first}})

    try:
        pipeline = task.dealt(load())
        share = task.share(pipeline)
        if share is None:
            _consume(pipeline, log, lifeline)
        else:
            run(pipeline, log, share, tell=tell, wrong=wrong, is_wished=lifeline.rests)
    except UnfitFile as unfit:
        log_findings(log, unfit.file, unfit.checked)
        sys.exit(Exit.FINDINGS)
    except WracklineError as error:
        lifeline.tell({"error": error.document()})
        log.error(  # noqa: TRY400 - no traceback: the error says it all
            "failed", line=f"error {error}", error=error.document()
        )
        sys.exit(exit_of(error))


def _consume(pipeline: Pipeline, log: Log, lifeline: Lifeline) -> None:
    # here, because PySpark takes a second to load, and most processes are source halves
    from wrackline.control.runtime.running.consume import consume  # noqa: PLC0415

    def tell(state: HalfState) -> None:
        if state in _TARGET_STATES:
            lifeline.tell({"state": _TARGET_STATES[state].value})

    consume(pipeline, log, once=False, spark_log=None, tell=tell, is_wished=lifeline.rests)
