"""What decodes the binary rows of a statement, whose columns are told as the log tells a table's.  Pure.

    what the server says of a result's columns, the shape that was selected  ->  ResultDecoder

A result says less of a column than a table map does, and needs less: texts are in utf8mb4 whatever the
column's charset is, labels come as texts, decimals with their point, fixed bytes with their padding.  Only a
moment's digits and the number of bits are asked for, where such a column is carried as text.
"""

from collections.abc import Sequence

from wrackline.producers.plugin import WriterIds
from wrackline.producers.sources.mysql import wire_types as wire
from wrackline.producers.sources.mysql.rows import ResultDecoder
from wrackline.producers.sources.mysql.statement_rows import ResultColumn
from wrackline.producers.sources.mysql.table_map import WireColumn
from wrackline.schemas.projection import Projection

_NO_REF = 0  # of a table in changes: a chunk's rows have none


def decoding(shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> ResultDecoder:
    """Make the reader of rows whose columns the server describes so."""
    return ResultDecoder(_NO_REF, shape, [as_logged(column) for column in columns], ids.key or 0, ids.value)


def as_logged(column: ResultColumn) -> WireColumn:
    """Describe a result's column as the log would."""
    return WireColumn(
        column.name,
        column.wire,
        column.length if column.wire == wire.BIT else column.decimals,
        nullable=True,
        unsigned=column.unsigned,
        collation=column.charset,
    )
