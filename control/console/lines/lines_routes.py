"""The route of the screen of the log.

    GET /console/p/{name}/logs?level=&half=&q=&live=&after=

In: the lines in the worker's memory.  Out: a route.  A page that follows asks every two seconds for what is
behind the newest line that it has; the answer is rows alone, or nothing.
"""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from wrackline.control.console.lines.lines_page import LineQuestion, lines_page, read_line_question
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.logs.trail_lines import LEVELS

Text = Annotated[str, Query(max_length=200)]


def add_lines(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/p/{name}/logs")
    def logs(
        request: Request,
        name: str,
        level: str = "info",
        half: str = "",
        q: Text = "",
        live: str = "",
        after: int = -1,
    ) -> Response:
        """Show the newest lines, or those behind one."""
        pages.crew.standing(name)
        question = read_line_question(level, half, q, after)
        page = lines_page(name, question, pages.views.numbered_lines(name))
        shown: dict[str, Any] = {
            "page": page,
            "live": live == "on",
            "newer": _link(question, page.newest),
            "levels": LEVELS,
        }
        if live == "on" and pages.renews(request):
            return pages.part("line_rows.html", **shown) if page.newest > question.after else pages.nothing()
        return pages.page(request, "lines.html", **shown)


def _link(question: LineQuestion, after: int) -> str:
    asked = {"level": question.level, "half": question.half, "q": question.text, "after": str(after)}
    return "?" + urlencode({name: text for name, text in asked.items() if text})
