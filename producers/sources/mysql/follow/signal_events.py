"""Signals from a rows event; signals that can't be read are reported and skipped.

In: an event of the signal table, behind its map.  Out: id, type and data of each row that was inserted.
This table is not captured, so nothing in it sets a table aside or ends the stream.
"""

from collections.abc import Sequence

from wrackline.producers.sources.mysql.events.events import HEADER, header, is_cut
from wrackline.producers.sources.mysql.follow import signal_rows
from wrackline.producers.sources.mysql.follow.table_map_cache import MappedTable, MySqlSchemaLookup
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.frame import Frame


def read_signals(
    mapped: MappedTable, data: bytes, at: int, end: int, frame: Frame, explained: MySqlSchemaLookup, most: int
) -> Sequence[tuple[str, str, str]]:
    """Read the rows; if one of them can't be read, the whole event is skipped."""
    kind = header(data, at - HEADER).kind
    if kind in signal_rows.INSERTS and is_cut(data, at - HEADER, end):
        explained.signal_lost(mapped.table, most)
        return ()
    try:
        return tuple(signal_rows.inserted_signals(mapped.decoder, mapped.signals, data, at, end, kind, frame))
    except OperatorNeeded as error:
        explained.signals_unread(mapped.table, error)
        return ()
