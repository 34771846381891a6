"""The log's table maps, turned into the decoders of their rows.  Pure, except for the lookup that it calls.

    table map  --not captured-->  MappedTable: its rows are numbered, and nothing else is done with them
               --captured------>  MappedTable: a decoder of its rows, in a shape that was announced
               --signals------->  MappedTable: its new rows are read for what they say

A statement's maps come before its rows, and the same number means the same table until the table is opened
again; so a known map costs one comparison.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wrackline.producers.sources.mysql.events import table_map
from wrackline.producers.sources.mysql.events.events import HEADER, is_cut
from wrackline.producers.sources.mysql.events.table_map import TableMap
from wrackline.producers.sources.mysql.follow.signal_rows import SignalColumns
from wrackline.producers.sources.mysql.rows.images import Images
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

_MOST = 10_000  # maps that are kept; they come again with each statement


class MySqlRegisteredShape(NamedTuple):
    """How a captured table is written: its shape and the registered ids of its schemas."""

    shape: Projection
    key_id: int
    value_id: int


class MySqlSchemaLookup(Protocol):
    """Explains the tables that the log names."""

    def writers(self, told: TableMap, names: Mapping[str, str]) -> MySqlRegisteredShape | None:
        """Return the shape and schema ids of this map's rows; OperatorNeeded is the table's own fault.

        `names` are its renamed columns, each with its first name.  None: it is not a table.
        """
        ...

    def signals(self, told: TableMap) -> MySqlRegisteredShape:
        """Return the same for the signal table, which is not published."""
        ...

    def described(self, table: TableId, names: Mapping[str, str]) -> MySqlRegisteredShape | None:
        """Return the same for a table that the log only names; None where it no longer exists."""
        ...

    def signal_lost(self, table: TableId, most: int) -> None:
        """Count and report a signal that is skipped because its event has more than `most` bytes."""
        ...

    def signals_unread(self, table: TableId, error: OperatorNeeded) -> None:
        """Count and report signals that are skipped because of this error."""
        ...

    def altered(self, table: TableId) -> None:
        """Note that the log has a change of this table: its known facts may be old."""
        ...

    def decoder(self, ref: int, told: TableMap, writers: MySqlRegisteredShape) -> MySqlRowDecoder:
        """Make the decoder of its rows."""
        ...


@dataclass(slots=True)
class MappedTable:
    """A table as a map describes it; without a decoder its rows are counted."""

    raw: bytes
    table: TableId
    images: Images | None  # None: its rows can't be counted
    decoder: MySqlRowDecoder | None = None
    signals: SignalColumns | None = None  # of the signal table

    def count(self, data: bytes, at: int, end: int, kind: int) -> int:
        """Count the rows of an event, without a look at their values.

        An event that was cut has one row (`stream_options.most_event_bytes`).  An event whose rows can't be
        counted has one row too, so that its count is the same with and without a cut.
        """
        if self.images is None or is_cut(data, at - HEADER, end):
            return 1
        return max(self.images.rows(data, at, end, kind), 1)


class TableMapCache:
    """The current table maps."""

    def __init__(self, make: Callable[[bytes], MappedTable]) -> None:
        self._make = make
        self._held: dict[int, MappedTable] = {}

    def take(self, raw: bytes) -> None:
        """Take a map's body."""
        number = int.from_bytes(raw[:6], "little")
        held = self._held.get(number)
        if held is None or held.raw != raw:
            self._held[number] = self._make(raw)

    def of(self, number: int) -> MappedTable | None:
        """Return what a rows event's number means."""
        return self._held.get(number)

    def tidy(self) -> None:
        """Forget the maps if they have become too many; called between transactions."""
        if len(self._held) > _MOST:
            self._held.clear()

    def forget(self) -> None:
        """Have each table explained again."""
        self._held.clear()

    def give_up(self, table: TableId) -> None:
        """Only count the rows of a table from here on."""
        for held in self._held.values():
            if held.table == table:
                held.decoder = None


def name_of(raw: bytes) -> TableId:
    """Read only the table's name from a map."""
    try:
        size = raw[8]
        database = raw[9 : 9 + size].decode()
        at = 10 + size
        return TableId(database, database, raw[at + 1 : at + 1 + raw[at]].decode())
    except (IndexError, UnicodeDecodeError):
        raise table_map.TABLE_MAP_BROKEN(table="a table") from None


def counted_table(raw: bytes, table: TableId, *, mariadb: bool, again: bool = False) -> MappedTable:
    """Return an uncaptured table; if its map can't be read, its rows are not counted.

    `again`: its next map is explained again, even if it is the same.
    """
    held = b"" if again else raw
    try:
        return MappedTable(held, table, Images(table_map.parse(raw, mariadb=mariadb).columns))
    except OperatorNeeded:
        return MappedTable(held, table, None)
