"""The routes of existing rows.

    GET  /console/p/{name}/snapshot               requests, tables under way, the form
    POST /console/p/{name}/snapshot               asks for rows
    POST /console/p/{name}/snapshot/do/{verb}     pause, resume, stop: all reads of the pipeline

In: the frame of the pages.  Out: routes.  An action ends once its signal is in Kafka; the page then shows
what the task has made of it.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.rows.request_form import RequestForm, form_of, signal_of
from wrackline.control.console.rows.rows_page import rows_page
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.routes.table_routes import user_of
from wrackline.control.runtime.services.signalling import signal_body
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.signals import RejectedSignal
from wrackline.schemas.redaction import shown_name

_VERBS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "pause": ("pause-snapshot", {}),
    "resume": ("resume-snapshot", {}),
    "stop": ("stop-snapshot", {"type": "incremental"}),
}


def add_rows(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""

    @made.get("/p/{name}/snapshot")
    def rows(request: Request, name: str, sent: str = "") -> Response:
        """Show requests and what is under way."""
        return _shown(pages, request, name, sent=sent)

    @made.post("/p/{name}/snapshot")
    async def ask(request: Request, name: str) -> Response:
        """Ask for rows; what the task would refuse is said beside the form."""
        form = form_of(await read_form(request))
        body = signal_of(form, sent := _request_id(request))
        if isinstance(body, RejectedSignal):
            refused = replace(form, refusal=body.reason)
            return await run_in_threadpool(_shown, pages, request, name, refused)
        return await run_in_threadpool(_send, pages, name, sent, body)

    @made.post("/p/{name}/snapshot/do/{verb}")
    def act(request: Request, name: str, verb: str) -> Response:
        """Pause, resume or stop all reads."""
        if verb not in _VERBS:
            return pages.page(request, "missing.html", 404, what=f"{shown_name(verb)} of reads")
        body = signal_body(sent := _request_id(request), *_VERBS[verb])
        if isinstance(body, RejectedSignal):
            raise TypeError(body.reason.sentence)
        return _send(pages, name, sent, body)


def _shown(
    pages: PageFrame, request: Request, name: str, form: RequestForm | None = None, sent: str = ""
) -> Response:
    receipts = pages.views.receipts(name)
    with pages.seen(name) as (_, board):
        page = rows_page(name, board.halves[Half.SOURCE], receipts, now_ms(), form, sent)
    return pages.page(request, "rows.html", 400 if form else 200, page=page)


def _send(pages: PageFrame, name: str, sent: str, body: bytes) -> Response:
    pages.crew.standing(name)
    pages.views.request_rows(name, body)
    return RedirectResponse(f"/console/p/{quote(name, safe='')}/snapshot?sent={quote(sent, safe='')}", 303)


def _request_id(request: Request) -> str:
    """Name a request after who asks, so that its receipt says so."""
    by = "".join(letter for letter in user_of(request) if letter.isprintable())[:64]
    return f"{by or 'console'}-{uuid.uuid4().hex[:12]}"
