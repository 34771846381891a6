"""Which column goes where, by REST.

    GET /connectors/{name}/lineage?table=&after=    tables with their columns now, or one with its history
    GET /lineage?column=                            where a column comes from and goes to, in all pipelines

In: the boards that a worker follows.  Out: routes.  No server is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Query, Response

from wrackline.control.runtime.lineage.column_paths import (
    ColumnPath,
    ColumnSpan,
    MapsOfTable,
    PathPeriod,
    periods,
    since,
    spans_of,
)
from wrackline.control.runtime.rest.model.answer import Answer
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.rest.routes.table_routes import NO_TABLE
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import shown_name

MOST_TABLES: Final = 100  # in one answer
MOST_SPANS: Final = 500


class ColumnMaps(Protocol):
    """Knows the maps that both halves have reported; any thread may ask."""

    def names(self) -> Collection[str]:
        """Return the pipelines' names."""
        ...

    def column_maps(self, name: str, column: str = "", table: str = "") -> Mapping[str, MapsOfTable]:
        """Return those of one table, or of the tables that may have a column."""
        ...


def routes(looks: ColumnMaps) -> APIRouter:
    """Make the routes."""
    made = APIRouter(default_response_class=Answer)

    @made.get("/connectors/{name}/lineage")
    def lineage(name: str, table: str = "", after: str = "") -> Response:
        """Return each table's columns as they are now, or those of one table with all that is remembered."""
        if name not in looks.names():
            raise NO_CONNECTOR(name=shown_name(name))
        found = looks.column_maps(name, table=table)
        if table and not found:
            raise NO_TABLE(name=name, table=shown_name(table))
        keys = [key for key in sorted(found) if key > after]
        shown = {key: periods(found[key]) for key in keys[:MOST_TABLES]}
        tables = [_table(key, known, whole=bool(table)) for key, known in shown.items()]
        return Answer(
            {
                "pipeline": name,
                "tables": tables,
                "next": keys[MOST_TABLES - 1] if len(keys) > MOST_TABLES else None,
            }
        )

    @made.get("/lineage")
    def column_lineage(column: Annotated[str, Query(pattern=r".\..")]) -> Response:
        """Return where a column came from and went to, at each time that is remembered."""
        spans: list[dict[str, Any]] = []
        unknown = []
        for name in sorted(looks.names()):
            try:
                found = looks.column_maps(name, column=column)
            except WracklineError:  # the connector's status says what is wrong with it
                unknown.append(name)
                continue
            for key, maps in found.items():
                spans += [_span(name, key, span) for span in spans_of(key, periods(maps), column)]
        left_out = max(0, len(spans) - MOST_SPANS)
        return Answer(
            {"column": column, "spans": spans[:MOST_SPANS], "left_out": left_out, "unknown": unknown}
        )

    return made


def _table(key: str, history: Sequence[PathPeriod], *, whole: bool) -> dict[str, Any]:
    newest = history[-1]
    columns = [{**_path(path), "since_ms": since(history, path)} for path in newest.paths]
    earlier = [
        {
            "since_ms": one.since_ms,
            "until_ms": one.until_ms,
            "columns": [_path(path) for path in one.paths],
            "left_out": one.left_out,
        }
        for one in history[:-1]
    ]
    return {
        "name": key,
        "table": newest.table,
        "copy": newest.copy,
        "since_ms": newest.since_ms,
        "columns": columns,
        "left_out": newest.left_out,
        **({"earlier": earlier} if whole else {}),
    }


def _span(pipeline: str, key: str, span: ColumnSpan) -> dict[str, Any]:
    return {
        "pipeline": pipeline,
        "name": key,
        "table": span.table,
        "copy": span.copy,
        "since_ms": span.since_ms,
        "until_ms": span.until_ms,
        **_path(span.path),
    }


def _path(path: ColumnPath) -> dict[str, Any]:
    return {**path._asdict(), "renamed": path.renamed}
