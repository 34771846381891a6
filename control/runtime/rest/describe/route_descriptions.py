"""What each route is asked with and answers, for the committed description of the worker's REST.

In: nothing.  Out: a line for each route; what it names stands in `json_schemas.py`, the roles in `roles.py`.
`openapi.py` puts all together, and a test holds it against the application's own routes and answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from wrackline.control.runtime.rest.describe.json_schemas import Schema


@dataclass(frozen=True, slots=True)
class RouteDescription:
    """One route: what it does, what it takes, and what it answers by status; None: no body."""

    summary: str
    answers: Mapping[int, str | None]
    body: str | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    errors: tuple[int, ...] = ()


_FLAG: Final[Schema] = {"type": "boolean", "default": False}
_BY_FILE = 405  # where a worker's files say which connectors it runs
_ASKS: Final = (409,)  # of what asks Kafka or a database: somebody has to do something first
_CHANGES: Final = (400, _BY_FILE, 413, 415)
_EXPAND: Final[Schema] = {"type": "array", "items": {"type": "string", "enum": ["info", "status"]}}

ROUTES: Final[Mapping[str, RouteDescription]] = {
    "GET /": RouteDescription("Say which version answers", {200: "Worker"}),
    "GET /health": RouteDescription("Say that it answers", {200: "Health"}),
    "GET /openapi.json": RouteDescription("Describe all of this", {200: "Document"}),
    "GET /connectors": RouteDescription(
        "Name the connectors, or describe all of them",
        {200: "Connectors"},
        query={"expand": _EXPAND},
        errors=(400,),
    ),
    "POST /connectors": RouteDescription(
        "Make a connector", {201: "Connector"}, "NewConnector", errors=_CHANGES
    ),
    "GET /connectors/{name}": RouteDescription("Describe a connector", {200: "Connector"}),
    "DELETE /connectors/{name}": RouteDescription(
        "Forget it; its positions stay",
        {204: None},
        errors=(_BY_FILE,),
    ),
    "GET /connectors/{name}/config": RouteDescription("Show its settings", {200: "Settings"}),
    "PUT /connectors/{name}/config": RouteDescription(
        "Give it all its settings, or make it",
        {200: "Connector", 201: "Connector"},
        "SentSettings",
        errors=_CHANGES,
    ),
    "PATCH /connectors/{name}/config": RouteDescription(
        "Change some of its settings", {200: "Connector"}, "ChangedSettings", errors=_CHANGES
    ),
    "GET /connectors/{name}/status": RouteDescription("Say how it is", {200: "Status"}),
    "GET /connectors/{name}/topics": RouteDescription(
        "Name its tables' topics", {200: "Topics"}, errors=_ASKS
    ),
    "PUT /connectors/{name}/topics/reset": RouteDescription(
        "Forget which topics it used: none is kept", {202: None}
    ),
    "GET /connectors/{name}/offsets": RouteDescription("Show its positions", {200: "Offsets"}, errors=_ASKS),
    "PATCH /connectors/{name}/offsets": RouteDescription(
        "Set its positions, once it is stopped", {200: "Message"}, "ChangedOffsets", errors=_CHANGES
    ),
    "DELETE /connectors/{name}/offsets": RouteDescription(
        "Forget its positions, once it is stopped", {200: "Message"}, errors=(400, _BY_FILE)
    ),
    "GET /connectors/{name}/tasks": RouteDescription("List its tasks", {200: "Tasks"}),
    "GET /connectors/{name}/tasks-config": RouteDescription(
        "Show what its tasks were given", {200: "TaskSettings"}
    ),
    "GET /connectors/{name}/tasks/{task}/status": RouteDescription("Say how a task is", {200: "TaskStatus"}),
    "POST /connectors/{name}/tasks/{task}/restart": RouteDescription("Begin a task anew", {204: None}),
    "PUT /connectors/{name}/pause": RouteDescription("Let it rest; its task stays listed", {202: None}),
    "PUT /connectors/{name}/resume": RouteDescription("Let it go on", {202: None}),
    "PUT /connectors/{name}/stop": RouteDescription("Let it rest without a task", {204: None}),
    "POST /connectors/{name}/restart": RouteDescription(
        "Begin it anew; 202 with its status if one of the two is asked",
        {202: "Status", 204: None},
        query={"includeTasks": _FLAG, "onlyFailed": _FLAG},
        errors=(400,),
    ),
    "GET /connectors/{name}/tables": RouteDescription(
        "Say where each table stands, at the source and in the target", {200: "Tables"}, errors=_ASKS
    ),
    "GET /connectors/{name}/lag": RouteDescription(
        "Say how far each step is behind", {200: "Lag"}, errors=_ASKS
    ),
    "GET /connectors/{name}/assessment": RouteDescription(
        "Say what stands in its way", {200: "Assessment"}, errors=_ASKS
    ),
    "GET /connectors/{name}/requests": RouteDescription(
        "Say where all requests stand", {200: "Requests"}, errors=_ASKS
    ),
    "POST /connectors/{name}/requests": RouteDescription(
        "Ask for existing rows", {202: "Taken"}, "Signal", errors=(400, 413, 415)
    ),
    "GET /connectors/{name}/requests/{id:path}": RouteDescription(
        "Say where one request stands", {200: "Receipts"}, errors=_ASKS
    ),
    "GET /connector-plugins": RouteDescription("Name the sources that are installed", {200: "Plugins"}),
    "GET /connector-plugins/{name}/config": RouteDescription(
        "Describe a source's settings", {200: "Definitions"}
    ),
    "PUT /connector-plugins/{name}/config/validate": RouteDescription(
        "Say what is wrong with settings; no server is asked", {200: "Judged"}, "SentSettings", errors=(400,)
    ),
}
