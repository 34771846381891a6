"""The routes of letters.

    GET  /console/p/{name}/letters?table=         what the desk knows; a look is begun by a button
    POST /console/p/{name}/letters/do/{verb}      look, replay, drop

In: the worker's desk.  Out: routes.  A page shows at once what is known and that work is under way; the work
itself asks the target, for seconds or, with Spark, for half a minute.
"""

from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from wrackline.control.console.access.permissions import permissions_of
from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.letters.letters_page import letters_page
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.schemas.redaction import shown_name

_VERBS: Final = {verb.value: verb for verb in LetterVerb}


def add_letters(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""

    @made.get("/p/{name}/letters")
    def letters(request: Request, name: str, table: str = "", drop: str = "") -> Response:
        """Show what is set aside."""
        pages.crew.standing(name)
        state, values = pages.views.letters.state(name), permissions_of(request).values
        page = letters_page(name, state, table, now_ms(), values=values)
        return pages.page(request, "letters.html", page=page, drop=drop)

    @made.post("/p/{name}/letters/do/{verb}")
    async def work(request: Request, name: str, verb: str) -> Response:
        """Begin a piece of work, and show the page again."""
        form = await read_form(request)
        table, one = form.get("table", ""), form.get("id", "")
        if verb not in _VERBS or (verb == "drop" and not table):
            return pages.page(request, "missing.html", 404, what=f"{shown_name(verb)} of letters")
        pages.crew.standing(name)
        wanted = LetterWork(_VERBS[verb], table, frozenset({one} if one else ()))
        pages.views.letters.begin(name, wanted, user_of(request))
        return RedirectResponse(
            f"/console/p/{quote(name, safe='')}/letters?table={quote(table, safe='')}", 303
        )
