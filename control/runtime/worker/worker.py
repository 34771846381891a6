"""`wrackline worker`: several pipelines, each half in its own process.

    this process    starts them, prints their lines, restarts crashed ones; receives SIGTERM and SIGINT
    one each        `task_process.py`: what `wrackline run` or `wrackline consume` does, with a lifeline to
                    this process

In: pipelines' files, all checked before any is started.  Out: lines (`worker_log.py`).  A pipeline whose
error needs an operator is FAILED with its reason, and the others continue to stream.  The worker ends when it
is asked to, or when no pipeline is left and REST can't wake one.  It knows no database, and uses Kafka only
for requests by REST.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.check.assessment import assess_file
from wrackline.control.runtime.files.file_drafts import FileDrafts
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.stop_signals import hear_stop_signals
from wrackline.control.runtime.letters import letter_work
from wrackline.control.runtime.logs.libraries import log_libraries
from wrackline.control.runtime.logs.lines import Log
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.probe.assess import try_file
from wrackline.control.runtime.rest.model.drafts import DraftAccess
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.control.runtime.worker.file_tasks import FileTasks
from wrackline.control.runtime.worker.pipeline_requests import RequestsByName
from wrackline.control.runtime.worker.pipeline_views import WorkerViews, following
from wrackline.control.runtime.worker.worker_log import WORKER, RestReports, WorkerLog
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.nursery import Nursery
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.producers.contract.source_plugin import SOURCES
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.pipelines.plugin_finder import list_folders
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

if TYPE_CHECKING:
    from fastapi import APIRouter

    from wrackline.control.runtime.rest.model.connectors import Connectors, WritableConnectors
    from wrackline.control.runtime.rest.routes.request_routes import RequestsService
    from wrackline.control.runtime.rest.server.app import MoreRoutes
    from wrackline.control.runtime.rest.server.endpoint import RestEndpoint

Tell = Callable[[WracklineError], None]
MakePages = Callable[["Connectors", WorkerViews, DraftAccess], "MoreRoutes"]

_WRITES: Final = 1_000  # that are remembered, until the worker ends

# what the tasks' processes have in common
LOADED = (
    task_process.__name__,
    *(f"{SOURCES.package.__name__}.{kind}" for kind in list_folders(SOURCES)),
)

# a process that ends with one of these would end with it again
FOR_SOMEBODY = (Exit.FINDINGS, Exit.USAGE, Exit.OPERATOR, Exit.DEFINITE)


def work(
    pipelines: Mapping[Path, Pipeline],
    log: Log,
    most_memory: int,
    rest: RestSettings | None = None,
    pages: "MakePages | None" = None,
) -> int:
    """Run pipelines that were found good; return the exit code of the first that failed, or 0.

    `pages` makes the routes of the console and of the control plane, which are served beside REST.
    """
    nursery = Nursery(LOADED)
    tasks = FileTasks(pipelines, lambda file, task: nursery.way(task_process.run_file, file, task))
    with hear_stop_signals() as asked, ExitStack() as opened:
        opened.enter_context(log_libraries(log.bind(pipeline=WORKER), tasks.clean))
        supervisor: Supervisor
        crew = FileConnectors(
            tasks.named,
            lambda task, wish: supervisor.wish(task, wish),  # noqa: PLW0108 - it comes later
            lambda name, rests: tasks.restart(supervisor, name, rests),
        )
        telling = WorkerLog(crew.stands, log, tasks.clean)
        supervisor = Supervisor(
            tasks.begins(),
            telling,
            for_somebody=lambda code: code in FOR_SOMEBODY,
            must_stop=asked,
            stays=rest is not None,
            most_memory=most_memory,
        )
        if rest is not None:
            desks = RequestsByName(crew, telling.wrong)
            boards = BoardFollower()
            opened.callback(boards.close)
            notifier = Notifier(
                lambda: True,
                telling.wrong,
                lambda name: crew.pipeline(name).good().text("kafka.bootstrap.servers"),
            )
            opened.callback(notifier.close)
            looks = WorkerViews(
                crew,
                boards,
                partial(_assess, nursery, tasks.files),
                lambda name, work: nursery.way(letter_work.work_on_file, tasks.files[name], work),
                notifier,
            )
            drafts = _draft_access(next(iter(pipelines)).absolute().parent, crew, nursery)
            more = None if pages is None else pages(crew, looks, drafts)
            kept: deque[bytes] = deque(maxlen=_WRITES)
            reports = telling.reports(lambda entry: kept.append(orjson.dumps(entry)), lambda: tuple(kept))
            door = opened.enter_context(serve_rest(crew, desks, looks, rest, reports, more=more))
            crew.worker = door.worker
            opened.enter_context(following(looks))
            telling.listens(f"{door.url}/connectors")
        supervisor.run()
    known = tasks.begins()  # a failed task may be gone since
    return next((code for key, code in telling.failed.items() if key in known), Exit.OK)


@contextmanager
def serve_rest(
    crew: "Connectors",
    desks: "Mapping[str, RequestsService]",
    looks: WorkerViews,
    rest: RestSettings,
    reports: RestReports,
    group: "WritableConnectors | None" = None,
    more: "MoreRoutes | None" = None,
) -> "Iterator[RestEndpoint]":
    """Answer by REST; `group` makes a group's connectors; `more` are the console and the control plane."""
    # here, so that a worker that does not listen does not wait for a web framework to load
    from starlette.middleware import Middleware  # noqa: PLC0415

    from wrackline.control.runtime.rest.access import audit_routes  # noqa: PLC0415
    from wrackline.control.runtime.rest.access.audit import Audit  # noqa: PLC0415
    from wrackline.control.runtime.rest.contexts import app_routes, context_routes  # noqa: PLC0415
    from wrackline.control.runtime.rest.model.kept_answers import AnswersInMemory  # noqa: PLC0415
    from wrackline.control.runtime.rest.routes import (  # noqa: PLC0415
        connector_routes,
        event_routes,
        letter_routes,
        lineage_routes,
        log_routes,
        offset_routes,
        plugin_routes,
        request_routes,
        shape_routes,
        table_routes,
        write_routes,
    )
    from wrackline.control.runtime.rest.routes import view_routes as own_looks  # noqa: PLC0415
    from wrackline.control.runtime.rest.server.endpoint import open_endpoint  # noqa: PLC0415
    from wrackline.control.runtime.rest.server.forward import Forward  # noqa: PLC0415
    from wrackline.control.runtime.rest.server.once import Once  # noqa: PLC0415
    from wrackline.control.runtime.rest.server.tls import client_tls  # noqa: PLC0415

    routes: tuple[APIRouter, ...] = (
        request_routes.routes(desks),
        own_looks.routes(looks),
        table_routes.routes(looks),
        event_routes.routes(looks),
        shape_routes.routes(looks),
        lineage_routes.routes(looks),
        letter_routes.routes(looks),
        connector_routes.routes(crew),
        connector_routes.file_routes() if group is None else write_routes.routes(group),
        plugin_routes.routes(Installed(), _check_alone if group is None else group.check),
        offset_routes.routes(crew, group),
        log_routes.routes(looks),
        audit_routes.routes(reports.entries),
        context_routes.routes(crew, looks, group),
        app_routes.routes(crew, group),
        *(more.routes if more else ()),
    )
    within = [
        Middleware(Once, answers=group or AnswersInMemory(), tell=reports.tell),
        Middleware(Audit, put=reports.put),
    ]
    if group is not None:
        within.insert(0, Middleware(Forward, elsewhere=group.elsewhere, tls=client_tls(rest)))
    cluster = None if group is None else group.cluster
    no_page = more.no_page if more else None
    with open_endpoint(
        rest, routes, reports.tell, within, cluster=cluster, shared=group, no_page=no_page
    ) as door:
        yield door


def _check_alone(settings: Mapping[str, str]) -> Pipeline:
    """Check settings that came over REST: only the worker's environment says what they may read."""
    return check(settings, Installed(), Resolver(Allowed.from_environment(os.environ), os.environ))


def _draft_access(folder: Path, crew: FileConnectors, nursery: Nursery) -> DraftAccess:
    def begin(main: Callable[..., None], settings: Mapping[str, str], *more: object) -> Begin:
        return nursery.way(main, dict(settings), Allowed.from_environment(os.environ), *more)

    return DraftAccess(FileDrafts(folder / "drafts", _check_alone), crew.names, _check_alone, begin)


def _assess(nursery: Nursery, files: Mapping[str, Path], name: str, probe: bool) -> Begin:  # noqa: FBT001 - one of two ways
    return nursery.way(try_file if probe else assess_file, files[name])
