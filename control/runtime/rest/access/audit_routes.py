"""The writes that were asked for by REST and by the console, newest last.

    GET /audit?since=&limit=

In: what keeps them.  Out: routes.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from wrackline.control.runtime.logs.trail_lines import LineChoice, choose_lines
from wrackline.control.runtime.rest.model.answer import Answer


def routes(entries: Callable[[], Sequence[bytes]]) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/audit", default_response_class=Answer)

    @made.get("")
    def audit(
        *,
        since: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> Response:
        """Return who wrote what, and what was answered; `since` is in milliseconds since 1970."""
        shown, left_out = choose_lines(entries(), LineChoice(since_ms=since, limit=limit))
        return Answer({"entries": shown, "left_out": left_out})

    return made
