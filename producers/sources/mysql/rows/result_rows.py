"""The decoder of a statement's binary rows, whose columns are described as in a table map.  Pure.

    the server's description of a result's columns, the selected shape  ->  ResultDecoder

A result says less about a column than a table map, and needs less: texts are in utf8mb4 for any charset of
the column, labels come as texts, decimals with their point, fixed bytes with their padding.  Only a moment's
digits and the number of bits are needed, where such a column is carried as text.
"""

from collections.abc import Sequence

from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.producers.sources.mysql.connect.statement_rows import ResultColumn
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.rows import ResultDecoder
from wrackline.schemas.events.projection import Projection

_NO_REF = 0  # the ref of a table in changes: a chunk's rows have none


def result_decoder(shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> ResultDecoder:
    """Make the reader of rows with these columns, as the server describes them."""
    return ResultDecoder(_NO_REF, shape, [wire_column(column) for column in columns], ids.key or 0, ids.value)


def wire_column(column: ResultColumn) -> WireColumn:
    """Describe a result's column as the log would."""
    return WireColumn(
        column.name,
        column.wire,
        column.length if column.wire == wire.BIT else column.decimals,
        nullable=True,
        unsigned=column.unsigned,
        collation=column.charset,
    )
