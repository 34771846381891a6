"""Who is heard: requests for this machine by its own name, and from no page of another site.

A page that a browser shows may send here whatever it likes.  One whose name was made to mean 127.0.0.1 is
told apart by `Host`; one that only sends, without reading the answer, by `Origin`, which a browser says.
In: an application.  Out: the same, behind the two checks.
"""

import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from wrackline.control.rest.answer import told
from wrackline.schemas.errors import Definite, WracklineError, define

HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})

OTHER_HOST = define(
    "rest.other_host",
    Definite,
    "the request is for another host than this one",
    hint="ask 127.0.0.1 or localhost, at the port that the worker printed",
)
OTHER_ORIGIN = define(
    "rest.other_origin",
    Definite,
    "the request comes from a page of another site",
    hint="ask from this machine, without the header Origin",
)
_STATUS: Final = {OTHER_HOST.code: 400, OTHER_ORIGIN.code: 403}
_HOST = re.compile(r"(?P<host>\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?", re.IGNORECASE)


class Guard:
    """The application, for those who may be heard."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        refused = _refused(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        answer = told(_STATUS[refused.code], refused.sentence, refused.code, refused.hint)
        await answer(scope, receive, send)


def _refused(headers: Headers) -> WracklineError | None:
    if not _ours(headers.get("host", "")):
        return OTHER_HOST()
    scheme, _, host = headers.get("origin", "http://localhost").partition("://")
    return None if scheme in ("http", "https") and _ours(host) else OTHER_ORIGIN()


def _ours(named: str) -> bool:
    found = _HOST.fullmatch(named)
    return found is not None and found["host"].lower() in HOSTS
