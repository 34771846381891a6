"""The columns and rows that a chunk selects: a request and the table's shape in, SQL out.  Pure."""

from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.kit.reads.dialect import C, Dialect
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.schemas.events.projection import Plain, Projection


def columns_of(dialect: Dialect[C], shape: Projection) -> str:
    """Name the columns that are read, as many as the shape has."""
    return ", ".join(
        "NULL" if action is Plain.DROP else dialect.quote(column.name)
        for column, action in zip(shape.source.columns, shape.actions, strict=True)
    )


def where(order: KeyOrder[C], request: ChunkRequest, condition: str | None) -> str:
    """Write the range, the single keys and the additional condition, which is SQL already."""
    parts = []
    if request.after is not None:
        parts.append(order.after(request.after))
    if request.upto is not None:
        parts.append(order.upto(request.upto))
    if request.only:
        parts.append(order.one_of(request.only))
    if condition is not None:
        parts.append(condition)
    return order.dialect.both(parts)
