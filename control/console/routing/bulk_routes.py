"""What is asked of several pipelines at once: `POST /console/p/do/{verb}`, with a field for each chosen one.

In: the connectors.  Out: the route.  What can't be done is counted, and the others are done.  The audit names
them: the path does not.
"""

from typing import Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.rest.access.audit import say_about
from wrackline.control.runtime.rest.routes.connector_routes import restart_connector
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import shown_name

_FIELD: Final = "chosen:"  # before a pipeline's name
_WISHES: Final = {"pause": DesiredState.PAUSE, "resume": DesiredState.RUN}


def add_bulk(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.post("/p/do/{verb}")  # below p/, so that a group sends it to its coordinator
    async def act_on_many(request: Request, verb: str) -> Response:
        """Pause, resume or, of those that failed, restart all that were chosen."""
        if verb not in (*_WISHES, "restart"):
            return pages.page(request, "missing.html", 404, what=f"{shown_name(verb)} of pipelines")
        chosen = [
            field.removeprefix(_FIELD) for field in await read_form(request) if field.startswith(_FIELD)
        ]
        say_about(request.scope, chosen)
        done, refused = await run_in_threadpool(_wish, pages, chosen, verb)
        said = urlencode({"did": verb, "done": done, "refused": refused})
        return RedirectResponse(f"/console/?{said}", 303)


def _wish(pages: PageFrame, chosen: list[str], verb: str) -> tuple[int, int]:
    """Return how many were asked, and of how many it was refused."""
    done = refused = 0
    for name in chosen:
        try:
            pages.crew.standing(name)
            if verb == "restart":
                done += restart_connector(pages.crew, name, only_failed=True)
            else:
                pages.crew.wish(name, _WISHES[verb])
                done += 1
        except WracklineError:
            refused += 1
    return done, refused
