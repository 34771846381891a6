"""The route of positions and log: `GET /console/p/{name}/positions?rewound=`."""

from fastapi import APIRouter, Request, Response

from wrackline.control.console.log.log_page import log_page
from wrackline.control.console.log.rewind_routes import Moment, is_moment
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.ground.times import now_ms
from wrackline.schemas.kafka.board_records import Half


def add_log(made: APIRouter, pages: PageFrame) -> None:
    """Add the route."""

    @made.get("/p/{name}/positions")
    def positions(request: Request, name: str, rewound: Moment = "") -> Response:
        """Show where the source half continues, and how long the log is kept; `rewound`: it was set back."""
        with pages.seen(name) as (one, board):
            page = log_page(one, board.halves[Half.SOURCE], now_ms(), grouped=pages.grouped())
        return pages.page(request, "log.html", page=page, rewound=rewound if is_moment(rewound) else "")
