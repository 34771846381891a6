"""A worker by REST: errors as Kafka Connect's, and what every address has in common.

    GET /, /health      which version it is, and that it is there
    GET /openapi.json   all of this, described
    the rest            the files of routes/

A request goes through `guard.py`, `login.py` and, in its route, `roles.py`.
In: routes, the hosts that it is called by, and the log-in.  Out: an ASGI application, which keeps nothing
itself.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from wrackline.control.runtime.events.event_looks import BAD_START
from wrackline.control.runtime.events.topic_choice import NO_TOPIC
from wrackline.control.runtime.ground.revision import commit
from wrackline.control.runtime.rest.access.guard import Guard
from wrackline.control.runtime.rest.access.login import is_page
from wrackline.control.runtime.rest.access.roles import (
    NO_VALUES,
    NOT_ALLOWED,
    UNLISTED,
    check_role,
    route_of,
)
from wrackline.control.runtime.rest.contexts.context_routes import NO_GENERATION
from wrackline.control.runtime.rest.contexts.namespaces import NO_NAMESPACE
from wrackline.control.runtime.rest.describe.openapi import document
from wrackline.control.runtime.rest.model.answer import Answer, error_response
from wrackline.control.runtime.rest.model.body import INCOMPLETE, NOT_JSON
from wrackline.control.runtime.rest.model.connectors import (
    NO_CONNECTOR,
    NO_COORDINATOR,
    NO_PARTITION,
    NO_TASK,
    NOT_STOPPED,
    SOME_REMOVED,
)
from wrackline.control.runtime.rest.model.drafts import (
    BAD_ID,
    CHANGED,
    NO_DRAFT,
    NOT_DRAFT,
    TYPED_SECRET,
)
from wrackline.control.runtime.rest.model.drafts import MASKED as STARS_IN_DRAFT
from wrackline.control.runtime.rest.model.drafts import TOO_LARGE as LARGE_DRAFT
from wrackline.control.runtime.rest.model.sent_positions import NO_OFFSETS, NOT_OFFSETS
from wrackline.control.runtime.rest.model.sent_settings import NOT_SETTINGS
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.control.runtime.rest.routes.offset_routes import NOT_REWIND
from wrackline.control.runtime.rest.routes.plugin_routes import NO_PLUGIN, OTHER_CLASS
from wrackline.control.runtime.rest.routes.request_routes import NO_REQUEST
from wrackline.control.runtime.rest.routes.table_routes import NO_TABLE
from wrackline.control.runtime.rest.routes.write_routes import (
    BAD_NAME,
    INVALID,
    MASKED,
    NOT_CONNECTOR,
    OTHER_NAME,
)
from wrackline.control.runtime.rest.server.rest_settings import HOSTS
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
    SOME_REMOVED,
    NOT_REWIND,
    BAD_ID,
    NOT_DRAFT,
    TYPED_SECRET,
    STARS_IN_DRAFT,
    BAD_START,
    INCOMPLETE,
)
_MISSING: Final = (
    NO_CONNECTOR,
    NO_TASK,
    NO_PLUGIN,
    NO_REQUEST,
    NO_TABLE,
    NO_NAMESPACE,
    NO_GENERATION,
    NO_DRAFT,
    NO_TOPIC,
)
_NO_SUCH: Final = (404, 405)
_PATHS: Final = "the paths that there are, with their methods: GET /openapi.json"
_STATUS: Final = {
    **dict.fromkeys((one.code for one in _MISSING), 404),
    **dict.fromkeys((one.code for one in _BAD), 400),
    **dict.fromkeys((NOT_ALLOWED.code, NO_VALUES.code, UNLISTED.code), 403),
    BY_FILE.code: 405,
    NO_COORDINATOR.code: 409,
    CHANGED.code: 412,
    LARGE_DRAFT.code: 413,
    NOT_JSON.code: 415,
}


ShowNoPage = Callable[[Request, int], Response]


class MoreRoutes(NamedTuple):
    """Routes of other rooms, and what makes the console's page for addresses that have no route."""

    routes: Sequence[APIRouter]
    no_page: ShowNoPage


def make_app(
    routes: Iterable[APIRouter],
    *,
    hosts: frozenset[str] = HOSTS,
    login: Middleware | None = None,
    within: Sequence[Middleware] = (),
    cluster: str | None = None,
    no_page: ShowNoPage | None = None,
) -> FastAPI:
    """Make the application; `within` comes after the log-in and before the routes.

    `no_page` answers at an address of the console that has no route, or not for this method.
    `cluster` is the id of a group's Kafka; pipelines of files may have several Kafkas, so they name none.
    """
    made = FastAPI(
        title="Wrackline",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Answer,
        dependencies=[Depends(check_role)] if login else [],
        middleware=[Middleware(Guard, hosts=hosts), *([login] if login else []), *within],
    )
    made.add_exception_handler(WracklineError, _our_error)
    made.add_exception_handler(HTTPException, _framework_error)
    for status in _NO_SUCH:
        made.add_exception_handler(status, partial(_no_route, no_page))
    made.add_exception_handler(RequestValidationError, _query_error)
    made.add_exception_handler(Exception, _framework_error)

    @made.get("/")
    def root() -> Response:
        """Report what answers here."""
        return Answer({"version": OURS, "commit": commit(), "kafka_cluster_id": cluster})

    @made.get("/health")
    async def health() -> Response:
        """Report that it answers."""
        return Answer({"status": "healthy", "message": "the worker answers"})

    @made.get("/openapi.json")
    def described() -> Response:
        """Describe all of this."""
        return Answer(document())

    for one in routes:
        made.include_router(one)
    return made


def _our_error(request: Request, error: Exception) -> Response:
    """Answer with an error of ours."""
    del request
    if not isinstance(error, WracklineError):
        raise error
    return error_response(_status(error), error.sentence, error.code, error.hint)


def _status(error: WracklineError) -> int:
    if error.code in _STATUS:
        return _STATUS[error.code]
    return 503 if isinstance(error, Transient) else 409


def _query_error(request: Request, error: Exception) -> Response:
    """Answer to a query that is not what its path takes; what was sent is not sent back."""
    del request, error
    return Answer({"error_code": 400, "message": "HTTP 400 the query is not what this path takes"}, 400)


def _no_route(no_page: ShowNoPage | None, request: Request, error: Exception) -> Response:
    """Answer at an address that has no route, or not for this method; one with a / too many leads to it."""
    asked, query = request.scope["path"], request.url.query
    path = asked.rstrip("/")
    if path != asked and route_of(request.method, path) is not None:
        # without the host: only a proxy may know how a browser reaches this worker
        return RedirectResponse(quote(path) + (f"?{query}" if query else ""))
    if no_page is None or not is_page(request.scope) or not isinstance(error, HTTPException):
        return _framework_error(request, error)
    answer = no_page(request, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def _framework_error(request: Request, error: Exception) -> Response:
    """Answer with an error of the framework's, as of a path that there is not, or with one of no name."""
    del request
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    hint = {} if status not in _NO_SUCH else {"hint": _PATHS}
    answer = Answer({"error_code": status, "message": f"HTTP {status} {detail}", **hint}, status)
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})  # such as which methods a path takes
    return answer
