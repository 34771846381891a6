"""A row with only its event's head, because the event is larger than our limit."""

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

ROW_CUT = define(
    "mysql.row_too_large",
    OperatorNeeded,
    "the log contains a change of {table} with more than {most} bytes",
    hint="raise the limit: max.row.bytes; then read the table again: wrackline snapshot start"
    " <pipeline.toml> '{table}'",
)


class OversizedRow:
    """Replaces the decoder of a captured table."""

    rows = 1

    def __init__(self, table: TableId, most: int) -> None:
        self._table, self._most = table, most

    def decode(self, *_: object) -> int:
        """Raise the error that the row is too large."""
        raise ROW_CUT(table=self._table, most=self._most)
