"""The lines that both halves of a pipeline have logged, from the memory of any worker.

    GET /connectors/{name}/logs?level=&table=&since=&limit=

In: what follows the lines.  Out: routes.  Nothing is read from Kafka when somebody asks.
"""

from collections.abc import Container, Sequence
from typing import Annotated, Protocol

from fastapi import APIRouter, Query, Response

from wrackline.control.runtime.logs.trail_lines import LineChoice, choose_lines
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.schemas.redaction import shown_name


class FollowedLines(Protocol):
    """Follows the lines of all pipelines."""

    def names(self) -> Container[str]:
        """Return the pipelines' names."""
        ...

    def lines(self, name: str) -> Sequence[bytes] | None:
        """Return the newest lines of a pipeline, oldest first; None: `logs.topic` is off."""
        ...


def routes(followed: FollowedLines) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}/logs", default_response_class=Answer)

    @made.get("")
    def logs(
        name: str,
        *,
        level: Annotated[str, Query(pattern="^(info|warning|error)$")] = "info",
        table: str = "",
        since: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> Response:
        """Return the newest lines that fit, oldest first; `since` is in milliseconds since 1970."""
        if name not in followed.names():
            raise NO_CONNECTOR(name=shown_name(name))
        kept = followed.lines(name)
        lines, left_out = choose_lines(kept or (), LineChoice(level, table, since, limit))
        return Answer({"sent": kept is not None, "lines": lines, "left_out": left_out})

    return made
