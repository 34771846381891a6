"""Wishes for single tables by REST.

    POST /connectors/{name}/tables/{table}/pause    no batch of it is begun any more
    POST /connectors/{name}/tables/{table}/resume
    POST /connectors/{name}/tables/{table}/retry    a table that stopped is tried again
    POST /connectors/{name}/tables/{table}/keep     its copy stays when it is gone at the source
    POST /connectors/{name}/tables/{table}/release  target.drop.behavior counts for it again

In: what passes wishes on, and the tables that the board knows.  Out: routes.  202 means that the wish is
written; the board shows when the consumer obeys, some seconds later.
"""

from typing import Protocol

from fastapi import APIRouter, Request, Response

from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.routes.answer_cache import SlowReads
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.redaction import shown_name

NO_TABLE = define(
    "rest.no_table",
    Definite,
    "connector {name} has no table {table}",
    hint="its tables, as they are called here: GET /connectors/{name}/tables",
)
NO_TARGET = define(
    "rest.no_target",
    OperatorNeeded,
    "connector {name} has no target, so nothing of {table} is merged",
    hint="to read existing rows later: POST /connectors/{name}/requests",
)


class TableWishService(Protocol):
    """Passes wishes on."""

    def wish_table(self, name: str, table: str, wish: TableWish, by: str) -> None:
        """Write a wish; raise NO_TABLE or NO_TARGET where there is no such table, or nothing merges it."""
        ...


def routes(wishes: TableWishService) -> APIRouter:
    """Make the routes."""
    made = APIRouter(prefix="/connectors/{name}/tables/{table}", default_response_class=Answer)
    slow = SlowReads()

    async def send(request: Request, name: str, table: str, wish: TableWish) -> Response:
        await slow.ask(wishes.wish_table, name, table, wish, user_of(request))
        return Answer({"table": shown_name(table), "wish": wish.value}, 202)

    @made.post("/pause", status_code=202)
    async def pause(request: Request, name: str, table: str) -> Response:
        """Begin no further batch of a table."""
        return await send(request, name, table, TableWish.PAUSE)

    @made.post("/resume", status_code=202)
    async def resume(request: Request, name: str, table: str) -> Response:
        """Merge a table again."""
        return await send(request, name, table, TableWish.RESUME)

    @made.post("/retry", status_code=202)
    async def retry(request: Request, name: str, table: str) -> Response:
        """Try a table again that has stopped."""
        return await send(request, name, table, TableWish.RETRY)

    @made.post("/keep", status_code=202)
    async def keep(request: Request, name: str, table: str) -> Response:
        """Keep the copy of a table that is gone at the source."""
        return await send(request, name, table, TableWish.KEEP)

    @made.post("/release", status_code=202)
    async def release(request: Request, name: str, table: str) -> Response:
        """Let the settings decide again what becomes of the copy."""
        return await send(request, name, table, TableWish.RELEASE)

    return made


def user_of(request: Request) -> str:
    """Return the name of the user that asks; empty where nobody logs in."""
    user = request.scope.get("user")
    return "" if user is None else str(user.name)
