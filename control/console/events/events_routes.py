"""The route of the screen of events.

    GET /console/p/{name}/events?table=&from=&limit=&op=&key=&at=&live=

In: what asks Kafka within its bounds.  Out: a route.  It is one of the few pages that ask a server while
somebody waits: it says which, and after two seconds that there was no answer.  A page that follows asks every
two seconds for what is behind the end of its last look; the answer is rows alone, or nothing.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from wrackline.control.console.events.events_page import LIMITS, OPS, events_page, table_names
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.events.event_looks import MOST, NEWEST, EventQuestion
from wrackline.control.runtime.rest.routes.event_routes import ask_events
from wrackline.schemas.errors import WracklineError


def read_question(
    table: str = "",
    begin: Annotated[str, Query(alias="from", max_length=2_000)] = NEWEST,
    limit: int = 50,
    op: str = "",
    key: Annotated[str, Query(max_length=1_000)] = "",
) -> EventQuestion:
    """Return what is asked; what is odd becomes what is usual."""
    most = min(max(1, limit), MOST)
    return EventQuestion(table, begin.strip() or NEWEST, most, op if op in OPS else "", key.strip())


def add_events(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/p/{name}/events")
    async def events(
        request: Request,
        name: str,
        question: Annotated[EventQuestion, Depends(read_question)],
        at: str = "",
        live: str = "",
        wrong: str = "",
    ) -> Response:
        """Show some events of a table, or those that have come; `wrong`: the page shows an error."""
        with pages.seen(name) as (_, board):
            tables = table_names(board.halves)
        question, follows = replace(question, table=question.table or next(iter(tables), "")), live == "on"
        renews = follows and pages.renews(request)
        look, error = None, None
        if question.table:
            try:
                look = await ask_events(
                    pages.views, name, replace(question, most=MOST) if renews else question
                )
            except WracklineError as refusal:
                error = refusal.document()
        page = events_page(name, tables, question, look, at, follows=follows)
        shown = {"page": page, "error": error}
        if renews and error is None and page.newer == page.here and not wrong:
            return pages.nothing()
        if renews:
            return pages.part("event_rows.html", **shown)
        status = 200 if error is None else 409
        return pages.page(request, "events.html", status, ops=OPS, limits=LIMITS, **shown)
