"""The worker's REST as OpenAPI 3.1 describes it: committed as docs/openapi.json, served as /openapi.json.

In: `route_descriptions.py`, `json_schemas.py`, `roles.py`.  Out: the document.  Each route says its role as
`x-wrackline-role`, and how to log in, unless it is open; a worker without users asks nobody to log in.
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from wrackline.control.runtime.rest.access.roles import ROLES, Role
from wrackline.control.runtime.rest.describe.json_schemas import SCHEMAS
from wrackline.control.runtime.rest.describe.route_descriptions import ROUTES, RouteDescription
from wrackline.schemas.versions import OURS

_LOGIN: Final[list[dict[str, list[str]]]] = [{"basic": []}, {"token": []}]
_REFUSALS: Final = (401, 403, 429)  # of the log-in
_ELSEWHERE: Final = (409, 504)  # of what a group's coordinator does: it is being chosen, or does not answer
_MAY_BE_ELSEWHERE: Final = ("/connectors", "/v1/", "/v3/")
_ALWAYS: Final = (500, 503)
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::path)?\}")


def document() -> dict[str, Any]:
    """Return it."""
    paths: dict[str, dict[str, Any]] = {}
    for route, described in ROUTES.items():
        method, path = route.split()
        paths.setdefault(_PLACEHOLDER.sub(r"{\1}", path), {})[method.lower()] = _operation(route, described)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Wrackline",
            "version": OURS,
            "summary": "A worker's REST: that of Kafka Connect, and requests for existing rows",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "responses": {"Error": _answer("An error", "Error")},
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": _LOGIN,
    }


def _operation(route: str, described: RouteDescription) -> dict[str, Any]:
    method, path = route.split()
    role = ROLES[route]
    words = [word for word in re.split(r"[^A-Za-z]+", path) if word not in ("", "path")]
    statuses = {
        *described.errors,
        *(() if role is Role.OPEN else _REFUSALS),
        *((404,) if "{" in path else ()),
        *(_ELSEWHERE if method != "GET" and path.startswith(_MAY_BE_ELSEWHERE) else ()),
        *_ALWAYS,
    }
    made = {
        "operationId": "_".join([method.lower(), *words]),
        "summary": described.summary,
        "x-wrackline-role": role.name.lower(),
        "parameters": [*_parameters(path, described.query)],
        "responses": {
            **{str(status): _answer(_phrase(status), name) for status, name in described.answers.items()},
            **{str(status): {"$ref": "#/components/responses/Error"} for status in sorted(statuses)},
        },
    }
    if described.body is not None:
        made["requestBody"] = {"required": True, "content": _json(described.body)}
    if role is Role.OPEN:
        made["security"] = []
    return made


def _parameters(path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in _PLACEHOLDER.findall(path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name, schema in query.items():
        yield {"name": name, "in": "query", "schema": schema}


def _answer(phrase: str, name: str | None) -> dict[str, Any]:
    return {"description": phrase, **({"content": _json(name)} if name else {})}


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase
