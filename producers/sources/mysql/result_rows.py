"""What decodes the binary rows of a statement, whose columns are told as the log tells a table's.  Pure."""

from collections.abc import Sequence

from wrackline.producers.plugin import WriterIds
from wrackline.producers.sources.mysql.rows import ResultDecoder
from wrackline.producers.sources.mysql.statement_rows import ResultColumn
from wrackline.producers.sources.mysql.table_map import WireColumn
from wrackline.schemas.projection import Projection


def decoding(shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> ResultDecoder:
    """Make the reader of rows whose columns the server describes so."""
    wired = [
        WireColumn(
            column.name,
            column.wire,
            column.length,
            nullable=True,
            unsigned=column.unsigned,
            collation=column.charset,
        )
        for column in columns
    ]
    return ResultDecoder(0, shape, wired, ids.key or 0, ids.value)
