"""Connectors by REST, as Kafka Connect has them: its clients and user interfaces work with a worker as usual.

    GET  /connectors[?expand=status&expand=info]
    GET  /connectors/{c}[/config|status|tasks|tasks-config|topics|offsets]
    GET  /connectors/{c}/settings                    ours: those in force, and where each comes from
    PUT  /connectors/{c}/topics/reset                for clients that send it; no topics are kept
    PUT  /connectors/{c}/pause|resume|stop           POST /connectors/{c}/restart[?includeTasks&onlyFailed]
    GET  /connectors/{c}/tasks/{n}/status            POST /connectors/{c}/tasks/{n}/restart
    PUT  /connectors/{c}/tasks/{n}/pause|resume      ours: one half of a pipeline alone

In: a crew, which runs the pipelines.  Out: routes.  Nothing here makes, changes or removes a connector.  In a
group `write_routes.py` does; a worker that was started with files has its connectors from them, and refuses
the request with 405.  What a worker has in memory is answered on the event loop's thread, because on a busy
machine a change of thread takes longer than the answer.  Settings that have changed are checked in another
thread: that may take seconds, and everybody would wait.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from wrackline.control.runtime.rest.model import connect_documents
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, NO_TASK, Connectors
from wrackline.control.runtime.rest.routes.answer_cache import SlowReads
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import shown_name

_AT_ONCE: Final = 20  # pipelines that are described before others are answered

BY_FILE = define(
    "rest.by_file",
    OperatorNeeded,
    "{method} is not for this worker: its files say which connectors it runs, and how",
    hint="change the pipeline's file, and start the worker again: wrackline worker <pipeline.toml>",
)


def routes(crew: Connectors) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors", default_response_class=Answer)
    _add_reads(made, crew)
    _add_task_reads(made, crew)
    _add_wishes(made, crew)
    _add_task_wishes(made, crew)
    return made


def _state_of(crew: Connectors, name: str) -> ConnectorState:
    if name not in crew.names():
        raise NO_CONNECTOR(name=shown_name(name))
    return crew.standing(name)


def _of_task(crew: Connectors, name: str, task: str) -> tuple[int, ConnectorState]:
    standing = _state_of(crew, name)
    for number, one in standing.tasks.items():
        if str(number) == task:
            return number, one
    raise NO_TASK(name=name, task=shown_name(task))


async def _config_of(crew: Connectors, name: str) -> Mapping[str, str]:
    known = crew.known_config(name)
    return await run_in_threadpool(crew.config, name) if known is None else known


def _add_reads(made: APIRouter, crew: Connectors) -> None:
    slow = SlowReads()

    @made.get("")
    async def connectors(expand: Annotated[list[str] | None, Query()] = None) -> Response:
        """Name the pipelines, or describe all of them."""
        if expand is None:
            return Answer(sorted(crew.names()))
        return Answer(await _expanded(crew, expand))

    @made.get("/{name}")
    async def info(name: str) -> Response:
        """Describe a pipeline."""
        standing = _state_of(crew, name)
        return Answer(connect_documents.info(name, await _config_of(crew, name), standing))

    @made.get("/{name}/config")
    async def config(name: str) -> Response:
        """Show its settings."""
        _state_of(crew, name)
        return Answer(dict(await _config_of(crew, name)))

    @made.get("/{name}/settings")
    def settings(name: str) -> Response:
        """Show the settings that it runs with, defaults too."""
        _state_of(crew, name)
        return Answer({"settings": [one.document() for one in crew.settings_in_force(name)]})

    @made.get("/{name}/status")
    async def status(name: str) -> Response:
        """Return its state."""
        return Answer(connect_documents.status(name, _state_of(crew, name), crew.worker))

    @made.get("/{name}/topics")
    async def topics(name: str) -> Response:
        """Name its topics."""
        _state_of(crew, name)
        return Answer({name: {"topics": sorted(await slow.ask(crew.topics, name))}})

    @made.put("/{name}/topics/reset")
    async def reset_topics(name: str) -> Response:
        """Forget which topics were in use: none is remembered, they are looked up each time."""
        _state_of(crew, name)
        return Response(status_code=202)

    @made.get("/{name}/offsets")
    async def offsets(name: str) -> Response:
        """Show its positions."""
        _state_of(crew, name)
        return Answer(connect_documents.offsets(await slow.ask(crew.offsets, name)))


async def _expanded(crew: Connectors, wanted: Sequence[str]) -> dict[str, Any]:
    """Describe all pipelines, and let others be answered meanwhile; one that is deleted then is left out."""
    found = {}
    for nth, name in enumerate(sorted(crew.names())):
        if nth % _AT_ONCE == 0:
            await asyncio.sleep(0)
        try:
            found[name] = await _described(crew, name, wanted)
        except WracklineError:
            if name in crew.names():
                raise
    return found


async def _described(crew: Connectors, name: str, wanted: Sequence[str]) -> dict[str, Any]:
    standing, found = crew.standing(name), dict[str, Any]()
    if "info" in wanted:
        found["info"] = connect_documents.info(name, await _config_of(crew, name), standing)
    if "status" in wanted:
        found["status"] = connect_documents.status(name, standing, crew.worker)
    return found


def _add_task_reads(made: APIRouter, crew: Connectors) -> None:
    @made.get("/{name}/tasks")
    async def tasks(name: str) -> Response:
        """List its tasks."""
        standing = _state_of(crew, name)
        return Answer(connect_documents.tasks(name, await _config_of(crew, name), standing))

    @made.get("/{name}/tasks-config")
    async def tasks_config(name: str) -> Response:
        """Show what its tasks were given."""
        standing = _state_of(crew, name)
        listed = connect_documents.tasks(name, await _config_of(crew, name), standing)
        return Answer({f"{name}-{one['id']['task']}": one["config"] for one in listed})

    @made.get("/{name}/tasks/{task}/status")
    async def task_status(name: str, task: str) -> Response:
        """Return a task's state."""
        return Answer(connect_documents.task_status(*_of_task(crew, name, task), crew.worker))


def _add_wishes(made: APIRouter, crew: Connectors) -> None:
    def wished(name: str, wish: DesiredState, status: int) -> Response:
        _state_of(crew, name)
        crew.wish(name, wish)
        return Response(status_code=status)

    @made.put("/{name}/pause")
    def pause(name: str) -> Response:
        """Let it rest; its task stays listed."""
        return wished(name, DesiredState.PAUSE, 202)

    @made.put("/{name}/stop")
    def stop(name: str) -> Response:
        """Let it rest without a task, as its positions are edited."""
        return wished(name, DesiredState.STOP, 204)

    @made.put("/{name}/resume")
    def resume(name: str) -> Response:
        """Let it continue."""
        return wished(name, DesiredState.RUN, 202)

    @made.post("/{name}/restart")
    def restart(
        name: str,
        *,
        tasks: Annotated[bool, Query(alias="includeTasks")] = False,
        failed: Annotated[bool, Query(alias="onlyFailed")] = False,
    ) -> Response:
        """Restart it: a connector is only its tasks here, so both are the same."""
        restart_connector(crew, name, only_failed=failed)
        if not tasks and not failed:
            return Response(status_code=204)
        return Answer(connect_documents.status(name, crew.standing(name), crew.worker), 202)


def _add_task_wishes(made: APIRouter, crew: Connectors) -> None:
    @made.post("/{name}/tasks/{task}/restart")
    def restart_task(name: str, task: str) -> Response:
        """Restart a task."""
        number, standing = _of_task(crew, name, task)
        if standing.state is not TaskState.PAUSED:
            crew.wish(name, DesiredState.RESTART, number)
        return Response(status_code=204)

    @made.put("/{name}/tasks/{task}/pause")
    def pause_task(name: str, task: str) -> Response:
        """Let a task rest; the other one continues."""
        crew.wish(name, DesiredState.PAUSE, _of_task(crew, name, task)[0])
        return Response(status_code=202)

    @made.put("/{name}/tasks/{task}/resume")
    def resume_task(name: str, task: str) -> Response:
        """Let a task continue; the other one stays as it is."""
        crew.wish(name, DesiredState.RUN, _of_task(crew, name, task)[0])
        return Response(status_code=202)


def restart_connector(crew: Connectors, name: str, *, only_failed: bool = False) -> bool:
    """Restart its tasks, if any is awake; those that rest are woken only by resuming, as in Connect."""
    standing = _state_of(crew, name)
    awake = {n: one for n, one in standing.tasks.items() if one.state is not TaskState.PAUSED}
    if not awake and standing.state in (TaskState.PAUSED, TaskState.STOPPED):
        return False
    failed = [n for n, one in awake.items() if one.state is TaskState.FAILED]
    if not only_failed or len(failed) == len(standing.tasks):
        crew.wish(name, DesiredState.RESTART)  # a task that is paused stays so
        return True
    for number in failed:
        crew.wish(name, DesiredState.RESTART, number)
    return bool(failed)


def file_routes() -> APIRouter:
    """Make the routes that report that a worker's connectors come from files."""
    made = APIRouter(prefix="/connectors", default_response_class=Answer)

    def refused(request: Request) -> Response:
        """Report where a worker's pipelines come from."""
        raise BY_FILE(method=f"{request.method} {shown_name(request.url.path)}")

    for path, methods in {
        "": ["POST"],
        "/{name}": ["DELETE"],
        "/{name}/config": ["PUT", "PATCH"],
        "/{name}/offsets": ["PATCH", "DELETE"],
    }.items():
        made.add_api_route(path, refused, methods=methods)
    return made
