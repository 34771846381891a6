"""The routes of lineage.

    GET  /console/lineage              all pipelines
    GET  /console/p/{name}/lineage     one of them
    GET  /console/p/{name}/tables/{table}/lineage?at=&q=    a table's columns, now or at a moment

In: the frame of the pages.  Out: routes.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from wrackline.control.console.lineage.columns_page import columns_page
from wrackline.control.console.lineage.lineage_page import LineageSource, lineage_page
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.worker.pipeline_views import BoardView
from wrackline.schemas.errors import WracklineError

Page = Annotated[int, Query(ge=1)]
Moment = Annotated[int, Query(ge=0)]


def add_lineage(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""

    @made.get("/lineage")
    def lineage(request: Request, q: str = "", page: Page = 1) -> Response:
        """Show the way of every table."""
        found = []
        for name in pages.crew.names():
            try:
                with pages.views.board(name) as board:
                    found.append(_seen(name, board))
            except WracklineError:  # the list of pipelines says what is wrong with it
                continue
        return pages.page(request, "lineage.html", page=lineage_page(found, q, page))

    @made.get("/p/{name}/lineage")
    def lineage_of(request: Request, name: str, q: str = "", page: Page = 1) -> Response:
        """Show the way of a pipeline's tables."""
        settings = pages.settings(name)
        with pages.views.board(name) as board:
            seen = _seen(name, board)
        return pages.page(request, "lineage.html", page=lineage_page([seen], q, page, name, settings))

    @made.get("/p/{name}/tables/{table}/lineage")
    def columns_of(
        request: Request, name: str, table: str, at: Moment = 0, q: str = "", page: Page = 1
    ) -> Response:
        """Show the way of a table's columns."""
        try:
            maps = pages.views.column_maps(name, table=table).get(table, ((), ()))
        except WracklineError as error:
            return pages.trouble(request, name, error)
        return pages.page(request, "columns.html", page=columns_page(name, table, maps, at, q, page))


def _seen(name: str, board: BoardView) -> LineageSource:
    of = board.followed
    return LineageSource(name, of.kind, of.target, of.server or name, board.halves)
