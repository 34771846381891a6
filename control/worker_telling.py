"""What `wrackline worker` says: its tasks' states, and what each says itself.

In: what the supervisor hears.  Out: lines, each with its pipeline's name.  A task's own lines come through
the lifeline as they were made, so that a field stays a field; what comes through its standard output was
printed by somebody else: Java, or the system.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from wrackline.control.exits import Exit
from wrackline.control.logs.lines import Log, say_again
from wrackline.control.rest.shapes import Standing
from wrackline.producers.connect.supervision import State, Status
from wrackline.schemas.errors import WracklineError, in_words

WORKER = "worker"  # in the place of a pipeline's name

_LEVELS = {State.RESTARTING: logging.WARNING, State.FAILED: logging.ERROR}


class Telling:
    """Says what happens, and remembers who failed."""

    def __init__(
        self, stands: Callable[[str, Standing], None], log: Log, clean: Callable[[str], str]
    ) -> None:
        """Take who keeps how each pipeline is, and what takes secrets out of what others print."""
        self._stands, self._log, self._clean = stands, log, clean
        self._reasons: dict[str, Mapping[str, object]] = {}
        self.failed: dict[str, int] = {}

    def changed(self, task: str, status: Status, pid: int | None, code: int | None) -> None:
        """Say a pipeline's new state."""
        told: dict[str, object] = {}
        if pid is not None:
            told["pid"] = pid
        if code is not None:
            told["exit"] = code
        self.failed.pop(task, None)
        if status.state is State.STARTING:
            self._reasons.pop(task, None)
        if status.state is State.RESTARTING:
            told["wait_s"] = round(status.begins - status.since, 3)
        line = " ".join([status.state.value, *(f"{name}={value}" for name, value in told.items())])
        error = None
        if status.state is State.FAILED:
            self.failed[task] = Exit.FAULT if code is None else code
            error = self._reasons.get(task)
        if error is not None:
            told["error"] = error
            line += f": [{error['code']}] {error['sentence']}"
        self._stands(task, Standing(status.state, None if error is None else in_words(error)))
        level = _LEVELS.get(status.state, logging.INFO)
        self._log.log(level, "state", line=line, pipeline=task, state=status.state.value, **told)

    def listens(self, url: str) -> None:
        """Say where requests are taken."""
        self._log.info("requests", line=f"requests: {url}", pipeline=WORKER, requests=url)

    def group(self, coordinator: str, workers: Sequence[str]) -> None:
        """Say who is in the group, and who of them does what writes."""
        line = f"group: coordinator {coordinator}; workers {', '.join(workers)}"
        told = {"coordinator": coordinator, "workers": list(workers)}
        self._log.info("group", line=line, pipeline=WORKER, **told)

    def wrong(self, task: str, error: WracklineError) -> None:
        """Say what does not work beside a pipeline; on any thread."""
        self._log.warning("goes on without", line=str(error), pipeline=task, error=error.document())

    def said(self, task: str, line: str) -> None:
        """Say a line that somebody in a pipeline's process printed."""
        self._log.warning("printed", line=self._clean(line), pipeline=task)

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """Say a pipeline's own line; keep the reason with which it is about to fail."""
        line, error = report.get("line"), report.get("error")
        if isinstance(line, dict):
            say_again(self._log, line, task)
        elif isinstance(error, dict):
            self._reasons[task] = error
