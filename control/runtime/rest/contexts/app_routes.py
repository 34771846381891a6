"""A connector as an application of CDAP's with one worker, for scripts that were written for it.

    GET, DELETE /v3/namespaces/{ns}/apps/{name}       GET /v3/apps/{name} in the namespace default
    POST        …/workers/DeltaWorker/start|stop      GET …/workers/DeltaWorker/status

In: connectors, and a group that may remove them.  Out: routes.  `PUT` of an application takes a draft's
configuration, so it is with the drafts: `control/plane/draft_routes.py`.
"""

from typing import Any, Final

import orjson
from fastapi import APIRouter, Response

from wrackline.control.runtime.rest.contexts.namespaces import DEFAULT, namespace_check
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, Connectors, WritableConnectors
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.versions import OURS

_WORKER: Final = "DeltaWorker"
_WORDS: Final = {  # CDAP's for a program; the rest is RUNNING
    TaskState.STARTING: "STARTING",
    TaskState.RESTARTING: "STARTING",
    TaskState.FAILED: "FAILED",
    TaskState.STOPPED: "STOPPED",
    TaskState.PAUSED: "STOPPED",
    TaskState.COMPLETED: "STOPPED",
}


def routes(crew: Connectors, group: WritableConnectors | None = None) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/v3", default_response_class=Answer)
    check = namespace_check(None if group is None else group.group_id)
    one, worker = "/namespaces/{ns}/apps/{name}", f"/namespaces/{{ns}}/apps/{{name}}/workers/{_WORKER}"

    def known(ns: str, name: str) -> str:
        check(ns)
        if name not in crew.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return name

    @made.get("/apps/{name}")
    def app_of_default(name: str) -> Response:
        """Describe a connector as an application."""
        return Answer(_app(crew, known(DEFAULT, name)))

    @made.get(one)
    def app(ns: str, name: str) -> Response:
        """Describe a connector as an application."""
        return Answer(_app(crew, known(ns, name)))

    @made.delete(one)
    def remove(ns: str, name: str) -> Response:
        """Remove a connector; its positions stay."""
        if group is None:
            raise BY_FILE(method="DELETE of an application")
        with group.turn:
            group.remove(known(ns, name))
        return Response(status_code=200)

    @made.post(worker + "/start")
    def start(ns: str, name: str) -> Response:
        """Let a connector run."""
        crew.wish(known(ns, name), DesiredState.RUN)
        return Response(status_code=200)

    @made.post(worker + "/stop")
    def stop(ns: str, name: str) -> Response:
        """Stop a connector."""
        crew.wish(known(ns, name), DesiredState.STOP)
        return Response(status_code=200)

    @made.get(worker + "/status")
    def status(ns: str, name: str) -> Response:
        """Return the state of a connector's source half."""
        return Answer({"status": _WORDS.get(crew.standing(known(ns, name)).state, "RUNNING")})

    return made


def _app(crew: Connectors, name: str) -> dict[str, Any]:
    return {
        "type": "App",
        "name": name,
        "appVersion": OURS,
        "description": "",
        "configuration": orjson.dumps(dict(crew.config(name))).decode(),
        "programs": [{"type": "Worker", "app": name, "name": _WORKER, "description": ""}],
        "artifact": {"name": "wrackline", "version": OURS, "scope": "SYSTEM"},
    }
