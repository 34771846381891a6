"""Requests that are done once, however often they are sent: those with an Idempotency-Key.

    begun is kept -> the request is done -> its answer is kept -> the same key gets the same answer

In: an application, and what keeps answers.  Out: the same.  It stands behind the hop to a group's
coordinator, so all requests of a group pass here, and what an earlier coordinator kept is known.  A key
belongs to its user and to one path.  An answer that changed nothing (400 to 499) is not kept, so the request
may be corrected and sent again.  Behind 503 the request may have got through: the key stays with it, and a
repeat is done as the same request, which began when the first did.  A request that was begun and has no
answer, because the worker was killed, the request failed or its answer could not be kept, is not done again:
the operator must look.  One for existing rows is, because its id is the same and a task takes an id once.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import orjson
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.access.roles import permit, route_of
from wrackline.control.runtime.rest.model.answer import error_response
from wrackline.control.runtime.rest.model.body import INCOMPLETE, ReplayedBody, body_of
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR
from wrackline.control.runtime.rest.model.kept_answers import MOST_BYTES, KeptAnswer, KeptAnswers
from wrackline.control.runtime.rest.model.sent_settings import MOST
from wrackline.control.runtime.rest.routes.letter_routes import without_values
from wrackline.control.runtime.rest.routes.request_routes import BEGUN_MS
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define

BAD_KEY = define(
    "rest.bad_key",
    Definite,
    "the header Idempotency-Key is not one text of 1 to {most} letters, digits, dots, _, : or -",
    hint="send one, such as a UUID",
)
REUSED = define(
    "rest.key_reused",
    Definite,
    "another request came with this Idempotency-Key before",
    hint="send each request with a key of its own, and only its repeats with the same",
)
UNDER_WAY = define(
    "rest.key_under_way",
    Transient,
    "the request with this Idempotency-Key is being done",
    hint="send it again in some seconds: it gets the answer",
)
UNKNOWN = define(
    "rest.key_unknown",
    OperatorNeeded,
    "the request with this Idempotency-Key was begun at {when}, and its answer is not known",
    hint="look whether it was done (wrackline connectors; by REST: GET /connectors/<name>); if it was not,"
    " send it with a new key",
)
NOT_KEPT = define(
    "rest.answer_not_kept",
    Transient,
    "the answer to a request with an Idempotency-Key is not kept: {why}",
    hint="nobody has to act: its sender gets the answer, and a repeat with its key gets rest.key_unknown, or"
    " is sent with the same id if it is for existing rows",
)

HEADER: Final = "Idempotency-Key"
AGAIN: Final = "Idempotent-Replayed"
_REPLAY: Final = "POST /connectors/{name}/letters/replay"
_BY_ID: Final = "POST /connectors/{name}/requests"  # done once by the task too
ROUTES: Final = frozenset(
    {
        "POST /connectors",
        _BY_ID,
        "POST /connectors/{name}/offsets/rewind",
        "POST /v1/contexts/{ns}/drafts/{id}/deploy",
        _REPLAY,
    }
)
_LONGEST: Final = 200
_STATUS: Final = {
    BAD_KEY.code: 400,
    INCOMPLETE.code: 400,
    REUSED.code: 422,
    UNDER_WAY.code: 409,
    UNKNOWN.code: 409,
}
_STATUS_OF_KEEPING: Final = {NO_COORDINATOR.code: 409}  # then the hop tries again
_DONE: Final = range(200, 300)
_CHANGED_NOTHING: Final = range(400, 500)
_IN_DOUBT: Final = 503


def has_key(scope: Scope) -> bool:
    """Whether a request is to be done once."""
    return (
        scope["type"] == "http"
        and HEADER in Headers(scope=scope)
        and route_of(scope["method"], scope["path"]) in ROUTES
    )


class Once:
    """The application, for requests that were not done yet."""

    def __init__(self, app: ASGIApp, answers: KeptAnswers, tell: Callable[[WracklineError], None]) -> None:
        """Take what keeps answers, and what gets the error of an answer that is not kept."""
        self._app, self._answers, self._tell = app, answers, tell
        self._under_way: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or give the answer that was given before."""
        if not has_key(scope) or not _may(scope):  # the application refuses it
            await self._app(scope, receive, send)
            return
        try:
            body = await body_of(Request(scope, receive), MOST)
            key, request = _key_of(scope), _digest(scope["query_string"], body)
            found = self._known(key, request)
            if found is None or found.status == _IN_DOUBT or _is_by_id(scope, found):
                first = KeptAnswer(now_ms(), request, user=_digest(_user_of(scope).encode()))
                begun = first if found is None else replace(found, status=0)
                await self._do(scope, ReplayedBody(body, receive), send, key, (found, begun))
                return
            if not found.status:
                when = datetime.fromtimestamp(found.at_ms / 1000, UTC)
                raise UNKNOWN(when=when.isoformat(timespec="seconds"))
            answer = _again(found)
        except WracklineError as error:
            status = {**_STATUS, **_STATUS_OF_KEEPING}.get(error.code, 503)
            answer = error_response(status, error.sentence, error.code, error.hint)
        await answer(scope, receive, send)

    def _known(self, key: str, request: str) -> KeptAnswer | None:
        found = self._answers.find_answer(key)
        if found is not None and found.request != request:
            reused = REUSED()
            raise reused
        if key in self._under_way:
            under_way = UNDER_WAY()
            raise under_way
        return found

    async def _do(
        self, scope: Scope, receive: Receive, send: Send, key: str, kept: tuple[KeptAnswer | None, KeptAnswer]
    ) -> None:
        """Do it, and keep its answer; only an error of keeping that it begins prevents that it is done.

        `kept` is what was kept of an earlier try, and what is kept now that it begins.
        """
        before, begun = kept
        said: list[Message] = []

        async def say(message: Message) -> None:
            said.append(message)

        self._under_way.add(key)
        try:
            await run_in_threadpool(self._answers.keep_answer, key, begun)
            await self._app({**scope, BEGUN_MS: begun.at_ms}, receive, say)
            status = said[0]["status"]
            try:
                if status in _DONE:
                    await run_in_threadpool(self._answers.keep_answer, key, _answer_of(scope, said, begun))
                elif status in _CHANGED_NOTHING:
                    await run_in_threadpool(self._answers.keep_answer, key, before)
                elif status == _IN_DOUBT:
                    await run_in_threadpool(self._answers.keep_answer, key, replace(begun, status=status))
            except Exception as exc:  # noqa: BLE001 - it is done, and no repeat of it is: its sender must hear it
                why = exc.sentence if isinstance(exc, WracklineError) else type(exc).__name__
                self._tell(NOT_KEPT(why=why))
        finally:
            self._under_way.discard(key)
        for message in said:
            await send(message)


def _is_by_id(scope: Scope, found: KeptAnswer) -> bool:
    """Whether a request without an answer can be done again, because its task takes its id once."""
    return not found.status and route_of(scope["method"], scope["path"]) == _BY_ID


def _may(scope: Scope) -> bool:
    route = route_of(scope["method"], scope["path"])
    try:
        if "user" in scope and route is not None:
            permit(route, scope["user"])
    except WracklineError:
        return False
    return True


def _key_of(scope: Scope) -> str:
    given = Headers(scope=scope).getlist(HEADER)
    plain = given[0].replace("_", "").replace("-", "").replace(".", "").replace(":", "")
    if len(given) != 1 or not 0 < len(given[0]) <= _LONGEST or not (plain.isascii() and plain.isalnum()):
        raise BAD_KEY(most=_LONGEST)
    return _digest(*(one.encode() for one in (_user_of(scope), scope["method"], scope["path"], given[0])))


def _user_of(scope: Scope) -> str:
    user = scope.get("user")
    return "" if user is None else str(user.name)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(b"%d:%b" % (len(one), one) for one in parts)).hexdigest()


def _answer_of(scope: Scope, said: list[Message], begun: KeptAnswer) -> KeptAnswer:
    body = b"".join(message.get("body", b"") for message in said)
    if route_of(scope["method"], scope["path"]) == _REPLAY:
        body = orjson.dumps(without_values(orjson.loads(body)))
    if len(body) > MOST_BYTES:
        body = orjson.dumps({"left_out": f"the first answer had {len(body):,} bytes"})
    location = Headers(raw=said[0]["headers"]).get("location", "")
    return replace(begun, at_ms=now_ms(), status=said[0]["status"], location=location, body=body.decode())


def _again(found: KeptAnswer) -> Response:
    more: Mapping[str, str] = {"location": found.location} if found.location else {}
    body = found.body or None
    return Response(
        body, found.status, {**more, AGAIN: "true"}, media_type="application/json" if body else None
    )
