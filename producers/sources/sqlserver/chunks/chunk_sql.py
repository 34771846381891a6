"""The SQL of a chunk: a request and the table's shape come in, statements go out.  Pure.

A chunk is read under locks, also where READ_COMMITTED_SNAPSHOT is on: then the statement waits for a writer
whose commit may already be in the log, and so sees it.  A read of versions would show the row before.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.sources.sqlserver.chunks import key_order
from wrackline.producers.sources.sqlserver.chunks.key_order import DIALECT
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.connect.quoting import table_name
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

LOCKED: Final = " WITH (READCOMMITTEDLOCK)"

KeyColumns = Mapping[str, SqlServerKeyColumn]


def rows(request: ChunkRequest, shape: Projection, columns: KeyColumns, *, versions: bool = False) -> str:
    """Select a chunk; `versions`: the transaction reads versions, because the settings say so."""
    return DIALECT.select(
        chunk_sql.columns_of(DIALECT, shape),
        _source(request.table, versions=versions),
        where(request, shape, columns),
        key=request.key,
        most=request.most_rows,
    )


def one_key(request: ChunkRequest, shape: Projection, columns: KeyColumns, *, descending: bool) -> str:
    """Select the first or the last key of a range."""
    return DIALECT.select(
        DIALECT.named(request.key),
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


def all_rows(shape: Projection) -> str:
    """Select a whole table in any order, as its transaction's snapshot has it."""
    return DIALECT.select(chunk_sql.columns_of(DIALECT, shape), table_name(shape.table.id))


def where(request: ChunkRequest, shape: Projection, columns: KeyColumns) -> str:
    """Write the range, the single keys and the additional condition."""
    condition = None
    if request.condition is not None:
        condition = key_order.where(request.table, request.condition, columns, shape.plain_columns)
    return chunk_sql.where(key_order.key_order(request.table, request.key, columns), request, condition)


def _source(table: TableId, *, versions: bool = False) -> str:
    return table_name(table) + ("" if versions else LOCKED)
