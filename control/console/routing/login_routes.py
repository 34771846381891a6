"""The log-in and the log-out.

    GET  /console/login     the page
    POST /console/login     a name and a password; begins a session, and leads to the page that was asked
    POST /console/logout    ends the session

In: the log-in that REST has too, so the same checks and the same bounds hold.  Out: routes.
"""

from typing import Final

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.rest.access.login import LOGIN_PAGE, WRONG, Login, status_of
from wrackline.control.runtime.rest.access.passwords import LONGEST
from wrackline.schemas.errors import WracklineError

_FIRST: Final = "/console/"


def add_login(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""

    @made.get("/login")
    def login_page(request: Request, next: str = _FIRST) -> Response:  # noqa: A002 - as browsers send it
        """Ask for a name and a password."""
        if "login" not in request.scope:
            return RedirectResponse(_FIRST, 303)
        return pages.page(request, "login.html", next=_own(next), name="", error=None)

    @made.post("/login")
    async def log_in(request: Request) -> Response:
        """Begin a session."""
        login: Login | None = request.scope.get("login")
        if login is None:
            return RedirectResponse(_FIRST, 303)
        form = await read_form(request)
        name, password, back = (form.get(field, "") for field in ("name", "password", "next"))
        try:
            if len(name) + len(password) > LONGEST:
                raise WRONG(what="the name or the password")
            user = await login.log_in(request.scope, name, password)
        except WracklineError as error:
            refused = error.document()
            answer = pages.page(
                request, "login.html", status_of(error), next=_own(back), name=name[:64], error=refused
            )
            if answer.status_code == 401:  # of a kind for which no browser has a window of its own
                answer.headers["www-authenticate"] = 'Form realm="wrackline"'
            return answer
        return RedirectResponse(
            _own(back), 303, {"set-cookie": login.sessions.begin(user), "cache-control": "no-store"}
        )

    @made.post("/logout")
    async def log_out(request: Request) -> Response:
        """End the session."""
        login, session = request.scope.get("login"), request.scope.get("session")
        answer = RedirectResponse(LOGIN_PAGE if login else _FIRST, 303)
        if login is not None and session is not None:
            answer.headers["set-cookie"] = login.sessions.end(session)
            answer.headers["clear-site-data"] = '"cache"'
        return answer


def _own(back: str) -> str:
    """Return a page of the console to go on with, whatever was sent."""
    good = back.startswith(_FIRST) and back.isascii() and back.isprintable() and "\\" not in back
    return back if good and not back.startswith(LOGIN_PAGE) else _FIRST
