"""The SQL of a chunk: a request and the table's shape come in, statements go out.  Pure.

    SELECT cells FROM "OWNER"."TABLE" AS OF SCN :s t WHERE ... ORDER BY key FETCH FIRST n ROWS ONLY

Cells have the texts of SQL_REDO (`cell_sql.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.sources.oracle.chunks import key_order
from wrackline.producers.sources.oracle.chunks.key_order import DIALECT
from wrackline.producers.sources.oracle.chunks.key_values import ALIAS, OracleKeyColumn, qualified
from wrackline.producers.sources.oracle.connect.quoting import table_name
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.rows.cell_sql import cell_sql
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.tables.table import TableId

KeyColumns = Mapping[str, OracleKeyColumn]

_AS_OF: Final = " AS OF SCN :s"
_LEAST_SAMPLED: Final = 0.000001  # percent
_MOST_SAMPLED: Final = 99.0


def rows(request: ChunkRequest, shape: Projection, types: Sequence[OracleType], columns: KeyColumns) -> str:
    """Select a chunk as of an SCN."""
    return DIALECT.select(
        _cells(shape, types),
        _source(request.table, _AS_OF),
        where(request, shape, columns),
        key=request.key,
        most=request.most_rows,
    )


def one_key(request: ChunkRequest, shape: Projection, columns: KeyColumns, *, descending: bool) -> str:
    """Select the first or the last key of a range."""
    return DIALECT.select(
        _key(request, columns),
        _source(request.table),
        where(request, shape, columns),
        key=request.key,
        descending=descending,
        most=1,
    )


def one_of(request: ChunkRequest, columns: KeyColumns, bound: Bound, *, most: int) -> str:
    """Select at most `most` rows of one key."""
    same = key_order.key_order(request.table, request.key, columns).one_of([bound])
    return DIALECT.select("1", _source(request.table), same, most=most)


def sampled_keys(request: ChunkRequest, shape: Projection, columns: KeyColumns, percent: float) -> str:
    """Select the keys in some blocks of the table, in their order."""
    sampled = max(_LEAST_SAMPLED, min(percent, _MOST_SAMPLED))
    return DIALECT.select(
        _key(request, columns),
        _source(request.table, f" SAMPLE BLOCK ({sampled:.6f})"),
        where(request, shape, columns),
        key=request.key,
    )


def all_rows(shape: Projection, types: Sequence[OracleType]) -> str:
    """Select a whole table as of an SCN, in any order."""
    return DIALECT.select(_cells(shape, types), _source(shape.table.id, _AS_OF))


def where(request: ChunkRequest, shape: Projection, columns: KeyColumns) -> str:
    """Write the range, the single keys and the additional condition."""
    condition = None
    if request.condition is not None:
        condition = key_order.where(request.table, request.condition, columns, shape.plain_columns)
    return chunk_sql.where(key_order.key_order(request.table, request.key, columns), request, condition)


def _cells(shape: Projection, types: Sequence[OracleType]) -> str:
    """Write a cell for each published column, in the order of the source's."""
    return ", ".join(
        _cell(column.name, kind)
        for column, action, kind in zip(shape.source.columns, shape.actions, types, strict=True)
        if action is not Plain.DROP
    )


def _key(request: ChunkRequest, columns: KeyColumns) -> str:
    named = (columns[name] for name in request.key if name in columns)  # `where` refuses the others
    return ", ".join(_cell(column.name, column.type) for column in named)


def _cell(name: str, kind: OracleType) -> str:
    return cell_sql(kind).format(qualified(name))


def _source(table: TableId, at: str = "") -> str:
    return f"{table_name(table)}{at} {ALIAS}"
