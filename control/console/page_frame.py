"""The frame of every page: reads the boards that are in memory, renders a template, and says what went wrong.

In: the connectors and the views of a worker.  Out: pages, with the headers that keep foreign scripts away.
A page is made from what is in memory, so it takes milliseconds, also while Kafka, the database or the target
is away.  Scripts and styles come from here alone, and nothing is inline.
"""

import math
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from wrackline.control.console.access.page_route import TOKEN_FIELD
from wrackline.control.console.access.permissions import form_token, permissions_of
from wrackline.control.console.page_renewal import (
    ASK_HEADER,
    MadePage,
    PageVersion,
    Renewals,
    Section,
    marked,
    section,
)
from wrackline.control.console.pipelines_page import ListedPipeline
from wrackline.control.runtime.board.board_summary import summarise
from wrackline.control.runtime.ground.times import FIGURES_S, SHOWN_S, now_ms, until_step
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import Connectors
from wrackline.control.runtime.worker.pipeline_views import BoardView, WorkerViews
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.message_texts import for_reader
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.versions import OURS

_TEMPLATES: Final = Path(__file__).parent / "templates"
_ROWS: Final = 2_000
_OFTEN_S, _SELDOM_S = 1.0, FIGURES_S  # between renewals of pages with a version, and of others
RENEWAL: Final = "hx-request"
THEMES: Final = ("light", "dark", "system")
THEME_COOKIE: Final = "wrackline_theme"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageFrame:
    """Reads the boards, and renders."""

    def __init__(self, crew: Connectors, views: WorkerViews) -> None:
        self.crew, self.views = crew, views
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,  # else each page asks the disk whether its templates have changed
        )
        self._templates.filters["part"] = lambda text: quote(str(text), safe="")
        self._templates.filters["shell"] = shlex.quote
        self._templates.filters["section"] = section
        self._templates.filters["hint"] = for_reader
        self._templates.globals["grouped"] = self.grouped
        for row in ("table_row", "pipeline_row"):
            made = getattr(self._templates.get_template(f"{row}.html").make_module(), row)
            self._templates.globals[row] = lru_cache(_ROWS)(made)  # most are as they were a moment ago
        self._renewals = Renewals()

    def listed(self) -> list[ListedPipeline]:
        """Return all pipelines; one whose settings are no longer good has an empty board."""
        found = []
        for name in self.crew.names():
            try:
                with self.seen(name) as (one, _):
                    found.append(one)
            except WracklineError as error:
                if name in self.crew.names():  # it may have been deleted meanwhile
                    found.append(self._unread(name, error))
        return found

    @contextmanager
    def seen(self, name: str) -> Iterator[tuple[ListedPipeline, BoardView]]:
        """Yield a pipeline and its board."""
        standing = self.crew.standing(name)
        with self.views.board(name) as board:
            yield self._one(name, standing, board), board

    def standings(self) -> Mapping[str, ConnectorState]:
        """Return the state of each pipeline's processes."""
        found = {}
        for name in self.crew.names():
            try:
                found[name] = self.crew.standing(name)
            except WracklineError:  # it was deleted meanwhile
                continue
        return found

    def renews(self, request: Request) -> bool:
        """Whether an open page asks for what is new."""
        return RENEWAL in request.headers

    def grouped(self) -> bool:
        """Whether REST makes the pipelines, in a group of workers; else files do."""
        return any(one.slots is not None for one in self.crew.members())

    def settings(self, name: str) -> Mapping[str, str]:
        """Return a pipeline's settings."""
        self.crew.standing(name)
        return self.crew.config(name)

    def version(self, request: Request, *names: str) -> PageVersion:
        """Return what a page of these pipelines, and of no more, is made of."""
        parts: list[object] = [_path(request), permissions_of(request), form_token(request)]
        for name in names:
            try:
                standing = self.crew.standing(name)  # first: it refuses a name that there is not
                parts += [name, standing, self.views.version(name)]
            except WracklineError as error:
                parts += [name, str(error)]
        return tuple(parts)

    def same(self, request: Request, version: PageVersion) -> Response | None:
        """Return that nothing has changed, if this is a renewal and nothing has."""
        is_same = self._renewals.is_same(request, version)
        return Response(status_code=204, headers=_headers(_OFTEN_S)) if is_same else None

    def page(self, request: Request, template: str, status: int = 200, **of: object) -> Response:
        """Render a page."""
        return self._answer(request, template, status, None, of)

    def page_of(self, request: Request, version: PageVersion, template: str, **of: object) -> Response:
        """Render a page that is made of this version; it is renewed more often, which costs little."""
        return self._answer(request, template, 200, version, of)

    def _answer(
        self,
        request: Request,
        template: str,
        status: int,
        version: PageVersion | None,
        of: Mapping[str, object],
    ) -> Response:
        theme = request.cookies.get(THEME_COOKIE, "system")
        user = request.scope.get("user")
        known = user is not None or "login" not in request.scope  # strangers see the log-in's page alone
        sections: list[Section] = []
        every_s = _SELDOM_S if version is None else _OFTEN_S
        made = self._templates.get_template(template).render(
            theme=theme if theme in THEMES else "system",
            here=_path(request),
            version=OURS,
            every_ms=int(every_s * 1000),
            marked=marked(),
            sections=sections,
            user=None if user is None else user.name,
            can=permissions_of(request),
            token=_token_field(request),
            worker=self.crew.worker if known else "",
            **of,
        )
        return self._renewals.answer(request, MadePage(made, sections, version), status, _headers(every_s))

    def part(self, template: str, **of: object) -> Response:
        """Render rows for a page that is open; they contain no form, so nothing of a session."""
        return HTMLResponse(self._templates.get_template(template).render(**of), 200, HEADERS)

    def nothing(self) -> Response:
        """Answer to an open page that nothing has come."""
        return Response(status_code=204, headers=HEADERS)

    def refused(self, request: Request, error: WracklineError, status: int | None) -> Response:
        """Say that something was not done, and why."""
        name = request.path_params.get("name")
        if status is None and name is not None:
            return self.trouble(request, name, error)
        return self.page(request, "trouble.html", status or 409, name="Not done", error=error.document())

    def no_page(self, request: Request, status: int) -> Response:
        """Say that there is no page at an address."""
        return self.page(request, "no_page.html", status)

    def trouble(self, request: Request, name: str, error: WracklineError) -> Response:
        """Say that a pipeline can't be shown, and why."""
        status = 404 if name not in self.crew.names() else 409
        return self.page(request, "trouble.html", status, name=shown_name(name), error=error.document())

    def _one(self, name: str, standing: ConnectorState, board: BoardView) -> ListedPipeline:
        followed, summary = board.followed, board.history.newest(board.halves, now_ms())
        return ListedPipeline(
            name,
            followed.kind,
            followed.target,
            standing,
            summary,
            board.history.samples(),
            self.crew.worker,
            board.history.minutes(),
            board.slo,
        )

    def _unread(self, name: str, error: WracklineError) -> ListedPipeline:
        board = {half: HalfBoard() for half in Half}
        summary = replace(summarise(board, now_ms()), error=error.document(), wrong=1)
        return ListedPipeline(name, "", None, self.crew.standing(name), summary, (), self.crew.worker)


def _headers(every_s: float) -> Mapping[str, str]:
    return {**HEADERS, ASK_HEADER: str(math.ceil(until_step(every_s, SHOWN_S) * 1000))}


def _path(request: Request) -> str:
    """Return the page's address as it came: read, a name may have a ? or a #."""
    path, query = (request.scope[part].decode("latin-1") for part in ("raw_path", "query_string"))
    return f"{path}?{query}" if query else path


def _token_field(request: Request) -> Markup:
    """Return the field that shows that a form is of this session."""
    token = form_token(request)
    return (
        Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN_FIELD, token) if token else Markup()
    )
