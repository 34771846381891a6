"""The route of the screen of shapes.

    GET /console/p/{name}/tables/{table}/shapes?old=&new=

In: what asks the schema registry within its bounds.  Out: a route.
"""

from fastapi import APIRouter, Request, Response

from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.shapes.shapes_page import shapes_page
from wrackline.control.runtime.rest.routes.shape_routes import ask_shapes


def add_shapes(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/p/{name}/tables/{table}/shapes")
    async def shapes(request: Request, name: str, table: str, old: int = 0, new: int = 0) -> Response:
        """Show a table's shapes."""
        look = await ask_shapes(pages.views, name, table)
        return pages.page(request, "shapes.html", page=shapes_page(name, table, look, old, new))
