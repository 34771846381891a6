"""The route of the workers: `GET /console/workers`."""

from fastapi import APIRouter, Request, Response

from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.workers.workers_page import workers_page
from wrackline.control.runtime.ground.times import now_ms


def add_workers(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/workers")
    def workers(request: Request) -> Response:
        """Show the workers, and what each of them runs."""
        crew = pages.crew
        page = workers_page(crew.members(), pages.standings(), crew.worker, now_ms())
        return pages.page(request, "workers.html", page=page)
