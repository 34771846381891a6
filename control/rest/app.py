"""Requests for existing rows by REST, and their receipts; errors as Kafka Connect's.

    POST /connectors/{name}/requests          a signal as Debezium writes it: {"id", "type", "data"}
    GET  /connectors/{name}/requests[/{id}]   where requests stand, a receipt for each database

In: desks by the pipelines' names.  Out: an ASGI application.  It keeps nothing itself: a request that is
answered with 202 is in the topic of signals, and receipts are read from Kafka each time.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Protocol

import orjson
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from wrackline.schemas import signals
from wrackline.schemas.errors import Definite, Transient, WracklineError, define

HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")  # a page from elsewhere can't name itself so

NO_CONNECTOR = define(
    "rest.no_connector",
    Definite,
    "this worker runs no connector {name}",
    hint="those that this worker runs: GET /connectors",
)
NO_REQUEST = define(
    "rest.no_request",
    Definite,
    "no request {id} is known",
    hint="one that was just sent is known once the pipeline's task has taken it up: ask again",
)
NOT_JSON = define(
    "rest.not_json",
    Definite,
    "the request's body is {given}, not application/json",
    hint="send it with the header Content-Type: application/json",
)


_STATUS: Final = {NO_CONNECTOR.code: 404, NO_REQUEST.code: 404, NOT_JSON.code: 415}


class Desk(Protocol):
    """One pipeline's requests; calls may wait for Kafka."""

    def send(self, body: bytes) -> None:
        """Send a signal that was found good."""
        ...

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        """Where each request stands, oldest first."""
        ...


class _Answer(Response):
    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return orjson.dumps(content)


def app(desks: Mapping[str, Desk]) -> FastAPI:
    """Make the application."""
    made = FastAPI(title="Wrackline", docs_url=None, redoc_url=None, default_response_class=_Answer)
    made.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS))
    made.add_exception_handler(WracklineError, _wrong)
    made.add_exception_handler(HTTPException, _refused)
    made.add_exception_handler(Exception, _refused)

    def desk_of(name: str) -> Desk:
        if name not in desks:
            raise NO_CONNECTOR(name=name)
        return desks[name]

    @made.get("/connectors")
    def connectors() -> Response:
        """Name the pipelines."""
        return _Answer(sorted(desks))

    @made.post("/connectors/{name}/requests", status_code=202)
    async def ask(name: str, request: Request) -> Response:
        """Take a request."""
        desk = desk_of(name)
        given = request.headers.get("content-type", "of no type").partition(";")[0].strip().lower()
        if given != "application/json":
            raise NOT_JSON(given=given)
        body = await _body(request)
        read = signals.parse_message(body, str(uuid.uuid4()))
        if isinstance(read, signals.Rejected):
            status = 413 if read.reason.code == signals.TOO_LARGE.code else 400
            return _told(status, read.reason.sentence, read.reason.code, read.reason.hint)
        await run_in_threadpool(desk.send, orjson.dumps({**orjson.loads(body), "id": read.signal.id}))
        return _taken(read)

    @made.get("/connectors/{name}/requests")
    def every(name: str) -> Response:
        """Say where all requests stand."""
        return _Answer({"requests": desk_of(name).receipts()})

    @made.get("/connectors/{name}/requests/{id:path}")  # the worker's own ids hold slashes
    def one(name: str, id: str) -> Response:  # noqa: A002 - as the path calls it
        """Say where one request stands."""
        found = [receipt for receipt in desk_of(name).receipts() if receipt["id"] == id]
        if not found:
            raise NO_REQUEST(id=id)
        return _Answer({"id": id, "receipts": found})

    return made


async def _body(request: Request) -> bytes:
    """Take the body, up to the first byte too many: the parser then says so.

    Who hangs up before its end has asked nothing, and hears no answer.
    """
    taken = bytearray()
    try:
        async for piece in request.stream():
            taken += piece
            if len(taken) > signals.SIZE_MAX:
                break
    except ClientDisconnect:
        return b""
    return bytes(taken)


def _taken(read: signals.Accepted) -> Response:
    warning = {} if read.warning is None else {"warning": asdict(read.warning)}
    return _Answer({"id": read.signal.id, **warning}, 202)


def _wrong(request: Request, error: Exception) -> Response:
    """Answer with an error of ours."""
    del request
    if not isinstance(error, WracklineError):
        raise error
    return _told(_status(error), error.sentence, error.code, error.hint)


def _told(status: int, sentence: str, code: str, hint: str) -> Response:
    return _Answer({"error_code": status, "message": sentence, "code": code, "hint": hint}, status)


def _status(error: WracklineError) -> int:
    if error.code in _STATUS:
        return _STATUS[error.code]
    return 503 if isinstance(error, Transient) else 409


def _refused(request: Request, error: Exception) -> Response:
    """Answer with an error of the framework's, as of a path that there is not, or with one of no name."""
    del request
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    return _Answer({"error_code": status, "message": f"HTTP {status} {detail}"}, status)
