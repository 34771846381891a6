"""Requests for existing rows by REST, and their receipts.

    POST /connectors/{name}/requests          a signal as Debezium writes it: {"id", "type", "data"}
    GET  /connectors/{name}/requests[/{id}]   the states of requests, a receipt for each database

In: desks by the pipelines' names.  Out: routes.  Nothing is kept here: a request that is answered with 202 is
in the topic of signals, and receipts are read from Kafka each time.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Protocol

import orjson
from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from wrackline.control.runtime.rest.model.answer import Answer, error_response
from wrackline.control.runtime.rest.model.body import json_of
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.rest.routes.answer_cache import SlowReads
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka import signals
from wrackline.schemas.redaction import shown_name

NO_REQUEST = define(
    "rest.no_request",
    Definite,
    "no request {id} is known",
    hint="one that was just sent is known once the pipeline's task has taken it up: ask again",
)

_SENDS: Final = 64  # requests that may wait for Kafka: a script sends one for each of its tables at once
BEGUN_MS: Final = "wrackline.begun_ms"  # in a scope: when the first request with its key began
_DAY_MS: Final = 86_400_000
_DIGITS: Final = 16  # of the digest in an id


class RequestsService(Protocol):
    """One pipeline's requests; calls may wait for Kafka."""

    def send(self, body: bytes) -> None:
        """Send a signal that was found good."""
        ...

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        """Return each request's state, oldest first."""
        ...


def routes(desks: Mapping[str, RequestsService]) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}/requests", default_response_class=Answer)
    slow, sends = SlowReads(), SlowReads(_SENDS)

    def desk_of(name: str) -> RequestsService:
        if name not in desks:
            raise NO_CONNECTOR(name=shown_name(name))
        return desks[name]

    @made.post("", status_code=202)
    async def ask(name: str, request: Request) -> Response:
        """Take a request."""
        desk = desk_of(name)
        body = await json_of(request, signals.SIZE_MAX)
        key, user = request.headers.get("idempotency-key"), request.scope.get("user")
        begun_ms, by = request.scope.get(BEGUN_MS), "" if user is None else user.name
        own = id_of(key, name, by, body, begun_ms) if key and begun_ms else str(uuid.uuid4())
        read = await run_in_threadpool(signals.parse_message, body, own)
        if isinstance(read, signals.RejectedSignal):
            status = 413 if read.reason.code == signals.TOO_LARGE.code else 400
            return error_response(status, read.reason.sentence, read.reason.code, read.reason.hint)
        try:
            sent = orjson.dumps({**orjson.loads(body), "id": read.signal.id})
        except orjson.JSONEncodeError:  # it reads what is nested deeper than it writes
            deep = signals.NOT_JSON(part="data")
            return error_response(400, deep.sentence, deep.code, deep.hint)
        await sends.ask(desk.send, sent)
        return _accepted(read)

    @made.get("")
    async def every(name: str) -> Response:
        """Return the states of all requests."""
        return Answer({"requests": await slow.ask(desk_of(name).receipts)})

    @made.get("/{id:path}")  # the worker's own ids hold slashes
    async def one(name: str, id: str) -> Response:  # noqa: A002 - as the path calls it
        """Return the state of one request."""
        receipts = await slow.ask(desk_of(name).receipts)
        found = [receipt for receipt in receipts if receipt["id"] == id]
        if not found:
            raise NO_REQUEST(id=shown_name(id))
        return Answer({"id": id, "receipts": found})

    return made


def id_of(key: str, connector: str, user: str, body: bytes, at_ms: int) -> str:
    """Return the id of a request that came with an Idempotency-Key.

    A task takes an id once for ever, and a key belongs to its user and its request for a day from `at_ms` on,
    when the first request with it began: the same key may come again later for something else.
    """
    parts = (connector.encode(), user.encode(), body, b"%d" % (at_ms // _DAY_MS))
    digest = hashlib.sha256(b"".join(b"%d:%b" % (len(one), one) for one in parts)).hexdigest()
    return f"{key}-{digest[:_DIGITS]}"


def _accepted(read: signals.AcceptedSignal) -> Response:
    warning = {} if read.warning is None else {"warning": asdict(read.warning)}
    return Answer({"id": read.signal.id, **warning}, 202)
