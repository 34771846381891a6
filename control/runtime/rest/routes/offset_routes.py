"""A connector's earlier positions by REST, and the way back to them.

    GET  /connectors/{name}/offsets/history?limit=        as `wrackline offsets history`, oldest first
    POST /connectors/{name}/offsets/rewind?dry_run=true   {"to": "2026-05-01T12:00:00Z", "as_new": false}

In: connectors, and a group where REST edits positions.  Out: routes.  A dry run asks the source whether it
can begin there, says how far back that is, and changes nothing; it may be asked while the connector runs.
"""

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Query, Request, Response

from wrackline.control.runtime.ground.times import parse_moment
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.body import json_of
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, Connectors, WritableConnectors
from wrackline.control.runtime.rest.model.sent_settings import MOST
from wrackline.control.runtime.rest.routes.answer_cache import SlowReads
from wrackline.control.runtime.rest.routes.connector_routes import BY_FILE
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.redaction import shown_name

NOT_REWIND = define(
    "rest.not_rewind",
    Definite,
    "the request's body does not say where to go back to: {why}",
    hint='send {{"to": "2026-05-01T12:00:00Z"}}, and "as_new": true to have targets apply the events again',
)
_USUAL: Final = 1_000
_MOST: Final = 50_000  # positions: 30 days, one a minute


def routes(crew: Connectors, group: WritableConnectors | None = None) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}/offsets", default_response_class=Answer)
    slow = SlowReads()

    def known(name: str) -> str:
        if name not in crew.names():
            raise NO_CONNECTOR(name=shown_name(name))
        return name

    @made.get("/history")
    async def history(name: str, limit: Annotated[int, Query(ge=1, le=_MOST)] = _USUAL) -> Response:
        """Return the newest positions that were kept, oldest first."""
        kept = await slow.ask(crew.offset_history, known(name))
        shown = [asdict(one) for one in kept[-limit:]]
        return Answer({"history": shown, "left_out": len(kept) - len(shown)})

    @made.post("/rewind")
    async def rewind(name: str, request: Request, *, dry_run: bool = False) -> Response:
        """Continue where the connector was at a moment, or report what that would do."""
        if group is None:
            raise BY_FILE(method="POST of a rewind")
        to, as_new = _sent(await json_of(request, MOST))
        back = partial(group.rewind, known(name), to, as_new=as_new, dry_run=dry_run)
        moves = await slow.ask(back)
        return Answer({"dry_run": dry_run, "as_new": as_new, "positions": [asdict(one) for one in moves]})

    return made


def _sent(body: bytes) -> tuple[datetime, bool]:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise NOT_REWIND(why="it is not JSON") from None
    match read:
        case {"to": str(to), **more} if set(more) <= {"as_new"} and isinstance(
            more.get("as_new", False), bool
        ):
            try:
                return parse_moment(to), bool(more.get("as_new", False))
            except ValueError:
                raise NOT_REWIND(why="to is not a time as ISO writes it") from None
    raise NOT_REWIND(why="it is not an object of to and as_new")
