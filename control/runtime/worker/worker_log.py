"""What `wrackline worker` logs: its tasks' states, and their own lines.

In: what the supervisor reports.  Out: lines, each with its pipeline's name.  A task's own lines come through
the lifeline as they were made, so that a field stays a field.  What comes through its standard output was
printed by other code: Java, or the system.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.logs.lines import Log, relay_line
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.producers.connect.restart_policy import TaskState, TaskStatus
from wrackline.schemas.errors import WracklineError, error_text

WORKER = "worker"  # in the place of a pipeline's name

_LIVE = (TaskState.STARTING, TaskState.RUNNING, TaskState.RECOVERING)
_LEVELS = {TaskState.RESTARTING: logging.WARNING, TaskState.FAILED: logging.ERROR}


class RestReports(NamedTuple):
    """Takes what REST has to report of itself; no call waits."""

    tell: Callable[[WracklineError], None]
    put: Callable[[dict[str, Any]], None]  # a write, as access/audit.py has it
    entries: Callable[[], Sequence[bytes]]  # the writes of before, oldest first


class WorkerLog:
    """Logs what happens, and remembers which tasks failed."""

    def __init__(
        self, stands: Callable[[str, ConnectorState], None], log: Log, clean: Callable[[str], str]
    ) -> None:
        """Take what keeps each pipeline's state, and what removes secrets from what others print."""
        self._stands, self._log, self._clean = stands, log, clean
        self._reasons: dict[str, Mapping[str, object]] = {}
        self._standings: dict[str, ConnectorState] = {}
        self._pids: dict[str, int] = {}  # each pipeline's newest process
        self.failed: dict[str, int] = {}

    def changed(self, task: str, status: TaskStatus, pid: int | None, code: int | None) -> None:
        """Log a pipeline's new state."""
        told: dict[str, object] = {}
        if pid is not None:
            told["pid"] = pid
        if code is not None:
            told["exit"] = code
        self.failed.pop(task, None)
        if status.state is TaskState.STARTING:
            self._reasons.pop(task, None)
        if status.state is TaskState.RESTARTING:
            told["wait_s"] = round(status.begins - status.since, 3)
        line = " ".join([status.state.value, *(f"{name}={value}" for name, value in told.items())])
        error = None
        if status.state is TaskState.FAILED:
            self.failed[task] = Exit.FAULT if code is None else code
            error = self._reasons.get(task)
        if error is not None:
            told["error"] = error
            line += f": [{error['code']}] {error['sentence']}"
        known = self._standings.get(task)
        if known is not None and pid is not None and self._pids.get(task) != pid:
            known = None  # a new process reports its own tables with errors
        if pid is not None:
            self._pids[task] = pid
        standing = ConnectorState(status.state, None if error is None else error_text(error))
        if known is not None:
            databases = known.databases if status.state in _LIVE else None
            standing = replace(standing, tables=known.tables, databases=databases)
        self._tell(task, standing)
        level = _LEVELS.get(status.state, logging.INFO)
        self._log.log(level, "state", line=line, pipeline=task, state=status.state.value, **told)

    def listens(self, url: str) -> None:
        """Log where requests are taken."""
        self._log.info("requests", line=f"requests: {url}", pipeline=WORKER, requests=url)

    def group(self, coordinator: str, workers: Sequence[str]) -> None:
        """Log the workers of the group, and which of them is the coordinator, which writes."""
        line = f"group: coordinator {coordinator}; workers {', '.join(workers)}"
        told = {"coordinator": coordinator, "workers": list(workers)}
        self._log.info("group", line=line, pipeline=WORKER, **told)

    def reports(
        self, put: Callable[[dict[str, Any]], None], entries: Callable[[], Sequence[bytes]]
    ) -> RestReports:
        """Return what takes REST's reports: each write is logged, and put where the writes are kept."""

        def both(entry: dict[str, Any]) -> None:
            told = {name: entry[name] for name in ("by", "what", "status")}
            self._log.info("write", line=entry["line"], pipeline=WORKER, **told)
            put(entry)

        return RestReports(partial(self.wrong, WORKER), both, entries)

    def wrong(self, task: str, error: WracklineError) -> None:
        """Log what does not work beside a pipeline; it may be called on any thread."""
        self._log.warning("continues without", line=str(error), pipeline=task, error=error.document())

    def output(self, task: str, line: str) -> None:
        """Log a line that other code in a pipeline's process printed."""
        self._log.warning("printed", line=self._clean(line), pipeline=task)

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """Log a pipeline's own line; keep why it is about to fail, and what has errors."""
        line, error = report.get("line"), report.get("error")
        if isinstance(line, dict):
            relay_line(self._log, line, task)
        elif isinstance(error, dict):
            self._reasons[task] = error
        elif task in self._standings:
            standing = self._standings[task]
            tables, databases = report.get("tables"), report.get("databases")
            if isinstance(tables, dict):
                self._tell(task, replace(standing, tables=tables))
            elif isinstance(databases, dict):
                self._tell(task, replace(standing, databases=databases))

    def _tell(self, task: str, standing: ConnectorState) -> None:
        self._standings[task] = standing
        self._stands(task, standing)
