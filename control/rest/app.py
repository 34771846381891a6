"""A worker by REST: errors as Kafka Connect's, and what every address has in common.

    GET /, /health      which version it is, and that it is there
    GET /openapi.json   all of this, described
    the rest            connectors.py, writes.py, plugins.py, requests.py, looks.py

A request goes through `guard.py`, `login.py` and, in its route, `roles.py`.
In: routes, the hosts that it is called by, and who may log in.  Out: an ASGI application, which keeps nothing
itself.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from wrackline.control.rest.answer import Answer, told
from wrackline.control.rest.body import NOT_JSON
from wrackline.control.rest.connectors import BY_FILE
from wrackline.control.rest.crews import NO_CONNECTOR, NO_COORDINATOR, NO_PARTITION, NO_TASK, NOT_STOPPED
from wrackline.control.rest.given import NOT_SETTINGS
from wrackline.control.rest.guard import Guard
from wrackline.control.rest.openapi import document
from wrackline.control.rest.plugins import NO_PLUGIN, OTHER_CLASS
from wrackline.control.rest.positions import NO_OFFSETS, NOT_OFFSETS
from wrackline.control.rest.requests import NO_REQUEST
from wrackline.control.rest.roles import NOT_ALLOWED, UNLISTED, allowed
from wrackline.control.rest.settings import HOSTS
from wrackline.control.rest.writes import BAD_NAME, INVALID, MASKED, NOT_CONNECTOR, OTHER_NAME
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.versions import OURS

_BAD: Final = (
    NOT_SETTINGS,
    OTHER_CLASS,
    NOT_CONNECTOR,
    OTHER_NAME,
    BAD_NAME,
    INVALID,
    MASKED,
    NOT_OFFSETS,
    NO_OFFSETS,
    NOT_STOPPED,
    NO_PARTITION,
)
_STATUS: Final = {
    **dict.fromkeys((NO_CONNECTOR.code, NO_TASK.code, NO_PLUGIN.code, NO_REQUEST.code), 404),
    **dict.fromkeys((one.code for one in _BAD), 400),
    **dict.fromkeys((NOT_ALLOWED.code, UNLISTED.code), 403),
    BY_FILE.code: 405,
    NO_COORDINATOR.code: 409,
    NOT_JSON.code: 415,
}


def app(
    routes: Iterable[APIRouter],
    *,
    hosts: frozenset[str] = HOSTS,
    login: Middleware | None = None,
    within: Sequence[Middleware] = (),
) -> FastAPI:
    """Make the application; `within` comes after the log-in and before the routes."""
    made = FastAPI(
        title="Wrackline",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        default_response_class=Answer,
        dependencies=[Depends(allowed)] if login else [],
        middleware=[Middleware(Guard, hosts=hosts), *([login] if login else []), *within],
    )
    made.add_exception_handler(WracklineError, _wrong)
    made.add_exception_handler(HTTPException, _refused)
    made.add_exception_handler(RequestValidationError, _unreadable)
    made.add_exception_handler(Exception, _refused)

    @made.get("/")
    def root() -> Response:
        """Say what answers here; its pipelines may have several Kafkas, so none is named."""
        return Answer({"version": OURS, "commit": "", "kafka_cluster_id": None})

    @made.get("/health")
    def health() -> Response:
        """Say that it answers."""
        return Answer({"status": "healthy", "message": "the worker answers"})

    @made.get("/openapi.json")
    def described() -> Response:
        """Describe all of this."""
        return Answer(document())

    for one in routes:
        made.include_router(one)
    return made


def _wrong(request: Request, error: Exception) -> Response:
    """Answer with an error of ours."""
    del request
    if not isinstance(error, WracklineError):
        raise error
    return told(_status(error), error.sentence, error.code, error.hint)


def _status(error: WracklineError) -> int:
    if error.code in _STATUS:
        return _STATUS[error.code]
    return 503 if isinstance(error, Transient) else 409


def _unreadable(request: Request, error: Exception) -> Response:
    """Answer to a query that is not what its path takes; what was sent is not sent back."""
    del request, error
    return Answer({"error_code": 400, "message": "HTTP 400 the query is not what this path takes"}, 400)


def _refused(request: Request, error: Exception) -> Response:
    """Answer with an error of the framework's, as of a path that there is not, or with one of no name."""
    del request
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    answer = Answer({"error_code": status, "message": f"HTTP {status} {detail}"}, status)
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})  # such as which methods a path takes
    return answer
