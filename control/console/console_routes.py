"""The console's routes: HTML of what the boards say, and actions that answer with the page again.

    GET  /console/                          the pipelines
    GET  /console/p/{name}                  one of them
    GET  /console/p/{name}/t/{table}        one of its tables
    GET  /console/p/{name}/settings         its settings, secrets masked
    POST /console/p/{name}/do/{verb}        pause, resume, stop, restart
    POST /console/p/{name}/t/{table}/do/{verb}    pause, resume, retry
    POST /console/theme/{theme}             light, dark, or as the system has it
    GET  /console/static/{file}

In: the connectors and the views of a worker.  Out: routes.  A page is made from what is in memory, so it
takes milliseconds, also while Kafka, the database or the target is away.  Scripts and styles come from here
alone, and nothing is inline.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from wrackline.control.console.pipeline_page import TableChoice, pipeline_page
from wrackline.control.console.pipelines_page import ListedPipeline, pipelines_page
from wrackline.control.console.table_page import table_page
from wrackline.control.runtime.board.board_summary import summarise
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import Connectors
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.control.runtime.worker.pipeline_views import BoardView, WorkerViews
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.versions import OURS

_HERE: Final = Path(__file__).parent
_SENT: Final = (".css", ".js", ".svg")
_STATIC: Final = {one.name: one for one in (_HERE / "static").iterdir() if one.suffix in _SENT}
_THEMES: Final = ("light", "dark", "system")
_COOKIE: Final = "wrackline_theme"
_YEAR_S: Final = 365 * 86_400
_FRESH_MS: Final = 2_500  # a sample of the board that is not older needs no other look
_VERBS: Final = {
    "pause": DesiredState.PAUSE,
    "resume": DesiredState.RUN,
    "stop": DesiredState.STOP,
    "restart": DesiredState.RESTART,
}
_TABLE_VERBS: Final = tuple(wish.value for wish in TableWish)
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def routes(crew: Connectors, views: WorkerViews) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/console", default_response_class=HTMLResponse)
    pages = _Pages(crew, views)
    _add_pages(made, pages)
    _add_actions(made, crew, pages)

    @made.get("/static/{file}")
    def static(file: str) -> Response:
        """Send a style sheet, a script or a picture."""
        known = _STATIC.get(file)
        if known is None:
            return Response(status_code=404)
        kind = guess_type(known.name)[0] or "text/plain"
        # a new version of the product has new addresses: templates/base.html names the version
        return Response(known.read_bytes(), 200, {"Cache-Control": "max-age=86400"}, kind)

    return made


def _add_pages(made: APIRouter, pages: "_Pages") -> None:
    @made.get("")
    def bare() -> Response:
        """Send to the first page."""
        return RedirectResponse("/console/", 303)

    @made.get("/")
    def pipelines(request: Request, state: str = "", q: str = "") -> Response:
        """Show all pipelines."""
        found = pipelines_page(pages.listed(), state, q)
        return pages.page(request, "pipelines.html", page=found, state=state, q=q)

    @made.get("/p/{name}")
    def pipeline(
        request: Request, name: str, q: str = "", tone: str = "", page: Annotated[int, Query(ge=1)] = 1
    ) -> Response:
        """Show a pipeline."""
        try:
            with pages.seen(name) as (one, board):
                shown = pipeline_page(one, board.halves, TableChoice(q, tone, page), now_ms())
        except WracklineError as error:
            return pages.trouble(request, name, error)
        return pages.page(request, "pipeline.html", page=shown)

    @made.get("/p/{name}/t/{table}")
    def table(request: Request, name: str, table: str) -> Response:
        """Show a table."""
        try:
            with pages.seen(name) as (one, board):
                shown = table_page(name, table, board.halves, now_ms(), has_target=one.target is not None)
        except WracklineError as error:
            return pages.trouble(request, name, error)
        if shown is None:
            return pages.page(request, "missing.html", 404, what=f"table {shown_name(table)} of {name}")
        return pages.page(request, "table.html", page=shown)

    @made.get("/p/{name}/settings")
    def settings(request: Request, name: str) -> Response:
        """Show a pipeline's settings."""
        try:
            given = pages.settings(name)
        except WracklineError as error:
            return pages.trouble(request, name, error)
        return pages.page(request, "settings.html", name=name, settings=sorted(given.items()))


def _add_actions(made: APIRouter, crew: Connectors, pages: "_Pages") -> None:
    @made.post("/p/{name}/do/{verb}")
    def act(request: Request, name: str, verb: str) -> Response:
        """Do what is wished, and show the pipeline again."""
        if name not in crew.names() or verb not in _VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(name)} that could do this")
        try:
            rests = crew.standing(name).state in (TaskState.PAUSED, TaskState.STOPPED)
            if not (rests and verb == "restart"):  # as by REST, only resuming wakes it
                crew.wish(name, _VERBS[verb])
        except WracklineError as error:
            return pages.trouble(request, name, error)
        return RedirectResponse(f"/console/p/{quote(name, safe='')}", 303)

    @made.post("/p/{name}/t/{table}/do/{verb}")
    def act_on_table(request: Request, name: str, table: str, verb: str) -> Response:
        """Do what is wished with a table, and show it again."""
        if verb not in _TABLE_VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(verb)} of a table")
        try:
            pages.views.wish_table(name, table, TableWish(verb), user_of(request))
        except WracklineError as error:
            return pages.trouble(request, name, error)
        return RedirectResponse(f"/console/p/{quote(name, safe='')}/t/{quote(table, safe='')}", 303)

    @made.post("/theme/{theme}")
    def theme(theme: str, back: str = "/console/") -> Response:
        """Remember light or dark, and show the same page again."""
        if theme not in _THEMES or not back.startswith("/console/"):
            return Response(status_code=404)
        answer = RedirectResponse(back, 303)
        answer.set_cookie(_COOKIE, theme, max_age=_YEAR_S, path="/console", httponly=True, samesite="strict")
        return answer


class _Pages:
    """Reads the boards, and renders."""

    def __init__(self, crew: Connectors, views: WorkerViews) -> None:
        self._crew, self.views = crew, views
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["part"] = lambda text: quote(str(text), safe="")

    def listed(self) -> list[ListedPipeline]:
        """Return all pipelines; one whose settings are no longer good has an empty board."""
        found = []
        for name in self._crew.names():
            try:
                with self.seen(name) as (one, _):
                    found.append(one)
            except WracklineError as error:
                if name in self._crew.names():  # it may have been deleted meanwhile
                    found.append(self._unread(name, error))
        return found

    @contextmanager
    def seen(self, name: str) -> Iterator[tuple[ListedPipeline, BoardView]]:
        """Yield a pipeline and its board."""
        standing = self._crew.standing(name)
        with self.views.board(name) as board:
            yield self._one(name, standing, board), board

    def settings(self, name: str) -> Mapping[str, str]:
        """Return a pipeline's settings."""
        self._crew.standing(name)
        return self._crew.config(name)

    def page(self, request: Request, template: str, status: int = 200, **of: object) -> Response:
        """Render a page."""
        theme = request.cookies.get(_COOKIE, "system")
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        user = request.scope.get("user")
        made = self._templates.get_template(template).render(
            theme=theme if theme in _THEMES else "system",
            here=here,
            version=OURS,
            user=None if user is None else user.name,
            worker=self._crew.worker,
            **of,
        )
        return HTMLResponse(made, status, HEADERS)

    def trouble(self, request: Request, name: str, error: WracklineError) -> Response:
        """Say that a pipeline can't be shown, and why."""
        status = 404 if name not in self._crew.names() else 409
        return self.page(request, "trouble.html", status, name=shown_name(name), error=error.document())

    def _one(self, name: str, standing: ConnectorState, board: BoardView) -> ListedPipeline:
        followed, history, now = board.followed, board.history.samples(), now_ms()
        is_fresh = bool(history) and now - history[-1].at_ms < _FRESH_MS
        summary = history[-1] if is_fresh else summarise(board.halves, now)
        return ListedPipeline(
            name, followed.kind, followed.target, standing, summary, history, self._crew.worker
        )

    def _unread(self, name: str, error: WracklineError) -> ListedPipeline:
        board = {half: HalfBoard() for half in Half}
        summary = replace(summarise(board, now_ms()), error=error.document(), wrong=1)
        return ListedPipeline(name, "", None, self._crew.standing(name), summary, (), self._crew.worker)
