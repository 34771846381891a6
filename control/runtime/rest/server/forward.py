"""Sends writes to the group's coordinator, which does them; a client may ask any worker.

In: an application, and what knows where the coordinator is.  Out: the same, behind one hop.  A request that
came over that hop is never forwarded again: two workers that take each other for the coordinator would send
it to and fro.  While there is no coordinator, it waits for one for a while.  The request sends only the
method, the path, the body with its type, conditions and Idempotency-Key, and the credentials (Authorization,
for pages Cookie).  The answer is passed on as it is; a redirect is not followed.  If users log in, the role
is checked here before anything is sent: the coordinator may have another file of users, and the request
contains the caller's password.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import h11
from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wrackline.control.runtime.rest.access.roles import NOT_ALLOWED, permit, route_of
from wrackline.control.runtime.rest.model.answer import error_response
from wrackline.control.runtime.rest.model.body import INCOMPLETE, ReplayedBody, body_of
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR
from wrackline.control.runtime.rest.model.sent_settings import MOST
from wrackline.control.runtime.rest.server.once import AGAIN, HEADER, has_key
from wrackline.schemas.errors import Definite, Transient, WracklineError, define

AWAY = define(
    "rest.coordinator_away",
    Transient,
    "the coordinator, {place}, can't be reached: {why}",
    hint="ask again in some seconds: when it is gone, the group chooses another",
)
NO_ANSWER = define(
    "rest.no_answer",
    Transient,
    "the coordinator, {place}, received the request and did not answer: {why}",
    hint="look whether it was done (wrackline connectors; by REST: GET /connectors/<name>), then ask again",
)
TOO_LARGE = define(
    "rest.too_large",
    Definite,
    "the request's body is larger than {most} bytes",
    hint="send less at once",
)

MARK: Final = "X-Wrackline-Forwarded"
_STATUS: Final = {
    NO_ANSWER.code: 504,
    TOO_LARGE.code: 413,
    INCOMPLETE.code: 400,
    NOT_ALLOWED.code: 403,
}  # others: 409, as Connect answers while it rebalances
_WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")
_OF_LETTERS: Final = re.compile(r"/(?:connectors|console/p)/[^/]+/letters(?:/|$)")
_PAGES: Final = ("/console/p/", "/console/new", "/console/draft/")
_FORWARDED: Final = ("/connectors/", *_PAGES, "/v1/contexts/", "/v3/namespaces/")
_READ: Final = (  # a POST that changes nothing
    *("/getState", "/listTables", "/describeTable", "/assessPipeline", "/assessTable"),
)
_PORTS: Final = {"http": 80, "https": 443}
_SENT: Final = ("content-type", "authorization", "if-match", "if-none-match", HEADER.lower())
_SENT_OF_A_PAGE: Final = (*_SENT, "cookie")
_PASSED: Final = (
    *("content-type", "allow", "www-authenticate", "retry-after", "etag", AGAIN.lower()),
    *("content-security-policy", "x-content-type-options", "referrer-policy", "cache-control"),  # of a page
)
_CONNECT_S: Final = 5.0
_LOOK_S: Final = 0.5  # between two checks that it is still the coordinator
_ANSWER_S: Final = 90.0  # Connect's; removing positions waits for Kafka
_CHOOSING_S: Final = 30.0  # for a new coordinator; a killed one is noticed after its session, 6 by default
_AGAIN_S: Final = 0.2
_PASS: Final = (NO_COORDINATOR.code, AWAY.code)  # errors that pass by themselves, before anything was done
_MOST_ANSWER: Final = 4 << 20  # bytes


@dataclass(frozen=True, slots=True)
class CoordinatorAnswer:
    """The coordinator's answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Forward:
    """The application, for requests that are handled here."""

    def __init__(self, app: ASGIApp, elsewhere: Callable[[], str | None], tls: SSLContext | None) -> None:
        """Take what knows the address, and how a coordinator's TLS is checked; with it, TLS is required."""
        self._app, self._elsewhere, self._tls = app, elsewhere, tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or forward to the coordinator; while there is none, wait for one."""
        if scope["type"] != "http" or not (has_key(scope) or _writes(scope["method"], scope["path"])):
            await self._app(scope, receive, send)
            return
        route = route_of(scope["method"], scope["path"])
        if route is None:  # the application answers that
            await self._app(scope, receive, send)
            return
        request, deadline = _WholeRequest(scope, receive), time.monotonic() + _CHOOSING_S
        while True:
            try:
                if "user" in scope:
                    permit(route, scope["user"])
                url = self._elsewhere()
                answer = await (self._done(scope, request) if url is None else self._ask(request, url))
            except WracklineError as error:
                answer = error_response(_STATUS.get(error.code, 409), error.sentence, error.code, error.hint)
                if error.code not in _PASS or MARK in request.headers or time.monotonic() > deadline:
                    break
                await asyncio.sleep(_AGAIN_S)
            else:
                break
        await answer(scope, receive, send)

    async def _done(self, scope: Scope, request: "_WholeRequest") -> ASGIApp:
        """Do it here, and hold the answer until it is known that it was done."""
        said: list[Message] = []

        async def say(message: Message) -> None:
            said.append(message)

        await self._app(scope, ReplayedBody(await request.whole(), request.receive), say)
        body = b"".join(message.get("body", b"") for message in said)
        _pass_on_undone(said[0]["status"], body)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            del scope, receive
            for message in said:
                await send(message)

        return answer

    async def _ask(self, request: "_WholeRequest", url: str) -> ASGIApp:
        if MARK in request.headers:
            unknown = NO_COORDINATOR()
            raise unknown
        body = await request.whole()
        if len(body) > MOST:
            raise TOO_LARGE(most=MOST)
        place = _place(url, self._tls)
        exchange = _exchange(place, _write_request(request, place.netloc, body), self._tls)
        heard = await self._while_it_is(url, place, exchange)
        passed = {name: heard.headers[name] for name in _PASSED if name in heard.headers}
        _pass_on_undone(heard.status, heard.body)
        made = _path(heard.headers.get("location", ""))
        return Response(heard.body, heard.status, {**passed, **({"location": made} if made else {})})

    async def _while_it_is(
        self, url: str, place: SplitResult, exchange: Coroutine[Any, Any, CoordinatorAnswer]
    ) -> CoordinatorAnswer:
        """Wait for its answer while it is the coordinator: a frozen one gives none."""
        asking = asyncio.create_task(exchange)
        try:
            while not asking.done():
                await asyncio.wait([asking], timeout=_LOOK_S)
                if not asking.done() and not self._is_still(url):
                    raise NO_ANSWER(place=place.netloc, why="another does it now")
            return asking.result()
        finally:
            asking.cancel()

    def _is_still(self, url: str) -> bool:
        try:
            return self._elsewhere() == url
        except WracklineError:  # while the group chooses another, it may still answer
            return True


class _WholeRequest(Request):
    """A request whose body is read once, and may be passed on several times."""

    _whole: bytes | None = None

    async def whole(self) -> bytes:
        """Read the body, once."""
        if self._whole is None:
            self._whole = await body_of(self, MOST)
        return self._whole


def _pass_on_undone(status: int, body: bytes) -> None:
    """Raise the error that leads to a retry, if nothing was done because the coordinator has just changed."""
    if status == 409 and NO_COORDINATOR.code.encode() in body:
        unknown = NO_COORDINATOR()
        raise unknown


def _writes(method: str, path: str) -> bool:
    """Whether the coordinator does it; work on letters takes only the settings, so any worker does it."""
    if _OF_LETTERS.match(path) is not None:
        return False
    if method not in _WRITES or (method == "POST" and path.endswith(_READ)):
        return False
    return path == "/connectors" or path.startswith(_FORWARDED)


def _place(url: str, tls: SSLContext | None) -> SplitResult:
    """Split the coordinator's address; an address with a name and password, or without TLS, is refused."""
    try:
        place = urlsplit(url)
        good = url.isascii() and place.scheme in _PORTS and place.hostname and "@" not in place.netloc
        good = good and place.port != 0  # or it raises
    except ValueError:
        good = False
    if not good:
        raise AWAY(place="(unknown)", why="what it says of itself is not an http or https address")
    if tls is not None and place.scheme != "https":
        raise AWAY(place=place.netloc, why="it does not offer TLS, as this worker does")
    return place


def _write_request(request: Request, host: str, body: bytes) -> tuple[h11.Connection, bytes]:
    """Write the request for the coordinator, with the path as it came."""
    query: bytes = request.scope["query_string"]
    target: bytes = request.scope["raw_path"] + (b"?" + query if query else b"")
    names = _SENT_OF_A_PAGE if request.url.path.startswith(_PAGES) else _SENT
    given = {name: request.headers[name] for name in names if name in request.headers}
    own = {"host": host, "content-length": str(len(body)), MARK: "1", "connection": "close"}
    headers = [(name.encode(), value.encode("latin-1")) for name, value in {**given, **own}.items()]
    asked = h11.Connection(h11.CLIENT)
    pieces = (
        h11.Request(method=request.method, target=target, headers=headers),
        h11.Data(body),
        h11.EndOfMessage(),
    )
    return asked, b"".join(asked.send(piece) or b"" for piece in pieces)


async def _exchange(
    place: SplitResult, written: tuple[h11.Connection, bytes], tls: SSLContext | None
) -> CoordinatorAnswer:
    asked, sent = written
    async with _connect(place, tls) as (reader, writer):
        try:
            async with asyncio.timeout(_ANSWER_S):
                writer.write(sent)
                return await _read_answer(asked, reader)
        except TimeoutError:
            raise NO_ANSWER(place=place.netloc, why=f"none within {_ANSWER_S:.0f} s") from None
        except (OSError, h11.RemoteProtocolError) as error:
            raise NO_ANSWER(place=place.netloc, why=type(error).__name__) from error


@asynccontextmanager
async def _connect(
    place: SplitResult, tls: SSLContext | None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    secured = (tls or True) if place.scheme == "https" else None
    port = place.port or _PORTS[place.scheme]
    try:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection(place.hostname, port, ssl=secured)
    except (OSError, UnicodeError) as error:  # a name that can't be a host's raises the latter
        raise AWAY(place=place.netloc, why=type(error).__name__) from error
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _read_answer(asked: h11.Connection, reader: asyncio.StreamReader) -> CoordinatorAnswer:
    """Read one answer, up to a bound."""
    head, body = h11.Response(status_code=500, headers=[]), bytearray()
    while len(body) <= _MOST_ANSWER:
        match asked.next_event():
            case h11.NEED_DATA:
                asked.receive_data(await reader.read(1 << 16))
            case h11.Response() as head:
                pass
            case h11.Data() as piece:
                body += piece.data
            case h11.EndOfMessage():
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
                return CoordinatorAnswer(head.status_code, headers, bytes(body))
            case h11.ConnectionClosed():
                raise h11.RemoteProtocolError("it hung up")
            case _:
                pass
    raise h11.RemoteProtocolError(f"more than {_MOST_ANSWER} bytes")


def _path(location: str) -> str:
    """Return a path to a connector or a page, which is valid at any worker; others are left out."""
    try:
        _, _, path, query, _ = urlsplit(location)
    except ValueError:
        return ""
    if path.startswith("/console/"):
        return f"{path}?{query}" if query else path
    return path if _writes("POST", path) else ""
