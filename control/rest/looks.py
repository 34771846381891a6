"""What our own command line tells of a pipeline, by REST.

    GET /connectors/{name}/tables        both sides of each table, as `wrackline status`
    GET /connectors/{name}/lag           how far each step is behind
    GET /connectors/{name}/assessment    what stands in its way, as `wrackline check`

In: who looks.  Out: routes.  Each look may ask Kafka, a database or a target, and changes nothing there: it
is made once at a time for each pipeline, and its answer is good for a while.
"""

from collections.abc import Container, Mapping
from typing import Any, Final, Protocol

from fastapi import APIRouter, Response

from wrackline.control.moments import now_ms
from wrackline.control.rest.answer import Answer
from wrackline.control.rest.asked_once import AskedOnce
from wrackline.control.rest.crews import NO_CONNECTOR
from wrackline.control.status import Status
from wrackline.control.status_documents import lag, tables
from wrackline.schemas.redaction import shown_name

_STATUS_S: Final = 2.0  # seconds that a status is good for
_ASSESSMENT_S: Final = 30.0


class Looks(Protocol):
    """Looks at pipelines; any thread may ask, and has to wait."""

    def names(self) -> Container[str]:
        """Name the pipelines; this takes no time."""
        ...

    def status(self, name: str) -> Status:
        """Ask both sides."""
        ...

    def assess(self, name: str) -> Mapping[str, Any]:
        """Find what stands in its way."""
        ...


def routes(looks: Looks, once: AskedOnce | None = None) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}", default_response_class=Answer)
    asked = once or AskedOnce()

    async def status_of(name: str) -> Status:
        _known(looks, name)
        found: Status = await asked.answer(("status", name), lambda: looks.status(name), _STATUS_S)
        return found

    @made.get("/tables")
    async def tables_of(name: str) -> Response:
        """Say where each table stands on both sides."""
        return Answer(tables(await status_of(name)))

    @made.get("/lag")
    async def lag_of(name: str) -> Response:
        """Say how far Kafka is behind the database, and the target behind Kafka."""
        return Answer(lag(await status_of(name)))

    @made.get("/assessment")
    async def assessment(name: str) -> Response:
        """Say what stands in its way; asked again soon, it is the same answer."""
        _known(looks, name)

        def assess() -> dict[str, Any]:
            return {"pipeline": name, **looks.assess(name), "at_ms": now_ms()}

        return Answer(await asked.answer(("assessment", name), assess, _ASSESSMENT_S))

    return made


def _known(looks: Looks, name: str) -> None:
    if name not in looks.names():
        raise NO_CONNECTOR(name=shown_name(name))
