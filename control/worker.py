"""`wrackline worker`: the source halves of several pipelines, each in a process of its own.

    this process    starts them, prints what they say, begins crashed ones again; hears SIGTERM and SIGINT
    one each        `worker_task.py`: what `wrackline run` does, with a lifeline to this process

In: pipelines' files, all checked before any is started.  Out: lines (`worker_telling.py`).  A pipeline
whose error asks for somebody is FAILED with its reason, and the others stream on; the worker ends when it is
asked to, or when none is left and REST can't wake one.  It knows no database, and Kafka only for what is
asked of it by REST.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from wrackline.control import assessing, worker_task
from wrackline.control.crew import FilesCrew
from wrackline.control.exits import Exit
from wrackline.control.installed import Installed
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import Log
from wrackline.control.rest.desk import PipelineDesk
from wrackline.control.rest.pipeline_looks import PipelineLooks
from wrackline.control.rest.settings import RestSettings
from wrackline.control.run import asked_to_stop
from wrackline.control.worker_telling import WORKER, Telling
from wrackline.producers import sources
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.nursery import Nursery
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.pipeline import Pipeline, check
from wrackline.schemas.plugins import known
from wrackline.schemas.secret_refs import Allowed, Resolver
from wrackline.schemas.versions import OURS

if TYPE_CHECKING:
    from wrackline.control.rest.crews import Crew, Group
    from wrackline.control.rest.door import Door
    from wrackline.control.rest.looks import Looks
    from wrackline.control.rest.requests import Desk

Tell = Callable[[WracklineError], None]

SAME_NAME = define(
    "worker.same_name",
    Definite,
    "{file} and {other} are both named {name}: they would be one pipeline, and fence each other",
    hint="give each a name of its own, or leave one of the files out",
)

# what the tasks' processes have in common
LOADED = (
    "wrackline.control.cli",
    worker_task.__name__,
    *(f"{sources.__name__}.{kind}" for kind in known(sources)),
)

# a process that ends so would end so again
FOR_SOMEBODY = (Exit.FINDINGS, Exit.USAGE, Exit.OPERATOR, Exit.DEFINITE)


def work(
    pipelines: Mapping[Path, Pipeline], log: Log, most_memory: int, rest: RestSettings | None = None
) -> int:
    """Run pipelines that were found good, and return the exit code: that of the first that failed, or 0."""
    tasks: dict[str, Begin] = {}
    nursery = Nursery(LOADED)
    files: dict[str, Path] = {}
    named: dict[str, Pipeline] = {}
    for file, pipeline in pipelines.items():
        name = pipeline.good().text("name")
        if name in files:
            raise SAME_NAME(file=file, other=files[name], name=name)
        files[name], named[name] = file, pipeline
        tasks[name] = nursery.way(worker_task.of_file, file.absolute())
    with asked_to_stop() as asked, ExitStack() as opened:
        clean = _cleaned(named.values())
        opened.enter_context(libraries_say(log.bind(pipeline=WORKER), clean))
        supervisor: Supervisor
        crew = FilesCrew(named, lambda task, wish: supervisor.wish(task, wish))  # noqa: PLW0108 - it comes later
        telling = Telling(crew.stands, log, clean)
        supervisor = Supervisor(
            tasks,
            telling,
            for_somebody=lambda code: code in FOR_SOMEBODY,
            asked=asked,
            stays=rest is not None,
            most_memory=most_memory,
        )
        if rest is not None:
            desks = {
                name: PipelineDesk(pipeline, partial(telling.wrong, name)) for name, pipeline in named.items()
            }
            looks = PipelineLooks(crew, lambda name: nursery.way(assessing.of_file, files[name].absolute()))
            tell = partial(telling.wrong, WORKER)
            door = opened.enter_context(answering(crew, desks, looks, rest, tell))
            crew.worker = door.worker
            telling.listens(f"{door.url}/connectors")
        supervisor.run()
    return next(iter(telling.failed.values()), Exit.OK)


@contextmanager
def answering(
    crew: "Crew",
    desks: "Mapping[str, Desk]",
    looks: "Looks",
    rest: RestSettings,
    tell: Tell,
    group: "Group | None" = None,
) -> "Iterator[Door]":
    """Answer by REST; a group's connectors are made by it."""
    # here, for who does not listen shall not wait for a web framework to load
    from starlette.middleware import Middleware  # noqa: PLC0415

    from wrackline.control.rest import connectors, plugins, requests, writes  # noqa: PLC0415
    from wrackline.control.rest import looks as own_looks  # noqa: PLC0415
    from wrackline.control.rest.door import opened  # noqa: PLC0415
    from wrackline.control.rest.forward import Forward  # noqa: PLC0415
    from wrackline.control.rest.tls import to_other_workers  # noqa: PLC0415

    installed, resolver = Installed(), Resolver(Allowed.from_environment(os.environ), os.environ)
    by_itself = partial(check, plugins=installed, resolve=resolver)
    routes = (
        requests.routes(desks),
        own_looks.routes(looks),
        connectors.routes(crew),
        connectors.by_file() if group is None else writes.routes(group),
        plugins.routes(installed, by_itself if group is None else group.check, OURS),
    )
    within = []
    if group is not None:
        within.append(Middleware(Forward, elsewhere=group.elsewhere, tls=to_other_workers(rest)))
    with opened(rest, routes, tell, within) as door:
        yield door


def _cleaned(pipelines: Iterable[Pipeline]) -> Callable[[str], str]:
    """Return what takes the secrets of all of them out of a text."""
    redactors = [one.values.redactor for one in pipelines if one.values is not None]
    return lambda text: reduce(lambda left, redactor: redactor.clean(left), redactors, text)
