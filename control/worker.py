"""`wrackline worker`: the source halves of several pipelines, each in a process of its own.

    this process    starts them, prints what they say, begins crashed ones again; hears SIGTERM and SIGINT
    one each        `worker_task.py`: what `wrackline run` does, with a lifeline to this process

In: pipelines' files, all checked before any is started.  Out: lines for people, or with --json one JSON
object a line.  A pipeline whose error asks for somebody is FAILED with its reason, and the others stream on;
the worker ends when it is asked to, or when none is left and REST can't wake one.  It knows no database, and
Kafka only for what is asked of it by REST.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import orjson

from wrackline.control.crew import FilesCrew
from wrackline.control.exits import Exit
from wrackline.control.installed import Installed
from wrackline.control.rest.settings import RestSettings
from wrackline.control.rest.shapes import Standing
from wrackline.control.run import asked_to_stop
from wrackline.producers.connect.supervision import State, Status
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.secret_refs import Allowed, Resolver
from wrackline.schemas.versions import OURS

SAME_NAME = define(
    "worker.same_name",
    Definite,
    "{file} and {other} are both named {name}: they would be one pipeline, and fence each other",
    hint="give each a name of its own, or leave one of the files out",
)

# a process that ends so would end so again
_FOR_SOMEBODY = (Exit.FINDINGS, Exit.USAGE, Exit.OPERATOR, Exit.DEFINITE)


class Printer:
    """Prints what happens, a line at a time, and remembers who failed."""

    def __init__(self, stands: Callable[[str, Standing], None], *, json: bool) -> None:
        """Take who keeps how each pipeline is."""
        self._stands, self._json = stands, json
        self._reasons: dict[str, Mapping[str, object]] = {}
        self.failed: dict[str, int] = {}

    def changed(self, task: str, status: Status, pid: int | None, code: int | None) -> None:
        """Print a pipeline's new state."""
        told: dict[str, object] = {"state": status.state.value}
        if pid is not None:
            told["pid"] = pid
        if code is not None:
            told["exit"] = code
        self.failed.pop(task, None)
        if status.state is State.RESTARTING:
            told["wait_s"] = round(status.begins - status.since, 3)
        if status.state is State.FAILED:
            self.failed[task] = Exit.FAULT if code is None else code
            if task in self._reasons:
                told["error"] = self._reasons[task]
        self._stands(task, Standing(status.state, self._why(task) if status.state is State.FAILED else None))
        self._print(task, told)

    def _why(self, task: str) -> str | None:
        error = self._reasons.get(task)
        return None if error is None else f"[{error['code']}] {error['sentence']}\n  hint: {error['hint']}"

    def listens(self, url: str) -> None:
        """Say where requests are taken."""
        self._print("worker", {"requests": url} if self._json else {"line": f"requests: {url}"})

    def wrong(self, task: str, error: WracklineError) -> None:
        """Print what does not work beside a pipeline; on any thread."""
        self._print(task, {"line": str(error)})

    def said(self, task: str, line: str) -> None:
        """Print a line of a pipeline's own."""
        self._print(task, {"line": line})

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """Keep the reason with which a pipeline is about to fail."""
        error = report.get("error")
        if isinstance(error, dict):
            self._reasons[task] = error

    def _print(self, task: str, told: Mapping[str, object]) -> None:
        if self._json:
            document = {"ts_ms": time.time_ns() // 1_000_000, "pipeline": task, **told}
            sys.stdout.write(orjson.dumps(document).decode() + "\n")
        elif "line" in told:
            sys.stdout.write(f"[{task}] {told['line']}\n")
        else:
            more = " ".join(
                f"{name}={value}" for name, value in told.items() if name not in ("state", "error")
            )
            error = told.get("error")
            why = f": [{error['code']}] {error['sentence']}" if isinstance(error, dict) else ""
            sys.stdout.write(f"[{task}] {told['state']} {more}{why}\n")
        sys.stdout.flush()


def work(pipelines: Mapping[Path, Pipeline], *, json: bool, rest: RestSettings | None = None) -> int:
    """Run pipelines that were found good, and return the exit code: that of the first that failed, or 0."""
    commands: dict[str, Sequence[str]] = {}
    files: dict[str, Path] = {}
    named: dict[str, Pipeline] = {}
    for file, pipeline in pipelines.items():
        values = pipeline.values
        if values is None:
            raise ValueError("a pipeline with errors does not run")
        name = values.text("name")
        if name in files:
            raise SAME_NAME(file=file, other=files[name], name=name)
        files[name], named[name] = file, pipeline
        commands[name] = [sys.executable, "-m", "wrackline.control.worker_task", str(file.absolute())]
    with asked_to_stop() as asked, ExitStack() as opened:
        supervisor: Supervisor
        crew = FilesCrew(named, lambda task, wish: supervisor.wish(task, wish))  # noqa: PLW0108 - it comes later
        printer = Printer(crew.stands, json=json)
        supervisor = Supervisor(
            commands,
            printer,
            for_somebody=lambda code: code in _FOR_SOMEBODY,
            asked=asked,
            stays=rest is not None,
        )
        if rest is not None:
            opened.enter_context(_answering(crew, named, rest, printer))
        supervisor.run()
    return next(iter(printer.failed.values()), Exit.OK)


@contextmanager
def _answering(
    crew: FilesCrew, pipelines: Mapping[str, Pipeline], rest: RestSettings, printer: Printer
) -> Iterator[None]:
    """Answer by REST."""
    # here, for who does not listen shall not wait for a web framework to load
    from wrackline.control.rest import connectors, plugins, requests  # noqa: PLC0415
    from wrackline.control.rest.desk import PipelineDesk  # noqa: PLC0415
    from wrackline.control.rest.door import opened  # noqa: PLC0415

    desks = {
        name: PipelineDesk(pipeline.values, partial(printer.wrong, name))
        for name, pipeline in pipelines.items()
        if pipeline.values is not None
    }
    resolver = Resolver(Allowed.from_environment(os.environ), os.environ)
    routes = (
        requests.routes(desks),
        connectors.routes(crew),
        plugins.routes(Installed(), resolver, OURS),
    )
    with opened(rest, routes, partial(printer.wrong, "worker")) as door:
        crew.worker = door.worker
        printer.listens(f"{door.url}/connectors")
        yield
