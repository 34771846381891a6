"""The routes of errors.

    GET /console/p/{name}/errors    what is wrong with a pipeline now, and was in the last days
    GET /console/error/{code}       what a code means

In: boards.  Out: routes.
"""

from fastapi import APIRouter, Request, Response

from wrackline.control.console.errors.error_codes import find_code
from wrackline.control.console.errors.errors_page import errors_page
from wrackline.control.console.errors.errors_past import past_errors
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.ground.times import now_ms
from wrackline.schemas.redaction import shown_name


def add_errors(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""

    @made.get("/p/{name}/errors")
    def errors(request: Request, name: str) -> Response:
        """Show what is wrong now, and what was logged in the last seven days."""
        with pages.seen(name) as (one, board):
            page = errors_page(name, board.halves, now_ms(), has_target=one.target is not None)
        past = past_errors(pages.views.errors(name), now_ms())
        return pages.page(request, "errors.html", page=page, past=past)

    @made.get("/error/{code}")
    def meaning(request: Request, code: str) -> Response:
        """Show what a code means."""
        found = find_code(code)
        if found is None:
            return pages.page(request, "missing.html", 404, what=f"error code {shown_name(code)}")
        return pages.page(request, "error_code.html", error=found)
