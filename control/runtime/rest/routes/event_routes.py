"""A table's events by REST, decoded; its caller must be allowed to see values.

    GET /connectors/{name}/tables/{table}/events?from=&limit=&key=&op=

In: what looks at events.  Out: a route, and the bounded way to ask that the console shares.  A few looks run
at once, and nobody waits for one longer than two seconds: Kafka may be away, and a page must answer all the
same.
"""

from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Query, Response

from wrackline.control.runtime.events.event_documents import document
from wrackline.control.runtime.events.event_looks import MOST, NEWEST, EventLook, EventQuestion
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.routes.answer_cache import STILL, AnswerCache
from wrackline.schemas.errors import Transient, WracklineError, define

PATIENCE_S: Final = 2.0
_OP: Final = "^[curdt]?$"
_LONGEST_KEY: Final = 1_000

NO_ANSWER_YET = define(
    "events.no_answer",
    Transient,
    "Kafka at {server} did not answer in {seconds:.0f} s",
    hint="ask again in some seconds, or for fewer events; see whether its brokers run",
)


class EventService(Protocol):
    """Looks at events; any thread may ask, and has to wait."""

    quick: AnswerCache  # of few questions at once

    def brokers(self, name: str) -> str:
        """Return the addresses of a pipeline's Kafka; for an unknown name it raises NO_CONNECTOR."""
        ...

    def events(self, name: str, question: EventQuestion) -> EventLook:
        """Read Kafka."""
        ...


async def ask_events(looks: EventService, name: str, question: EventQuestion) -> EventLook:
    """Return what a look found; raise NO_ANSWER_YET after two seconds."""
    server = looks.brokers(name)
    try:
        found: EventLook = await looks.quick.answer((name, question), lambda: looks.events(name, question), 0)
    except WracklineError as error:
        if error.code == STILL.code:
            raise NO_ANSWER_YET(server=server, seconds=PATIENCE_S) from None
        raise
    return found


def routes(looks: EventService) -> APIRouter:
    """Make the route."""
    made = APIRouter(prefix="/connectors/{name}", default_response_class=Answer)

    @made.get("/tables/{table}/events")
    async def events(
        name: str,
        table: str,
        begin: Annotated[str, Query(alias="from")] = NEWEST,
        limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
        key: Annotated[str, Query(max_length=_LONGEST_KEY)] = "",
        op: Annotated[str, Query(pattern=_OP)] = "",
    ) -> Response:
        """Return some of a table's events, in the order of the log."""
        found = await ask_events(looks, name, EventQuestion(table, begin, limit, op, key))
        return Answer(
            {
                "topics": found.topics,
                "events": [document(event) for event in found.events],
                "scanned": found.scanned,
                "next": found.next or None,
            }
        )

    return made
