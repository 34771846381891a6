"""Drafts by REST, as CDAP's document has them.

    GET                     /v1/contexts/{ns}/drafts
    GET, PUT, DELETE        /v1/contexts/{ns}/drafts/{id}
    POST                    …/drafts/{id}/listTables, describeTable, assessPipeline, assessTable
    POST                    /v1/contexts/{ns}/listTables, …     configuration in the body
    POST                    /v1/contexts/{ns}/drafts/{id}/deploy      ours
    PUT                     /v3/namespaces/{ns}/apps/{name}           the same without a draft

In: what can be done with drafts.  Out: routes.  `If-Match` with the ETag of what was read keeps two editors
from overwriting each other: the later one gets 412 and both texts.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from wrackline.control.plane.draft_documents import refuse_unknown
from wrackline.control.plane.draft_service import DraftService, DraftSubject
from wrackline.control.runtime.rest.model import sent_settings
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.body import json_of
from wrackline.control.runtime.rest.model.drafts import ANY, CHANGED, NEW, NOT_DRAFT
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.draft_records import MOST_DRAFTS
from wrackline.schemas.redaction import shown_name

DRAFTS: Final = "/v1/contexts/{ns}/drafts"
_WISHES: Final = {"RUNNING": DesiredState.RUN, "PAUSED": DesiredState.PAUSE, "STOPPED": DesiredState.STOP}
_DRAFT: Final = frozenset({"name", "config"})
_TABLE: Final = frozenset({"name", "config", "database", "schema", "table", "probe"})
_APP: Final = frozenset({"config"})
_WITHOUT_EFFECT: Final = frozenset({"artifact", "description", "principal", "change", "parentVersion"})
_NOT_KEPT: Final = "a connector has no such property"
_DEPLOY: Final = frozenset({"accept", "initial_state"})
Question = Callable[[DraftSubject, Mapping[str, Any]], Awaitable[dict[str, Any]]]
Limit = Annotated[int, Query(ge=1, le=10_000)]
Page = Annotated[int, Query(ge=1, le=MOST_DRAFTS)]
DraftId = Annotated[str, Query(max_length=100)]
After = Annotated[int, Query(ge=0)]


def routes(service: DraftService) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/v1/contexts/{ns}", default_response_class=Answer)
    _add_drafts(made, service)
    _add_tables(made, service)
    for name, question in _questions(service).items():
        _add_question(made, service, name, question)
    whole = APIRouter(default_response_class=Answer)
    whole.include_router(made)

    @whole.put("/v3/namespaces/{ns}/apps/{name}")
    async def put_app(ns: str, name: str, request: Request) -> Response:
        """Make a connector that is stopped, or give it other settings."""
        service.enter(ns)
        sent = await _body(request)
        refuse_unknown(sent, _APP | _WITHOUT_EFFECT)
        made = await run_in_threadpool(service.put_app, name, sent)
        other = [
            {"property": one, "why": _NOT_KEPT, "hint": "", "harmless": True}
            for one in sent
            if one not in _APP
        ]
        return Answer(made | {"ignored": [*made["ignored"], *other]})

    return whole


def _add_drafts(made: APIRouter, service: DraftService) -> None:
    @made.get("/drafts")
    def list_drafts(ns: str, limit: Page = MOST_DRAFTS, after: DraftId = "") -> Response:
        """List drafts; CDAP's document has a bare list, so the next page is in a header."""
        service.enter(ns)
        listed, following = service.list_all(limit, after)
        link = f'<{DRAFTS.format(ns=ns)}?limit={limit}&after={following}>; rel="next"'
        return Answer(listed, headers={} if following is None else {"Link": link})

    @made.get("/drafts/{id}")
    def show(ns: str, id: str, form: str | None = None) -> Response:  # noqa: A002 - the path's name
        """Return a draft."""
        service.enter(ns)
        document, tag = service.show(id, form)
        return Answer(document, headers=_etag(tag))

    @made.put("/drafts/{id}")
    async def put(ns: str, id: str, request: Request) -> Response:  # noqa: A002
        """Make a draft, or replace it."""
        service.enter(ns)
        sent, expected = await _body(request), _expected(request)
        refuse_unknown(sent, _DRAFT)
        try:
            document, tag = await run_in_threadpool(service.put, id, sent, user_of(request), expected)
        except WracklineError as error:
            if error.code != CHANGED.code:
                raise
            both = await run_in_threadpool(service.shown_conflict, id, sent)
            told = {"error_code": 412, "message": error.sentence, "code": error.code, "hint": error.hint}
            return Answer({**told, **both}, 412)
        return Answer(document, headers=_etag(tag))

    @made.delete("/drafts/{id}")
    async def remove(ns: str, id: str, request: Request) -> Response:  # noqa: A002
        """Remove a draft."""
        service.enter(ns)
        await run_in_threadpool(service.remove, id, _expected(request))
        return Response(status_code=204)

    @made.post("/drafts/{id}/deploy")
    async def deploy(ns: str, id: str, request: Request) -> Response:  # noqa: A002
        """Make a pipeline of a draft."""
        service.enter(ns)
        sent = await _body(request)
        refuse_unknown(sent, _DEPLOY)
        wish, accepted = _state(sent.get("initial_state", "RUNNING")), _accepted(sent.get("accept", []))
        return Answer(await service.deploy(id, wish, accepted, _expected(request)), 201)


def _add_tables(made: APIRouter, service: DraftService) -> None:
    @made.post("/drafts/{id}/listTables")
    async def tables_of_draft(
        ns: str,
        id: str,  # noqa: A002
        search: str = "",
        limit: Limit = 1000,
        after: After = 0,
    ) -> Response:
        """List the tables of a draft's source."""
        service.enter(ns)
        return Answer(await service.list_tables(service.subject(id), search, limit, after))

    @made.post("/listTables")
    async def tables(
        ns: str, request: Request, search: str = "", limit: Limit = 1000, after: After = 0
    ) -> Response:
        """List the tables of a source that no draft names."""
        service.enter(ns)
        sent = await _body(request)
        refuse_unknown(sent, _DRAFT)
        return Answer(await service.list_tables(service.subject_of(sent), search, limit, after))


def _questions(service: DraftService) -> Mapping[str, Question]:
    return {
        "describeTable": lambda of, sent: service.describe_table(of, _wanted(sent)),
        "assessTable": lambda of, sent: service.assess_table(of, _wanted(sent)),
        "assessPipeline": lambda of, sent: service.assess(of, probe=sent.get("probe") is True),
    }


def _add_question(made: APIRouter, service: DraftService, name: str, question: Question) -> None:
    """Add the two routes of a question: about a draft, and about a configuration in the body."""

    async def ask_draft(ns: str, id: str, request: Request) -> Response:  # noqa: A002
        service.enter(ns)
        sent = await _body(request)
        refuse_unknown(sent, _TABLE - {"config"})
        return Answer(await question(service.subject(id), sent))

    async def ask_config(ns: str, request: Request) -> Response:
        service.enter(ns)
        sent = await _body(request)
        refuse_unknown(sent, _TABLE)
        return Answer(await question(service.subject_of(sent), sent))

    made.post(f"/drafts/{{id}}/{name}", name=f"{name} of a draft")(ask_draft)
    made.post(f"/{name}", name=name)(ask_config)


async def _body(request: Request) -> dict[str, Any]:
    """Read an object; a request without a body asks with none."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return {}
    return sent_settings.read_object(await json_of(request, sent_settings.MOST), None)


def _expected(request: Request) -> str | None:
    """Return the tag that must be stored: If-Match has it, and If-None-Match: * says that none may be."""
    if request.headers.get("if-none-match", "").strip() == "*":
        return NEW
    given = request.headers.get("if-match", "").strip()
    return ANY if given in ("", "*") else given.removeprefix("W/").strip('"')


def _etag(tag: str) -> dict[str, str]:
    return {"ETag": f'"{tag}"'}


def _wanted(sent: Mapping[str, Any]) -> tuple[str, str, str]:
    database, schema, table = (sent.get(name) or "" for name in ("database", "schema", "table"))
    if not all(isinstance(one, str) for one in (database, schema, table)) or not table:
        raise NOT_DRAFT(why="it names no table")
    return database, schema, table


def _state(given: object) -> DesiredState:
    if not isinstance(given, str) or given.upper() not in _WISHES:
        raise NOT_DRAFT(why=f"its initial_state is none of {', '.join(_WISHES)}")
    return _WISHES[given.upper()]


def _accepted(given: object) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise NOT_DRAFT(why=f"accept is not a list of findings' ids: {shown_name(type(given).__name__)}")
    return given
