"""A request's body, up to a bound."""

from fastapi import Request
from starlette.requests import ClientDisconnect


async def body_of(request: Request, most: int) -> bytes:
    """Take the body, up to the piece that makes it too large: whoever reads it then says so.

    Who hangs up before its end has asked nothing, and hears no answer.
    """
    taken = bytearray()
    try:
        async for piece in request.stream():
            taken += piece
            if len(taken) > most:
                break
    except ClientDisconnect:
        return b""
    return bytes(taken)
