"""Requests that are let in: those for one of this worker's own names, and from no page of another site.

A page in a browser may send anything to this worker.  `Host` exposes a page whose name was made to mean
127.0.0.1.  `Origin`, which a browser sets, exposes a page that only sends and does not read the answer.
A page of another port of this machine is a page of another site too.
In: an application, and the hosts that it is called by.  Out: the same, behind the two checks.
"""

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from wrackline.control.runtime.rest.model.answer import error_response
from wrackline.schemas.errors import Definite, WracklineError, define

OTHER_HOST = define(
    "rest.other_host",
    Definite,
    "the request is for another host than this one",
    hint="ask the address that the worker printed, or name yours to it: --rest-name <host>",
)
OTHER_ORIGIN = define(
    "rest.other_origin",
    Definite,
    "the request comes from a page of another site",
    hint="ask without the header Origin, or from a page of this worker's own host",
)
_PORTS: Final = {"http": 80, "https": 443}
_STATUS: Final = {OTHER_HOST.code: 400, OTHER_ORIGIN.code: 403}
_HOST = re.compile(r"(?P<host>\[[0-9a-f:]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE)


class Guard:
    """The application, for requests that are let in."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        refused = self._refused(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        answer = error_response(_STATUS[refused.code], refused.sentence, refused.code, refused.hint)
        await answer(scope, receive, send)

    def _refused(self, headers: Headers) -> WracklineError | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) > 1 or not self._ours("".join(hosts)):
            return OTHER_HOST()
        for origin in origins:
            scheme, _, host = origin.partition("://")
            port = _PORTS.get(scheme)
            if port is None or not self._ours(host) or _port(host, port) != _port(hosts[0], port):
                return OTHER_ORIGIN()
        return None

    def _ours(self, named: str) -> bool:
        found = _HOST.fullmatch(named)
        return found is not None and found["host"].lower() in self._hosts


def _port(named: str, default: int) -> int:
    found = _HOST.fullmatch(named)
    return default if found is None or found["port"] is None else int(found["port"])
