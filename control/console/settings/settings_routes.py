"""The route of the screen of settings: `GET /console/p/{name}/settings?show=&q=`."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.settings.settings_page import CHANGED, settings_page

Text = Annotated[str, Query(max_length=200)]


def add_settings(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/p/{name}/settings")
    def settings(request: Request, name: str, show: str = CHANGED, q: Text = "") -> Response:
        """Show what a pipeline runs with."""
        pages.crew.standing(name)
        page = settings_page(name, pages.crew.settings_in_force(name), show, q, grouped=pages.grouped())
        return pages.page(request, "settings.html", page=page)
