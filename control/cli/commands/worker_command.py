"""`wrackline worker`: pipelines by their files, or a part in a group whose connectors come by REST."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wrackline.control.cli.commands import rest_flags
from wrackline.control.cli.terminal.output import AsJson, log_of
from wrackline.control.runtime.check.pipeline_file import UnfitFile, good_pipeline
from wrackline.control.runtime.logs.lines import Log
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.control.runtime.worker.worker import work

if TYPE_CHECKING:
    from wrackline.control.runtime.rest.model.connectors import Connectors
    from wrackline.control.runtime.rest.model.drafts import DraftAccess
    from wrackline.control.runtime.rest.server.app import MoreRoutes
    from wrackline.control.runtime.worker.pipeline_views import WorkerViews

Files = Annotated[list[Path] | None, typer.Argument(metavar="pipeline.toml", help="The pipelines' files.")]
GroupFile = Annotated[
    Path | None,
    typer.Option(
        "--group",
        metavar="group.toml",
        help="Join a group of workers instead; its connectors are made over REST.",
    ),
]
TaskMemory = Annotated[
    int,
    typer.Option(
        "--task-memory",
        metavar="MIB",
        min=64,
        help="Restart a task's process if its own memory exceeds this.",
    ),
]
_MIB = 20  # bits


def worker(  # noqa: PLR0913 - each is a flag
    context: typer.Context,
    files: Files = None,
    *,
    group: GroupFile = None,
    task_memory: TaskMemory = 2048,
    rest_port: rest_flags.Port = None,
    rest_host: rest_flags.Host = LOOPBACK,
    rest_advertised: rest_flags.Advertised = None,
    rest_name: rest_flags.Names = None,
    rest_users: rest_flags.Users = None,
    rest_certificate: rest_flags.Certificate = None,
    rest_key: rest_flags.Key = None,
    rest_client_ca: rest_flags.ClientCa = None,
    rest_worker_ca: rest_flags.WorkerCa = None,
    rest_tls_ends_before: rest_flags.TlsEndsBefore = False,
    json: AsJson = None,
) -> None:
    """Run pipelines, each half in its own process, until SIGTERM.

    A process that crashes is restarted. A pipeline that needs an operator is FAILED; the others continue.
    """
    rest = RestSettings(
        rest_port or 0,
        rest_host,
        rest_advertised,
        tuple(rest_name or ()),
        rest_users,
        rest_certificate,
        rest_key,
        rest_client_ca,
        rest_worker_ca,
        rest_tls_ends_before,
    )
    log, memory = log_of(context, asked=json, named=True), task_memory << _MIB
    if (group is None) == (not files):
        raise typer.BadParameter("name pipelines' files, or a group's file: --group group.toml")
    if group is not None:
        code = _take_part(group, log, rest_flags.of_a_group(rest_port, rest), memory)
    else:
        pipelines = {file: good_pipeline(file) for file in files or ()}
        code = work(pipelines, log, memory, rest_flags.if_asked(rest_port, rest), _pages)
    if code:
        raise typer.Exit(code)


def _pages(crew: "Connectors", views: "WorkerViews", drafts: "DraftAccess") -> "MoreRoutes":
    # here, because a worker that does not listen must not wait for them to load
    from wrackline.control.console.page_frame import PageFrame  # noqa: PLC0415
    from wrackline.control.console.routing import console_routes  # noqa: PLC0415
    from wrackline.control.plane import draft_routes  # noqa: PLC0415
    from wrackline.control.plane.draft_service import DraftService  # noqa: PLC0415
    from wrackline.control.runtime.rest.server.app import MoreRoutes  # noqa: PLC0415

    pages, service = PageFrame(crew, views), DraftService(drafts)
    return MoreRoutes((console_routes.routes(pages, service), draft_routes.routes(service)), pages.no_page)


def _take_part(file: Path, log: Log, rest: RestSettings, most_memory: int) -> int:
    # here, because it always listens, and a worker that does not must not wait for a web framework to load
    from wrackline.control.runtime.group import group_worker as of_a_group  # noqa: PLC0415
    from wrackline.control.runtime.group.group_settings import WorkerGroup, load_group  # noqa: PLC0415

    group = load_group(file, os.environ)
    if isinstance(group, WorkerGroup):
        return of_a_group.work_in_group(group, log, rest, most_memory, _pages)
    raise UnfitFile(file, group)
