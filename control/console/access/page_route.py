"""A route of the console: what goes wrong in it is shown as a page, and a form must be of this session.

In: a request.  Out: the route's answer, or a page that says what is wrong.  The token of a form is known to
pages of this session alone, so a page of another site can't send one, and neither can a page that was left
open over a log-out.
"""

import hmac
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from wrackline.control.console.access.permissions import form_token
from wrackline.control.console.access.sent_form import read_form
from wrackline.control.runtime.rest.access.roles import NO_VALUES, NOT_ALLOWED
from wrackline.schemas.errors import Definite, WracklineError, define

TOKEN_FIELD: Final = "form_token"  # noqa: S105 - the name of a field
BAD_ADDRESS = define(
    "console.bad_address",
    Definite,
    "a part of this page's address, behind its question mark, is not what the page takes",
    hint="follow the page's links, or leave that part out",
)
STALE_FORM = define(
    "console.stale_form",
    Definite,
    "this form is not of your session, so nothing was done: it was open since before you logged in",
    hint="open the page again, and press the button there",
)
_STATUS: Final = {BAD_ADDRESS.code: 400, STALE_FORM.code: 403, NOT_ALLOWED.code: 403, NO_VALUES.code: 403}

ShowError = Callable[[Request, WracklineError, int | None], Response]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def page_route(show: ShowError) -> type[APIRoute]:
    """Return the class of the console's routes; `show` makes the page of an error."""

    class PageRoute(APIRoute):
        def get_route_handler(self) -> Handler:
            answer = super().get_route_handler()

            async def answer_as_page(request: Request) -> Response:
                try:
                    return await answer(request)
                except WracklineError as error:
                    return show(request, error, _STATUS.get(error.code))
                except RequestValidationError:
                    return show(request, BAD_ADDRESS(), _STATUS[BAD_ADDRESS.code])

            return answer_as_page

    return PageRoute


async def check_form(request: Request) -> None:
    """Refuse what changes something, unless it comes from a form of this session."""
    wanted = form_token(request)
    by_token = request.headers.get("authorization", "").lower().startswith("bearer ")  # no browser sends it
    if not wanted or by_token or request.method == "GET":
        return
    sent = (await read_form(request)).get(TOKEN_FIELD, "")
    if not hmac.compare_digest(sent.encode(), wanted.encode()):
        stale = STALE_FORM()
        raise stale
