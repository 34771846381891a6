"""Connectors by REST, as Kafka Connect has them: its clients and user interfaces look at a worker unchanged.

    GET  /connectors[?expand=status&expand=info]
    GET  /connectors/{c}[/config|status|tasks|tasks-config|topics|offsets]
    PUT  /connectors/{c}/topics/reset                a client asks for it; nothing is kept of them
    PUT  /connectors/{c}/pause|resume|stop           POST /connectors/{c}/restart[?includeTasks&onlyFailed]
    GET  /connectors/{c}/tasks/{n}/status            POST /connectors/{c}/tasks/{n}/restart

In: a crew, which runs the pipelines.  Out: routes.  Nothing here makes, changes or removes one.  In a group
`writes.py` does; a worker that was started with files has its connectors from them, and who tries there is
answered so, with 405.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from wrackline.control.rest import shapes
from wrackline.control.rest.answer import Answer
from wrackline.control.rest.crews import NO_CONNECTOR, NO_TASK, Crew
from wrackline.control.rest.shapes import Standing
from wrackline.producers.connect.supervision import State, Wish
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import shown_name

BY_FILE = define(
    "rest.by_file",
    OperatorNeeded,
    "{method} is not for this worker: its files say which connectors it runs, and how",
    hint="change the pipeline's file, and start the worker again: wrackline worker <pipeline.toml>",
)


def routes(crew: Crew) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors", default_response_class=Answer)
    _looks(made, crew)
    _looks_at_tasks(made, crew)
    _wishes(made, crew)
    return made


def _known(crew: Crew, name: str) -> Standing:
    if name not in crew.names():
        raise NO_CONNECTOR(name=shown_name(name))
    return crew.standing(name)


def _of_task(crew: Crew, name: str, task: str) -> Standing:
    standing = _known(crew, name)
    if not any(str(one["id"]["task"]) == task for one in shapes.tasks(name, {}, standing)):
        raise NO_TASK(name=name, task=shown_name(task))
    return standing


def _looks(made: APIRouter, crew: Crew) -> None:
    @made.get("")
    def connectors(expand: Annotated[list[str] | None, Query()] = None) -> Response:
        """Name the pipelines, or describe all of them."""
        if expand is None:
            return Answer(sorted(crew.names()))
        found = {name: crew.standing(name) for name in sorted(crew.names())}
        parts = {
            "info": lambda name: shapes.info(name, crew.config(name), found[name]),
            "status": lambda name: shapes.status(name, found[name], crew.worker),
        }
        return Answer({name: {part: parts[part](name) for part in expand if part in parts} for name in found})

    @made.get("/{name}")
    def info(name: str) -> Response:
        """Describe a pipeline."""
        standing = _known(crew, name)
        return Answer(shapes.info(name, crew.config(name), standing))

    @made.get("/{name}/config")
    def config(name: str) -> Response:
        """Show its settings."""
        _known(crew, name)
        return Answer(dict(crew.config(name)))

    @made.get("/{name}/status")
    def status(name: str) -> Response:
        """Say how it is."""
        return Answer(shapes.status(name, _known(crew, name), crew.worker))

    @made.get("/{name}/topics")
    def topics(name: str) -> Response:
        """Name its topics."""
        _known(crew, name)
        return Answer({name: {"topics": sorted(crew.topics(name))}})

    @made.put("/{name}/topics/reset")
    def reset_topics(name: str) -> Response:
        """Forget which topics were in use: none is remembered, they are looked up each time."""
        _known(crew, name)
        return Response(status_code=202)

    @made.get("/{name}/offsets")
    def offsets(name: str) -> Response:
        """Show its positions."""
        _known(crew, name)
        return Answer(shapes.offsets(crew.offsets(name)))


def _looks_at_tasks(made: APIRouter, crew: Crew) -> None:
    @made.get("/{name}/tasks")
    def tasks(name: str) -> Response:
        """List its tasks."""
        standing = _known(crew, name)
        return Answer(shapes.tasks(name, crew.config(name), standing))

    @made.get("/{name}/tasks-config")
    def tasks_config(name: str) -> Response:
        """Show what its tasks were given."""
        standing = _known(crew, name)
        listed = shapes.tasks(name, crew.config(name), standing)
        return Answer({f"{name}-{one['id']['task']}": one["config"] for one in listed})

    @made.get("/{name}/tasks/{task}/status")
    def task_status(name: str, task: str) -> Response:
        """Say how a task is."""
        return Answer(shapes.task_status(_of_task(crew, name, task), crew.worker))


def _wishes(made: APIRouter, crew: Crew) -> None:
    def wished(name: str, wish: Wish, status: int) -> Response:
        _known(crew, name)
        crew.wish(name, wish)
        return Response(status_code=status)

    @made.put("/{name}/pause")
    def pause(name: str) -> Response:
        """Let it rest; its task stays listed."""
        return wished(name, Wish.PAUSE, 202)

    @made.put("/{name}/stop")
    def stop(name: str) -> Response:
        """Let it rest without a task, as its positions are edited."""
        return wished(name, Wish.STOP, 204)

    @made.put("/{name}/resume")
    def resume(name: str) -> Response:
        """Let it go on."""
        return wished(name, Wish.RUN, 202)

    @made.post("/{name}/restart")
    def restart(
        name: str,
        *,
        tasks: Annotated[bool, Query(alias="includeTasks")] = False,
        failed: Annotated[bool, Query(alias="onlyFailed")] = False,
    ) -> Response:
        """Begin it anew: a connector is nothing here but its task, so both are the same."""
        standing = _known(crew, name)
        rests = standing.state in (State.PAUSED, State.STOPPED)  # as in Connect, only resuming wakes it
        if not rests and (not failed or standing.state is State.FAILED):
            crew.wish(name, Wish.RESTART)
        if not tasks and not failed:
            return Response(status_code=204)
        return Answer(shapes.status(name, crew.standing(name), crew.worker), 202)

    @made.post("/{name}/tasks/{task}/restart")
    def restart_task(name: str, task: str) -> Response:
        """Begin a task anew."""
        if _of_task(crew, name, task).state is not State.PAUSED:
            crew.wish(name, Wish.RESTART)
        return Response(status_code=204)


def by_file() -> APIRouter:
    """Make the routes that say of a worker by files where its connectors come from."""
    made = APIRouter(prefix="/connectors", default_response_class=Answer)

    def refused(request: Request) -> Response:
        """Say where a worker's pipelines come from."""
        raise BY_FILE(method=f"{request.method} {shown_name(request.url.path)}")

    for path, methods in {
        "": ["POST"],
        "/{name}": ["DELETE"],
        "/{name}/config": ["PUT", "PATCH"],
        "/{name}/offsets": ["PATCH", "DELETE"],
    }.items():
        made.add_api_route(path, refused, methods=methods)
    return made
