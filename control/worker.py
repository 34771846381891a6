"""`wrackline worker`: the source halves of several pipelines, each in a process of its own.

    this process    starts them, prints what they say, begins crashed ones again; hears SIGTERM and SIGINT
    one each        `worker_task.py`: what `wrackline run` does, with a lifeline to this process

In: pipelines' files, all checked before any is started.  Out: lines (`worker_telling.py`).  A pipeline
whose error asks for somebody is FAILED with its reason, and the others stream on; the worker ends when it is
asked to, or when none is left and REST can't wake one.  It knows no database, and Kafka only for what is
asked of it by REST.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from pathlib import Path

from wrackline.control.crew import FilesCrew
from wrackline.control.exits import Exit
from wrackline.control.installed import Installed
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import Log
from wrackline.control.run import asked_to_stop
from wrackline.control.worker_telling import WORKER, Telling
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import Definite, define
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


def work(pipelines: Mapping[Path, Pipeline], log: Log, *, rest_port: int | None = None) -> int:
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
        clean = _cleaned(named.values())
        opened.enter_context(libraries_say(log.bind(pipeline=WORKER), clean))
        supervisor: Supervisor
        crew = FilesCrew(named, lambda task, wish: supervisor.wish(task, wish))  # noqa: PLW0108 - it comes later
        telling = Telling(crew.stands, log, clean)
        supervisor = Supervisor(
            commands,
            telling,
            for_somebody=lambda code: code in _FOR_SOMEBODY,
            asked=asked,
            stays=rest_port is not None,
        )
        if rest_port is not None:
            opened.enter_context(_answering(crew, named, rest_port, telling))
        supervisor.run()
    return next(iter(telling.failed.values()), Exit.OK)


@contextmanager
def _answering(
    crew: FilesCrew, pipelines: Mapping[str, Pipeline], port: int, telling: Telling
) -> Iterator[None]:
    """Answer by REST."""
    # here, for who does not listen shall not wait for a web framework to load
    from wrackline.control.rest import connectors, plugins, requests  # noqa: PLC0415
    from wrackline.control.rest.app import app  # noqa: PLC0415
    from wrackline.control.rest.desk import PipelineDesk  # noqa: PLC0415
    from wrackline.control.rest.serving import HOST, serving  # noqa: PLC0415

    desks = {
        name: PipelineDesk(pipeline.values, partial(telling.wrong, name))
        for name, pipeline in pipelines.items()
        if pipeline.values is not None
    }
    resolver = Resolver(Allowed.from_environment(os.environ), os.environ)
    routes = (
        requests.routes(desks),
        connectors.routes(crew),
        plugins.routes(Installed(), resolver, OURS),
    )
    with serving(app(routes), port) as listening:
        crew.worker = f"{HOST}:{listening}"
        telling.listens(f"http://{crew.worker}/connectors")
        yield


def _cleaned(pipelines: Iterable[Pipeline]) -> Callable[[str], str]:
    """Return what takes the secrets of all of them out of a text."""
    redactors = [one.values.redactor for one in pipelines if one.values is not None]
    return lambda text: reduce(lambda left, redactor: redactor.clean(left), redactors, text)
