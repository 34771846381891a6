"""The SQL of a chunk: a request and the table's shape come in, statements go out.  Pure.

The statements take no parameters, so only here do values enter SQL text, as literals without any text that a
user wrote (`key_values.py`).
"""

from collections.abc import Callable, Sequence

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.sources.mysql.chunks import condition_sql
from wrackline.producers.sources.mysql.chunks.key_order import DIALECT, key_column, key_order
from wrackline.producers.sources.mysql.chunks.key_values import cells
from wrackline.producers.sources.mysql.connect.quoting import identifier, table_name
from wrackline.producers.sources.mysql.connect.statement_rows import ResultColumn
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableSchema


def rows(request: ChunkRequest, shape: Projection, index: str | None) -> str:
    """Select a chunk."""
    columns = chunk_sql.columns_of(DIALECT, shape)
    source, condition = _along(request, index), where(request, shape)
    return DIALECT.select(columns, source, condition, key=request.key, most=request.most_rows)


def one_key(
    request: ChunkRequest, shape: Projection, index: str | None, *, descending: bool, within: str = ""
) -> str:
    """Select the first or the last key of a range."""
    columns, source = DIALECT.named(request.key), _along(request, index)
    condition = DIALECT.both([where(request, shape), within or DIALECT.always])
    return DIALECT.select(columns, source, condition, key=request.key, descending=descending, most=1)


def one_of(request: ChunkRequest, shape: Projection, bound: Bound, *, most: int) -> str:
    """Select at most `most` rows of one key."""
    same = key_order(shape.source, request.key).one_of([bound])
    return DIALECT.select("1", table_name(request.table), same, most=most)


def all_rows(shape: Projection) -> str:
    """Select a whole table, in any order."""
    return DIALECT.select(chunk_sql.columns_of(DIALECT, shape), table_name(shape.table.id))


def where(request: ChunkRequest, shape: Projection) -> str:
    """Write the range, the single keys and the additional condition."""
    condition = None
    if request.condition is not None:
        condition = condition_sql.where(shape.source, request.condition, shape.plain_columns)
    return chunk_sql.where(key_order(shape.source, request.key), request, condition)


def bounds(
    shape: TableSchema, key: Sequence[str], columns: tuple[ResultColumn, ...]
) -> Callable[[bytes], Bound]:
    """Return a function that writes a row's key as a bound."""
    places = [next(i for i, column in enumerate(columns) if column.name == name) for name in key]
    values = [key_column(shape, name) for name in key]

    def bound_of(row: bytes) -> Bound:
        found = cells(row, columns)
        return tuple(
            value.text(found[place], columns[place]) for value, place in zip(values, places, strict=True)
        )

    return bound_of


def index_of(key: Sequence[str], parts: Sequence[tuple[str, str | None, bool]]) -> str | None:
    """Return the index that begins with these columns; `parts`: its name, a column, whether it is whole."""
    found: dict[str, list[str | None]] = {}
    for name, column, usable in parts:
        found.setdefault(name, []).append(column if usable else None)
    fitting = [name for name, columns in found.items() if columns[: len(key)] == list(key)]
    return min(fitting, key=lambda name: (name != "PRIMARY", len(found[name]), name), default=None)


def _along(request: ChunkRequest, index: str | None) -> str:
    """Name the table and the index to read by; a condition may be narrower than the key's index."""
    name = table_name(request.table)
    return name if index is None or request.condition else f"{name} FORCE INDEX ({identifier(index)})"
