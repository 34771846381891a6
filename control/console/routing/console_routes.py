"""The console's routes: HTML of what the boards say, and actions that answer with the page again.

    GET  /console/                          the pipelines
    GET  /console/p/{name}                  one of them
    GET  /console/p/{name}/t/{table}        one of its tables
    POST /console/p/{name}/do/{verb}        pause, resume, stop, restart
    POST /console/p/{name}/tasks/{task}/do/{verb}    pause, resume of one half alone
    POST /console/p/{name}/t/{table}/do/{verb}    pause, resume, retry
    POST /console/theme/{theme}             light, dark, or as the system has it
    GET  /console/static/{file}
    and those of login_routes.py, bulk_routes.py, and of the rooms of screens

In: the frame of a worker's pages.  Out: routes.
"""

from mimetypes import guess_type
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from wrackline.control.console.access.page_route import check_form, page_route
from wrackline.control.console.errors.errors_routes import add_errors
from wrackline.control.console.events.events_routes import add_events
from wrackline.control.console.heat_figures import FIGURES
from wrackline.control.console.letters.letters_routes import add_letters
from wrackline.control.console.lineage.lineage_routes import add_lineage
from wrackline.control.console.lines.lines_routes import add_lines
from wrackline.control.console.log.log_routes import add_log
from wrackline.control.console.log.rewind_routes import add_rewind
from wrackline.control.console.make.asking_routes import add_asking
from wrackline.control.console.make.make_routes import DraftPages, add_make
from wrackline.control.console.page_frame import THEME_COOKIE, THEMES, PageFrame
from wrackline.control.console.pipeline_page import pipeline_page
from wrackline.control.console.pipelines_page import SmallLines, bulk_note, pipelines_page
from wrackline.control.console.routing.bulk_routes import add_bulk
from wrackline.control.console.routing.login_routes import add_login
from wrackline.control.console.rows.rows_routes import add_rows
from wrackline.control.console.settings.settings_routes import add_settings
from wrackline.control.console.shapes.shapes_routes import add_shapes
from wrackline.control.console.table_layout import TableChoice, TableLayouts
from wrackline.control.console.table_page import table_page
from wrackline.control.console.workers.workers_routes import add_workers
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.routes.connector_routes import restart_connector
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.redaction import shown_name

_STATIC_FILES: Final = Path(__file__).parents[1] / "static"
_SENT: Final = (".css", ".js", ".svg")
_STATIC: Final = {one.name: one for one in _STATIC_FILES.iterdir() if one.suffix in _SENT}
_YEAR_S: Final = 365 * 86_400
_VERBS: Final = {
    "pause": DesiredState.PAUSE,
    "resume": DesiredState.RUN,
    "stop": DesiredState.STOP,
    "restart": DesiredState.RESTART,
}
_HALF_VERBS: Final = ("pause", "resume", "restart")
_TABLE_VERBS: Final = tuple(wish.value for wish in TableWish)


def routes(pages: PageFrame, drafts: DraftService) -> APIRouter:
    """Make the routes."""
    made = APIRouter(
        prefix="/console",
        default_response_class=HTMLResponse,
        route_class=page_route(pages.refused),
        dependencies=[Depends(check_form)],
    )
    add_login(made, pages)
    add_events(made, pages)
    add_errors(made, pages)
    add_letters(made, pages)
    add_shapes(made, pages)
    _add_pages(made, pages)
    _add_actions(made, pages)
    _add_half_actions(made, pages)
    add_bulk(made, pages)
    add_rows(made, pages)
    add_log(made, pages)
    add_lines(made, pages)
    add_rewind(made, pages)
    add_lineage(made, pages)
    add_settings(made, pages)
    add_workers(made, pages)
    shared = DraftPages(pages, drafts)
    add_make(made, shared)
    add_asking(made, shared)
    _add_static(made)
    return made


def _add_static(made: APIRouter) -> None:
    @made.get("/static/{file}")
    def static(file: str) -> Response:
        """Send a style sheet, a script or a picture."""
        known = _STATIC.get(file)
        if known is None:
            return Response(status_code=404)
        kind = guess_type(known.name)[0] or "text/plain"
        # a new version of the product has new addresses: templates/base.html names the version
        return Response(known.read_bytes(), 200, {"Cache-Control": "max-age=86400"}, kind)


def _add_pages(made: APIRouter, pages: PageFrame) -> None:
    layouts, lines = TableLayouts(), SmallLines()

    @made.get("")
    def bare() -> Response:
        """Send to the first page."""
        return RedirectResponse("/console/", 303)

    @made.get("/")
    def pipelines(
        request: Request, state: str = "", q: str = "", did: str = "", done: int = 0, refused: int = 0
    ) -> Response:
        """Show all pipelines, and what was asked of some of them."""
        version = pages.version(request, *pages.crew.names())
        if (same := pages.same(request, version)) is not None:
            return same
        found = pipelines_page(pages.listed(), lines, state, q)
        note = bulk_note(did, done, refused)
        return pages.page_of(request, version, "pipelines.html", page=found, state=state, q=q, note=note)

    @made.get("/p/{name}")
    def pipeline(
        request: Request,
        name: str,
        q: str = "",
        tone: str = "",
        page: Annotated[int, Query(ge=1)] = 1,
        figure: str = "",
    ) -> Response:
        """Show a pipeline."""
        version = pages.version(request, name)
        if (same := pages.same(request, version)) is not None:
            return same
        choice = TableChoice(q, tone, page, figure)
        with pages.seen(name) as (one, board):
            layout = layouts.of(name, board.halves, choice, now_ms())
            shown = pipeline_page(one, board.halves, layout, choice, now_ms())
        return pages.page_of(request, version, "pipeline.html", page=shown, figures=FIGURES)

    @made.get("/p/{name}/t/{table}")
    def table(request: Request, name: str, table: str) -> Response:
        """Show a table."""
        version = pages.version(request, name)
        if (same := pages.same(request, version)) is not None:
            return same
        with pages.seen(name) as (one, board):
            shown = table_page(name, table, board.halves, now_ms(), has_target=one.target is not None)
        if shown is None:
            return pages.page(request, "missing.html", 404, what=f"table {shown_name(table)} of {name}")
        return pages.page_of(request, version, "table.html", page=shown)


def _add_actions(made: APIRouter, pages: PageFrame) -> None:
    crew = pages.crew

    @made.post("/p/{name}/do/{verb}")
    def act(request: Request, name: str, verb: str) -> Response:
        """Do what is wished, and show the pipeline again."""
        if name not in crew.names() or verb not in _VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(name)} that could do this")
        if verb == "restart":
            restart_connector(crew, name)
        else:
            crew.wish(name, _VERBS[verb])
        return RedirectResponse(f"/console/p/{quote(name, safe='')}", 303)

    @made.post("/p/{name}/t/{table}/do/{verb}")
    def act_on_table(request: Request, name: str, table: str, verb: str) -> Response:
        """Do what is wished with a table, and show it again."""
        if verb not in _TABLE_VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(verb)} of a table")
        pages.views.wish_table(name, table, TableWish(verb), user_of(request))
        return RedirectResponse(f"/console/p/{quote(name, safe='')}/t/{quote(table, safe='')}", 303)

    @made.post("/theme/{theme}")
    def theme(theme: str, back: str = "/console/") -> Response:
        """Remember light or dark, and show the same page again."""
        if theme not in THEMES or not back.startswith("/console/"):
            return Response(status_code=404)
        answer = RedirectResponse(back, 303)
        answer.set_cookie(
            THEME_COOKIE, theme, max_age=_YEAR_S, path="/console", httponly=True, samesite="strict"
        )
        return answer


def _add_half_actions(made: APIRouter, pages: PageFrame) -> None:
    crew = pages.crew

    @made.post("/p/{name}/tasks/{task}/do/{verb}")
    def act_on_half(request: Request, name: str, task: int, verb: str) -> Response:
        """Pause, resume or restart one half or one task of it, and show the pipeline again."""
        if name not in crew.names() or verb not in _HALF_VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(name)} that could do this")
        if task not in crew.standing(name).tasks:
            return pages.page(request, "missing.html", 404, what=f"task {task} of {shown_name(name)}")
        crew.wish(name, _VERBS[verb], task)
        return RedirectResponse(f"/console/p/{quote(name, safe='')}", 303)
