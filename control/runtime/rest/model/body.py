"""A request's body: its declared type, its bytes up to a bound, and a body that is read a second time."""

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.redaction import shown_name

NOT_JSON = define(
    "rest.not_json",
    Definite,
    "the request's body is {given}, not application/json",
    hint="send it with the header Content-Type: application/json",
)
INCOMPLETE = define(
    "rest.incomplete",
    Definite,
    "the request ended before its body was whole, so nothing was done",
    hint="send it again",
)


async def json_of(request: Request, most: int) -> bytes:
    """Take the body if it is declared as JSON, which a page of another site can't do without permission."""
    said = request.headers.get("content-type", "of no type").partition(";")[0].strip().lower()
    if said != "application/json":
        raise NOT_JSON(given=shown_name(said))
    return await body_of(request, most)


async def body_of(request: Request, most: int) -> bytes:
    """Take the body, up to the piece that makes it too large: its reader then reports that.

    A client that hangs up before its end has asked nothing: without its body, it may mean something else.
    """
    taken = bytearray()
    try:
        async for piece in request.stream():
            taken += piece
            if len(taken) > most:
                break
    except ClientDisconnect:
        incomplete = INCOMPLETE()
        raise incomplete from None
    return bytes(taken)


class ReplayedBody:
    """What an application receives: a body that was read before, then what comes later."""

    def __init__(self, body: bytes, then: Receive) -> None:
        self._body: bytes | None = body
        self._then = then

    async def __call__(self) -> Message:
        """Return the body first."""
        if self._body is None:
            return await self._then()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
