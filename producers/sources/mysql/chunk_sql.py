"""The SQL of a chunk: a request and the table's shape come in, statements go out.  Pure.

The statements take no parameters, so here alone values enter SQL text, as literals that hold nothing that
anyone wrote (`key_values.py`).
"""

from collections.abc import Callable, Sequence

from wrackline.producers.chunks import Bound, ChunkRequest
from wrackline.producers.sources.mysql import condition_sql
from wrackline.producers.sources.mysql.key_order import both, key_column, key_order
from wrackline.producers.sources.mysql.key_values import cells
from wrackline.producers.sources.mysql.names import identifier, table_name
from wrackline.producers.sources.mysql.statement_rows import ResultColumn
from wrackline.schemas.projection import Plain, Projection
from wrackline.schemas.table import TableSchema


def rows(request: ChunkRequest, shape: Projection, index: str | None) -> str:
    """Select a chunk."""
    return (
        f"SELECT {columns_of(shape)} FROM {_along(request, index)} WHERE {where(request, shape)}"  # noqa: S608
        f" ORDER BY {_order(request.key)} LIMIT {request.most_rows}"
    )


def one_key(
    request: ChunkRequest, shape: Projection, index: str | None, *, descending: bool, within: str = "TRUE"
) -> str:
    """Select the first or the last key of a range."""
    key = ", ".join(map(identifier, request.key))
    return (
        f"SELECT {key} FROM {_along(request, index)} WHERE {where(request, shape)} AND {within}"  # noqa: S608
        f" ORDER BY {_order(request.key, ' DESC' if descending else '')} LIMIT 1"
    )


def all_rows(shape: Projection) -> str:
    """Select a table whole, in whatever order."""
    return f"SELECT {columns_of(shape)} FROM {table_name(shape.table.id)}"  # noqa: S608


def where(request: ChunkRequest, shape: Projection) -> str:
    """Write the range, the single keys and the additional condition."""
    order = key_order(shape.source, request.key)
    parts = []
    if request.after is not None:
        parts.append(order.after(request.after))
    if request.upto is not None:
        parts.append(order.upto(request.upto))
    if request.only:
        parts.append(order.one_of(request.only))
    if request.condition is not None:
        parts.append(condition_sql.where(shape.source, request.condition, shape.kept))
    return both(parts)


def columns_of(shape: Projection) -> str:
    """Name the columns that are read, as many as the shape has."""
    return ", ".join(
        "NULL" if action is Plain.DROP else identifier(column.name)
        for column, action in zip(shape.source.columns, shape.actions, strict=True)
    )


def bounds(
    shape: TableSchema, key: Sequence[str], columns: tuple[ResultColumn, ...]
) -> Callable[[bytes], Bound]:
    """Return what writes a row's key as a bound."""
    places = [next(i for i, column in enumerate(columns) if column.name == name) for name in key]
    values = [key_column(shape, name) for name in key]

    def bound_of(row: bytes) -> Bound:
        found = cells(row, columns)
        return tuple(
            value.text(found[place], columns[place]) for value, place in zip(values, places, strict=True)
        )

    return bound_of


def index_of(key: Sequence[str], parts: Sequence[tuple[str, str | None, bool]]) -> str | None:
    """Return the index that has these columns first; `parts`: its name, a column, whether that is whole."""
    found: dict[str, list[str | None]] = {}
    for name, column, usable in parts:
        found.setdefault(name, []).append(column if usable else None)
    fitting = [name for name, columns in found.items() if columns[: len(key)] == list(key)]
    return min(fitting, key=lambda name: (name != "PRIMARY", len(found[name]), name), default=None)


def _along(request: ChunkRequest, index: str | None) -> str:
    """Name the table and the index to read it by; a condition may be narrower than any index of ours."""
    name = table_name(request.table)
    return name if index is None or request.condition else f"{name} FORCE INDEX ({identifier(index)})"


def _order(key: Sequence[str], direction: str = "") -> str:
    return ", ".join(f"{identifier(name)}{direction}" for name in key)
