"""Our own command line's views of a pipeline, by REST.

    GET /connectors/{name}/tables        both sides of each table, as `wrackline status`
    GET /connectors/{name}/lag           how far each step is behind
    GET /connectors/{name}/slo           how the promise of freshness went
    GET /connectors/{name}/assessment    its findings, as `wrackline check`
    POST /connectors/{name}/assessment   the same after each server was tried, as `wrackline assess --probe`

In: what looks at pipelines.  Out: routes.  Each look may ask Kafka, a database or a target, and changes
nothing there; a trial removes what it wrote.  It is made once at a time for each pipeline, and its answer is
valid for a while.
"""

from asyncio import to_thread
from collections.abc import Container, Mapping
from functools import cached_property
from typing import Any, Final, Protocol

import orjson
from fastapi import APIRouter, Response

from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.control.runtime.services.status_documents import lag_document, tables_document
from wrackline.control.runtime.slo.slo_answer import slo_answer
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.schemas.redaction import shown_name

_STATUS_S: Final = 2.0  # seconds that a status is valid
_SLO_S: Final = 10.0
_ASSESSMENT_S: Final = 30.0


class PipelineViews(Protocol):
    """Looks at pipelines; any thread may ask, and has to wait."""

    def names(self) -> Container[str]:
        """Return the pipelines' names; this takes no time."""
        ...

    def status(self, name: str) -> PipelineStatus:
        """Ask both sides."""
        ...

    def slo(self, name: str) -> SloReport | None:
        """Return how the promise of freshness went; None: nothing is promised."""
        ...

    def assess(self, name: str, *, probe: bool) -> Mapping[str, Any]:
        """Return the findings; with `probe`, each server is tried too."""
        ...


class _WrittenStatus:
    """A status as JSON, written once: that of ten thousand tables is longer than others can wait."""

    def __init__(self, status: PipelineStatus) -> None:
        self._status = status

    @cached_property
    def tables(self) -> bytes:
        return orjson.dumps(tables_document(self._status))

    @cached_property
    def lag(self) -> bytes:
        return orjson.dumps(lag_document(self._status))


def routes(looks: PipelineViews, once: AnswerCache | None = None) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}", default_response_class=Answer)
    asked = once or AnswerCache()

    async def status_of(name: str) -> _WrittenStatus:
        _refuse_unknown(looks, name)
        found: _WrittenStatus = await asked.answer(
            ("status", name), lambda: _WrittenStatus(looks.status(name)), _STATUS_S
        )
        return found

    @made.get("/tables")
    async def tables_of(name: str) -> Response:
        """Return the state of each table on both sides."""
        status = await status_of(name)
        return Response(await to_thread(lambda: status.tables), media_type=Answer.media_type)

    @made.get("/lag")
    async def lag_of(name: str) -> Response:
        """Return how far Kafka is behind the database, and the target behind Kafka."""
        status = await status_of(name)
        return Response(await to_thread(lambda: status.lag), media_type=Answer.media_type)

    @made.get("/slo")
    async def slo_of(name: str, table: str = "") -> Response:
        """Return how the promise of freshness went, with the tables that have least left, or one table."""
        _refuse_unknown(looks, name)
        report = await asked.answer(("slo", name), lambda: looks.slo(name), _SLO_S)
        return Answer(slo_answer(name, report, table))

    @made.get("/assessment")
    async def assessment(name: str) -> Response:
        """Return the findings; a request soon after gets the same answer."""
        return await assess(name, probe=False)

    @made.post("/assessment")
    async def trial(name: str) -> Response:
        """Try each server as well, with a forecast; what is written there is removed again."""
        return await assess(name, probe=True)

    async def assess(name: str, *, probe: bool) -> Response:
        _refuse_unknown(looks, name)

        def look() -> dict[str, Any]:
            return {"pipeline": name, **looks.assess(name, probe=probe), "at_ms": now_ms()}

        kind = "trial" if probe else "assessment"
        return Answer(await asked.answer((kind, name), look, _ASSESSMENT_S))

    return made


def _refuse_unknown(looks: PipelineViews, name: str) -> None:
    if name not in looks.names():
        raise NO_CONNECTOR(name=shown_name(name))
