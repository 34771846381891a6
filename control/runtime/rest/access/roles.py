"""What each role may ask: one table of all routes, and the check that runs before each of them.

    viewer      sees what is known
    operator    also assesses servers, targets and drafts, pauses, resumes, stops, restarts, and requests rows
    admin       also makes, changes and removes connectors, drafts and positions, and validates and assesses
                settings that it sends, because that reads what references to secrets point to

Beside the role, `data = true` lets a user see values of rows, which a few routes show.
In: the chosen route, and the user that logged in.  Out: nothing, or a refusal.  A route that is not in the
table is refused to everybody.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, Protocol

from fastapi import Request
from starlette.routing import compile_path

from wrackline.schemas.errors import Definite, define


class Role(IntEnum):
    """Each role includes the roles before it."""

    OPEN = 0  # no log-in is needed
    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


class AuthenticatedUser(Protocol):
    """A user that logged in."""

    @property
    def name(self) -> str:
        """As the users' file has it."""
        ...

    @property
    def role(self) -> Role:
        """What the user may ask."""
        ...

    @property
    def data(self) -> bool:
        """Whether the user may see values of rows."""
        ...


NOT_ALLOWED = define(
    "rest.not_allowed",
    Definite,
    "{user} may not do this: it takes the role {role}",
    hint='log in as a user with that role, or change role = "…" of {user} in the users\' file',
)
NO_VALUES = define(
    "rest.no_values",
    Definite,
    "{user} may not see values of rows, which this shows",
    hint="write data = true below [users.{user}] in the users' file; it is read again at once",
)
UNLISTED = define(
    "rest.unlisted",
    Definite,
    "no role may ask {route}",
    hint="report it: the route is missing in the table of roles",
)

_OFFSET: Final = "/v1/contexts/{ns}/apps/{name}/generations/{generation}/instances/{instance}/offset"
_QUESTIONS: Final = ("listTables", "describeTable", "assessPipeline", "assessTable")
_TABLE: Final = {
    Role.OPEN: (
        "GET /health",
        "GET /v1/health",
        "GET /console/login",
        "POST /console/login",
        "GET /console/static/{file}",
        "POST /console/theme/{theme}",
    ),
    Role.VIEWER: (
        "GET /",
        "GET /openapi.json",
        "GET /connectors",
        "GET /connectors/{name}",
        "GET /connectors/{name}/config",
        "GET /connectors/{name}/settings",
        "GET /connectors/{name}/status",
        "GET /connectors/{name}/topics",
        "GET /connectors/{name}/offsets",
        "GET /connectors/{name}/offsets/history",
        "GET /connectors/{name}/tasks",
        "GET /connectors/{name}/tasks-config",
        "GET /connectors/{name}/tasks/{task}/status",
        "GET /connectors/{name}/tables",
        "GET /connectors/{name}/tables/{table}/events",
        "GET /connectors/{name}/tables/{table}/shapes",
        "GET /connectors/{name}/lag",
        "GET /connectors/{name}/slo",
        "GET /connectors/{name}/lineage",
        "GET /lineage",
        "GET /connectors/{name}/logs",
        "GET /connectors/{name}/requests",
        "GET /connectors/{name}/requests/{id:path}",
        "GET /connector-plugins",
        "GET /connector-plugins/{name}/config",
        "POST /v1/contexts/{ns}/getState",
        "GET /v1/contexts/{ns}/pipelines",
        "GET /v1/contexts/{ns}/pipelines/{name}/state",
        "GET /v1/contexts/{ns}/pipelines/{name}/metrics",
        "GET /v1/contexts/{ns}/apps/{name}/maxgeneration",
        f"GET {_OFFSET}",
        "GET /v3/apps/{name}",
        "GET /v3/namespaces/{ns}/apps/{name}",
        "GET /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/status",
        "GET /console",
        "GET /console/",
        "POST /console/logout",
        "GET /console/p/{name}",
        "GET /console/p/{name}/settings",
        "GET /console/p/{name}/snapshot",
        "GET /console/p/{name}/positions",
        "GET /console/p/{name}/lineage",
        "GET /console/p/{name}/tables/{table}/lineage",
        "GET /console/lineage",
        "GET /console/workers",
        "GET /console/p/{name}/t/{table}",
        "GET /console/p/{name}/events",
        "GET /console/p/{name}/errors",
        "GET /console/p/{name}/logs",
        "GET /console/p/{name}/letters",
        "GET /console/p/{name}/tables/{table}/shapes",
        "GET /console/error/{code}",
        "GET /console/new",
        "GET /console/draft/{id}/step/{step}",
        "GET /console/draft/{id}/start",
        "GET /v1/contexts/{ns}/drafts",
        "GET /v1/contexts/{ns}/drafts/{id}",
    ),
    Role.OPERATOR: (
        "GET /connectors/{name}/assessment",  # starts a process, and Spark for a lakehouse
        "POST /connectors/{name}/assessment",  # writes to each server, and removes it again
        "PUT /connectors/{name}/topics/reset",
        "PUT /connectors/{name}/pause",
        "PUT /connectors/{name}/stop",
        "PUT /connectors/{name}/resume",
        "POST /connectors/{name}/restart",
        "POST /connectors/{name}/tasks/{task}/restart",
        "PUT /connectors/{name}/tasks/{task}/pause",
        "PUT /connectors/{name}/tasks/{task}/resume",
        "POST /connectors/{name}/requests",
        "POST /connectors/{name}/tables/{table}/pause",
        "POST /connectors/{name}/tables/{table}/resume",
        "POST /connectors/{name}/tables/{table}/retry",
        "POST /connectors/{name}/tables/{table}/keep",
        "POST /connectors/{name}/tables/{table}/release",
        "POST /console/p/{name}/t/{table}/do/{verb}",
        "POST /console/p/{name}/do/{verb}",
        "POST /console/p/{name}/letters/do/{verb}",
        "GET /connectors/{name}/letters",  # as an assessment
        "POST /connectors/{name}/letters/replay",
        "DELETE /connectors/{name}/letters/{id}",
        "POST /console/p/{name}/tasks/{task}/do/{verb}",
        "POST /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/start",
        "POST /v3/namespaces/{ns}/apps/{name}/workers/DeltaWorker/stop",
        *(
            f"POST /v1/contexts/{{ns}}/drafts/{{id}}/{question}"  # each starts a process that asks servers
            for question in _QUESTIONS
        ),
        "POST /console/p/do/{verb}",
        "GET /console/draft/{id}/tables",  # these three ask servers
        "GET /console/draft/{id}/columns",
        "POST /console/draft/{id}/assess",
        "POST /console/p/{name}/snapshot",
        "POST /console/p/{name}/snapshot/do/{verb}",
    ),
    Role.ADMIN: (
        "POST /connectors",
        "DELETE /connectors/{name}",
        "PUT /connectors/{name}/config",
        "PATCH /connectors/{name}/config",
        "PATCH /connectors/{name}/offsets",
        "DELETE /connectors/{name}/offsets",
        "POST /connectors/{name}/offsets/rewind",
        "PUT /connector-plugins/{name}/config/validate",
        "GET /audit",
        f"PUT {_OFFSET}",
        "PUT /v3/namespaces/{ns}/apps/{name}",
        "DELETE /v3/namespaces/{ns}/apps/{name}",
        "PUT /v1/contexts/{ns}/drafts/{id}",
        "DELETE /v1/contexts/{ns}/drafts/{id}",
        "POST /v1/contexts/{ns}/drafts/{id}/deploy",
        "POST /console/new",
        "GET /console/p/{name}/rewind",  # asks the source whether it can begin there
        "POST /console/p/{name}/rewind",
        *(
            f"POST /console/draft/{{id}}/{what}"
            for what in ("step/{step}", "tables", "columns", "deploy", "remove")
        ),
        # a configuration in the body could send what its references point to, to a server of its own
        *(f"POST /v1/contexts/{{ns}}/{question}" for question in _QUESTIONS),
    ),
}
ROLES: Final[Mapping[str, Role]] = MappingProxyType(
    {route: role for role, routes in _TABLE.items() for route in routes}
)
VALUES: Final = frozenset(  # routes that show values of rows
    {"GET /connectors/{name}/tables/{table}/events", "GET /console/p/{name}/events"}
)

_PATHS: Final = tuple((route.split()[0], compile_path(route.split()[1])[0], route) for route in ROLES)


def route_of(method: str, path: str) -> str | None:
    """Return the route of the table that a request means, before it is routed; None if there is none."""
    return next((route for one, form, route in _PATHS if one == method and form.match(path)), None)


async def check_role(request: Request) -> None:
    """Refuse what the user may not do; it runs in the chosen route, before the route's own code."""
    permit(f"{request.method} {request.scope['route'].path}", request.scope.get("user"))


def permit(route: str, user: AuthenticatedUser | None) -> None:
    """Raise unless a user may ask a route; without a user, only an open route may be asked."""
    needed = ROLES.get(route)
    if needed is None:
        raise UNLISTED(route=route)
    if needed is Role.OPEN:
        return
    if user is None or user.role < needed:
        raise NOT_ALLOWED(user="nobody" if user is None else user.name, role=needed.name.lower())
    if route in VALUES and not user.data:
        raise NO_VALUES(user=user.name)
