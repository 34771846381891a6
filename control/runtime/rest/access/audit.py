"""Every write by REST and by the console: who, when, what, and what was answered.

In: an application, and what keeps entries.  Out: the same.  It stands behind the hop to a group's
coordinator, so a write is kept once, where it is done.  Neither a query nor a body is kept: they may contain
secrets.  A route whose path does not say which pipelines it is about names them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.access.roles import ROLES, Role, route_of
from wrackline.schemas.redaction import shown_name

AuditEntry = dict[str, Any]
_ABOUT: Final = "audit.about"  # of a request's scope
_MOST: Final = 50  # pipelines that are named
NOBODY: Final = "(no log-in)"


def say_about(scope: Scope, pipelines: Sequence[str]) -> None:
    """Have the entry of a write name these pipelines."""
    scope[_ABOUT] = pipelines


class Audit:
    """The application, with its writes kept."""

    def __init__(self, app: ASGIApp, put: Callable[[AuditEntry], None]) -> None:
        self._app, self._put = app, put

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and keep what was answered to a write."""
        if scope["type"] != "http" or not _writes(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        status = 500

        async def hear(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, hear)
        finally:
            self._put(_entry(scope, status))


def _writes(method: str, path: str) -> bool:
    route = route_of(method, path)
    return method not in ("GET", "HEAD") and route is not None and ROLES[route] >= Role.OPERATOR


def _entry(scope: Scope, status: int) -> AuditEntry:
    user = scope.get("user")
    by, what = NOBODY if user is None else str(user.name), f"{scope['method']} {shown_name(scope['path'])}"
    about = [shown_name(name) for name in scope.get(_ABOUT, ())]
    if about:
        more = f" and {len(about) - _MOST:,} more" if len(about) > _MOST else ""
        what += f" of {', '.join(about[:_MOST])}{more}"
    told = {"by": by, "what": what, "status": status}
    return {"ts_ms": now_ms(), "level": "info", "event": "write", "line": f"{by}: {what}: {status}", **told}
