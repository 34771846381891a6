"""The routes of earlier positions.

    GET  /console/p/{name}/rewind?to=&as_new=&page=    those that were kept, and what going back would do
    POST /console/p/{name}/rewind                      goes back, once the pipeline's name was typed

In: what edits positions.  Out: routes.  The page asks Kafka for the positions, and the source whether it can
begin at the chosen one; both have a bound of time, and their error is on the page.  Only a stopped pipeline
of a group is changed: for one of files the page names the command.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from wrackline.control.console.access.sent_form import read_form
from wrackline.control.console.log.rewind_page import RewindLook, RewindQuestion, is_stopped, rewind_page
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.runtime.ground.times import now_ms, parse_moment
from wrackline.control.runtime.rest.routes.answer_cache import AnswerCache
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.redaction import shown_name

NO_MOMENT = define(
    "console.no_moment",
    Definite,
    "{given} is not a time",
    hint="write it as 2026-05-01T12:00:00Z; without a zone it is UTC",
)
NOT_CONFIRMED = define(
    "console.not_confirmed",
    Definite,
    "nothing was done, because the name that was typed is not {name}",
    hint="type {name} to confirm",
)
PATIENCE_S: Final = 10.0
_FRESH_S: Final = 5.0
_LONGEST: Final = 100  # characters of a time
Page = Annotated[int, Query(ge=1)]
Moment = Annotated[str, Query(max_length=_LONGEST)]


def add_rewind(made: APIRouter, pages: PageFrame) -> None:
    """Add the routes."""
    asked = AnswerCache(PATIENCE_S)

    async def shown(
        request: Request,
        name: str,
        question: RewindQuestion,
        page: int = 1,
        refusal: WracklineError | None = None,
    ) -> Response:
        standing = pages.crew.standing(name)
        history: Sequence[PastPosition] = ()
        moves: Sequence[PlannedMove] = ()
        grouped, error = pages.grouped(), None if refusal is None else refusal.document()
        try:
            history = await asked.answer(name, lambda: pages.crew.offset_history(name), _FRESH_S)
            if question.to and grouped:
                moves = await asked.answer((name, question), lambda: _rewind(pages, name, question), 0)
        except WracklineError as wrong:
            error = error or wrong.document()
        look = RewindLook(history, moves, is_stopped(standing), grouped, error)
        made = rewind_page(name, question, look, now_ms(), page)
        return pages.page(request, "rewind.html", 200 if error is None else 409, page=made)

    @made.get("/p/{name}/rewind")
    async def preview(
        request: Request, name: str, to: Moment = "", *, as_new: bool = False, page: Page = 1
    ) -> Response:
        """Show the positions that were kept, and what going back would do."""
        return await shown(request, name, RewindQuestion(to.strip(), as_new), page)

    @made.post("/p/{name}/rewind")
    async def rewind(request: Request, name: str) -> Response:
        """Go back."""
        form = await read_form(request)
        question = RewindQuestion(form.get("to", "")[:_LONGEST].strip(), form.get("as_new") == "true")
        try:
            if form.get("name", "").strip() != name:
                raise NOT_CONFIRMED(name=shown_name(name))
            await run_in_threadpool(_rewind, pages, name, question, dry_run=False)
        except WracklineError as error:
            return await shown(request, name, question, refusal=error)
        said = urlencode({"rewound": question.to})
        return RedirectResponse(f"/console/p/{quote(name, safe='')}/positions?{said}", 303)


def is_moment(text: str) -> bool:
    """Whether a text is a time."""
    try:
        parse_moment(text)
    except ValueError:
        return False
    return True


def _rewind(
    pages: PageFrame, name: str, question: RewindQuestion, *, dry_run: bool = True
) -> Sequence[PlannedMove]:
    return pages.crew.rewind(name, _moment(question.to), as_new=question.as_new, dry_run=dry_run)


def _moment(text: str) -> datetime:
    try:
        return parse_moment(text)
    except ValueError:
        raise NO_MOMENT(given=shown_name(text)) from None
