"""A worker's child: one pipeline's source half, which ends when its worker does.

In: a pipeline's file, or the map that REST was given; and its end of the lifeline.  Out: the lines of
`wrackline run`, the task's states and the reason of its end through the lifeline, and the exit code of that
reason's kind.
"""

import os
import socket
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from wrackline.control.exits import Exit, exit_of
from wrackline.control.installed import Installed
from wrackline.control.logs.lines import log_through
from wrackline.control.pipeline_file import Unfit, good_pipeline, log_findings
from wrackline.control.run import run
from wrackline.producers import heap
from wrackline.producers.connect.lifeline import Lifeline
from wrackline.producers.connect.supervision import State
from wrackline.producers.lanes import Health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline, check
from wrackline.schemas.secret_refs import Allowed, Resolver

_STATES = {
    Health.STARTING: State.STARTING,
    Health.RUNNING: State.RUNNING,
    Health.RECOVERING: State.RECOVERING,
    Health.COMPLETED: State.COMPLETED,
}


def of_file(file: Path, line: socket.socket) -> None:
    """Run the pipeline of a file."""
    _run(partial(good_pipeline, file), line)


def of_map(given: Mapping[str, str], allowed: Allowed, line: socket.socket) -> None:
    """Run the pipeline of a map of settings, whose references reach what is allowed."""
    _run(lambda: check(given, Installed(), Resolver(allowed, os.environ)), line)


def _run(pipeline: Callable[[], Pipeline], line: socket.socket) -> None:
    heap.keep_together()
    lifeline = Lifeline(line)
    lifeline.hold()
    log = log_through(lambda line: lifeline.tell({"line": line}))

    def tell(health: Health, error: Exception | None) -> None:
        del error  # what it recovers from, it says
        lifeline.tell({"state": _STATES[health].value})

    try:
        run(pipeline(), log, tell=tell)
    except Unfit as unfit:
        log_findings(log, unfit.file, unfit.checked)
        sys.exit(Exit.FINDINGS)
    except WracklineError as error:
        lifeline.tell({"error": error.document()})
        log.error(  # noqa: TRY400 - no traceback: the error says it all
            "failed", line=f"error {error}", error=error.document()
        )
        sys.exit(exit_of(error))
