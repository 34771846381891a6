"""A table's shapes by REST.

    GET /connectors/{name}/tables/{table}/shapes    each version of its schema, with what it changed

In: what asks the schema registry.  Out: a route, and the bounded way to ask that the console shares.
"""

from typing import Any, Final, Protocol

from fastapi import APIRouter, Response

from wrackline.control.runtime.events.shape_looks import ShapeLook
from wrackline.control.runtime.events.table_shapes import TableShape, differences, steps_of
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.routes.answer_cache import STILL, AnswerCache
from wrackline.schemas.errors import Transient, WracklineError, define

PATIENCE_S: Final = 2.0

NO_SHAPES_YET = define(
    "shapes.no_answer",
    Transient,
    "the schema registry of {name} did not answer in {seconds:.0f} s",
    hint="ask again in some seconds; whether it runs: curl <schema.registry.url>/subjects",
)


class ShapeService(Protocol):
    """Asks for shapes; any thread may ask, and has to wait."""

    quick: AnswerCache

    def brokers(self, name: str) -> str:
        """Raise NO_CONNECTOR for an unknown name."""
        ...

    def shapes(self, name: str, table: str) -> ShapeLook:
        """Ask the registry."""
        ...


async def ask_shapes(looks: ShapeService, name: str, table: str) -> ShapeLook:
    """Return a table's shapes; raise NO_SHAPES_YET after two seconds."""
    looks.brokers(name)
    try:
        found: ShapeLook = await looks.quick.answer(
            ("shapes", name, table), lambda: looks.shapes(name, table), 0
        )
    except WracklineError as error:
        if error.code == STILL.code:
            raise NO_SHAPES_YET(name=name, seconds=PATIENCE_S) from None
        raise
    return found


def routes(looks: ShapeService) -> APIRouter:
    """Make the route."""
    made = APIRouter(prefix="/connectors/{name}", default_response_class=Answer)

    @made.get("/tables/{table}/shapes")
    async def shapes(name: str, table: str) -> Response:
        """Return a table's shapes, the oldest first."""
        found = await ask_shapes(looks, name, table)
        return Answer(
            {
                "subject": found.subject,
                "left_out": found.left_out,
                "shapes": [_document(old, new) for old, new in steps_of(found.shapes)],
            }
        )

    return made


def _document(old: TableShape | None, new: TableShape) -> dict[str, Any]:
    changes = [] if old is None else differences(old, new)
    return {
        "version": new.version,
        "schema_id": new.schema_id,
        "columns": [
            {"name": one.name, "type": one.type, "required": one.required, "key": one.in_key}
            for one in new.columns
        ],
        "changes": [
            {"change": one.kind.value, "column": one.column, "before": one.before, "after": one.after}
            for one in changes
        ],
    }
