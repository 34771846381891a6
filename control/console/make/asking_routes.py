"""The steps of a draft that ask servers.

    GET  /console/draft/{id}/tables      the source's tables, to choose from
    POST /console/draft/{id}/tables      stores what was chosen
    GET  /console/draft/{id}/columns     one table's columns, on both sides
    POST /console/draft/{id}/columns     leaves columns out, or copies them as text
    GET  /console/draft/{id}/start       the last step
    POST /console/draft/{id}/assess      asks, or tries, all servers
    POST /console/draft/{id}/deploy      makes the pipeline

In: the drafts.  Out: routes.  A question has a bound of time, and its error is shown on the step's page.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.make.make_routes import DraftPages, StepPage
from wrackline.control.console.make.start_page import StartPage, accepted_ids, start_page
from wrackline.control.console.make.step_fields import START, TABLES
from wrackline.control.console.make.table_picker import (
    INCLUDE,
    PAGE,
    chosen_columns,
    chosen_tables,
    columns_of,
    patterns_of,
    picker_of,
)
from wrackline.control.runtime.rest.routes.answer_cache import STILL
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import WracklineError


def add_asking(made: APIRouter, shared: DraftPages) -> None:
    """Add the routes."""
    _add_tables(made, shared)
    _add_columns(made, shared)
    _add_start(made, shared)


def _add_tables(made: APIRouter, shared: DraftPages) -> None:
    @made.get("/draft/{id}/tables")
    async def tables(
        request: Request,
        id: str,  # noqa: A002 - the path's name
        q: str = "",
        after: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """Show the source's tables."""
        return await _tables(shared, request, id, q, after)

    @made.post("/draft/{id}/tables")
    async def choose(request: Request, id: str) -> Response:  # noqa: A002
        """Store the chosen tables."""
        sent = await read_form(request)
        draft = await run_in_threadpool(shared.open, id)
        settings = {name: text for name, text in draft.settings.items() if name != INCLUDE}
        if chosen := chosen_tables(sent):
            settings[INCLUDE] = chosen
        try:
            differ = await run_in_threadpool(shared.store, request, draft, settings, sent.get("tag", ""))
        except WracklineError as error:
            return await _tables(shared, request, id, sent.get("q", ""), 0, refusal=error)
        if differ is not None:
            return await _tables(shared, request, id, sent.get("q", ""), 0, differ=differ)
        here = f"/console/draft/{quote(id, safe='')}"
        again = "?" + urlencode({"q": sent.get("q", "")})
        return RedirectResponse(f"{here}/step/target" if "next" in sent else f"{here}/tables{again}", 303)


async def _tables(
    shared: DraftPages,
    request: Request,
    draft_id: str,
    q: str,
    after: int,
    refusal: WracklineError | None = None,
    differ: object = (),
) -> Response:
    draft = await run_in_threadpool(shared.open, draft_id)
    found, error = None, None
    try:
        subject = await run_in_threadpool(shared.service.subject, draft_id)
        found = picker_of(await shared.service.list_tables(subject, q, PAGE, after), after)
    except WracklineError as failed:
        error = failed.document()
    status = 412 if differ else 400 if refusal else 200
    shown = {
        "tables": found,
        "error": error,
        "patterns": patterns_of(draft.settings),
        "q": q,
        "refusal": None if refusal is None else refusal.document(),
        "differ": differ,
    }
    return shared.page(request, draft, TABLES, StepPage("draft_tables.html", shown), status)


def _add_columns(made: APIRouter, shared: DraftPages) -> None:
    @made.get("/draft/{id}/columns")
    async def columns(request: Request, id: str, table: str, schema: str = "") -> Response:  # noqa: A002
        """Show a table's columns."""
        draft = await run_in_threadpool(shared.open, id)
        subject = await run_in_threadpool(shared.service.subject, id)
        answer: Mapping[str, Any] = {"columns": [], "features": []}
        error = None
        try:
            answer = await shared.service.assess_table(subject, ("", schema, table))
        except WracklineError as failed:
            error = failed.document()
        shown = {
            "schema": schema,
            "table": table,
            "columns": columns_of(answer, schema, table, draft.settings),
            "features": answer["features"],
            "error": error,
        }
        return shared.page(request, draft, TABLES, StepPage("draft_columns.html", shown))

    @made.post("/draft/{id}/columns")
    async def choose_columns(request: Request, id: str, table: str, schema: str = "") -> Response:  # noqa: A002
        """Store what was chosen for the columns."""
        sent = await read_form(request)
        draft = await run_in_threadpool(shared.open, id)
        settings = chosen_columns(sent, schema, table, draft.settings)
        told = {"config": dict(settings)}
        await run_in_threadpool(shared.service.put, id, told, user_of(request), sent.get("tag", ""))
        return RedirectResponse(f"/console/draft/{quote(id, safe='')}/tables", 303)


def _add_start(made: APIRouter, shared: DraftPages) -> None:
    @made.get("/draft/{id}/start")
    def start(request: Request, id: str) -> Response:  # noqa: A002
        """Show the last step."""
        return shared.page(request, shared.open(id), START, _start(None, None))

    @made.post("/draft/{id}/assess")
    async def assess(request: Request, id: str) -> Response:  # noqa: A002
        """Ask all servers, and show what was found."""
        sent = await read_form(request)
        return await _assessed(shared, request, id, probe="probe" in sent)

    @made.post("/draft/{id}/deploy")
    async def deploy(request: Request, id: str) -> Response:  # noqa: A002
        """Make the pipeline."""
        sent = await read_form(request)
        wish = DesiredState.STOP if "stopped" in sent else DesiredState.RUN
        try:
            told = await shared.service.deploy(id, wish, accepted_ids(sent), sent.get("tag", ""))
        except WracklineError as error:
            return await _assessed(shared, request, id, probe=False, refusal=error)
        if "start" in told:
            return shared.pages.page(request, "draft_made.html", told=told)
        return RedirectResponse(f"/console/p/{quote(told['name'], safe='')}", 303)


async def _assessed(
    shared: DraftPages,
    request: Request,
    draft_id: str,
    *,
    probe: bool,
    refusal: WracklineError | None = None,
) -> Response:
    draft = await run_in_threadpool(shared.open, draft_id)
    found, error = None, None if refusal is None else refusal.document()
    try:
        subject = await run_in_threadpool(shared.service.subject, draft_id)
        told = await shared.service.assess(subject, probe=probe, ask_again=refusal is None)
        found = start_page(told)
    except WracklineError as failed:
        error = failed.document()
    status = 200 if refusal is None else 409
    return shared.page(request, draft, START, _start(found, error, probe=probe), status)


def _start(found: StartPage | None, error: Mapping[str, object] | None, *, probe: bool = False) -> StepPage:
    waits = error is not None and error["code"] == STILL.code
    return StepPage("draft_start.html", {"found": found, "error": error, "waits": waits, "probe": probe})
