"""What the log tells of a table, turned into what its rows are written with.  Pure, but for whom it asks.

    table map  --not captured-->  Counted: its rows are numbered, and nothing else is done with them
               --captured------>  Written: a decoder of its rows, in a shape that was announced
               --signals------->  Heard: its new rows are read for what they say

A statement's maps stand before its rows, and the same number means the same table until the table is opened
anew; so a map that is there already costs one comparison.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wrackline.producers.sources.mysql import table_map
from wrackline.producers.sources.mysql.images import Images
from wrackline.producers.sources.mysql.rows import RowDecoder
from wrackline.producers.sources.mysql.signal_rows import Order
from wrackline.producers.sources.mysql.table_map import TableMap
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId, TableSchema

_MOST = 10_000  # maps that are kept; they come again with each statement


class Writers(NamedTuple):
    """What a captured table is written with: its shape and the registered ids of its schemas."""

    shape: Projection
    key_id: int
    value_id: int


class Explained(Protocol):
    """Explains what the log names."""

    def writers(self, told: TableMap, names: Mapping[str, str]) -> Writers | None:
        """Return what the rows behind this map are written with; OperatorNeeded is the table's own fault.

        `names` are its renamed columns, with the name that each had first.  None: it is no table.
        """
        ...

    def signals(self, told: TableMap) -> Writers:
        """Return the same of the signal table, which goes nowhere."""
        ...

    def described(self, table: TableId, names: Mapping[str, str]) -> Writers | None:
        """Return the same of a table that the log only names; None where it is not there any more."""
        ...

    def altered(self, table: TableId) -> None:
        """The log tells of a change of this table: what was known of it may be old."""
        ...

    def decoder(self, ref: int, told: TableMap, writers: Writers) -> RowDecoder:
        """Make what decodes its rows."""
        ...


@dataclass(slots=True)
class Mapped:
    """A table as a map tells it; without a decoder its rows are counted."""

    raw: bytes
    table: TableId
    images: Images | None  # None: not even that can be done
    decoder: RowDecoder | None = None
    signals: Order | None = None  # of the signal table

    def count(self, data: bytes, at: int, end: int, kind: int) -> int:
        """Count the rows of an event, without a look at what they hold."""
        return 0 if self.images is None else max(self.images.rows(data, at, end, kind), 0)


class Maps:
    """The table maps that hold."""

    def __init__(self, make: Callable[[bytes], Mapped]) -> None:
        self._make = make
        self._held: dict[int, Mapped] = {}

    def take(self, raw: bytes) -> None:
        """Take a map's body."""
        number = int.from_bytes(raw[:6], "little")
        held = self._held.get(number)
        if held is None or held.raw != raw:
            self._held[number] = self._make(raw)

    def of(self, number: int) -> Mapped | None:
        """Return what a rows event's number means."""
        return self._held.get(number)

    def tidy(self) -> None:
        """Forget maps where they have become too many; between transactions."""
        if len(self._held) > _MOST:
            self._held.clear()

    def forget(self) -> None:
        """Have each table explained anew."""
        self._held.clear()

    def give_up(self, table: TableId) -> None:
        """Only count the rows of a table from here on."""
        for held in self._held.values():
            if held.table == table:
                held.decoder = None


class Announcement(NamedTuple):
    """A shape that the stream has told."""

    shape: TableSchema
    ref: int  # used once
    value_id: int


class Announced:
    """The shapes that the stream has told."""

    def __init__(self) -> None:
        self._known: dict[TableId, Announcement] = {}
        self._refs = 0

    def known(self, table: TableId) -> Announcement | None:
        """Return a table's last one."""
        return self._known.get(table)

    def add(self, table: TableId, writers: Writers) -> Announcement:
        """Take a table's new shape."""
        self._refs += 1
        made = self._known[table] = Announcement(writers.shape.table, self._refs, writers.value_id)
        return made

    def forget(self, table: TableId) -> None:
        """Whoever has this name next is another table."""
        self._known.pop(table, None)


def name_of(raw: bytes) -> TableId:
    """Read whose map it is, and nothing else."""
    try:
        size = raw[8]
        database = raw[9 : 9 + size].decode()
        at = 10 + size
        return TableId(database, database, raw[at + 1 : at + 1 + raw[at]].decode())
    except (IndexError, UnicodeDecodeError):
        raise table_map.TABLE_MAP_BROKEN(table="a table") from None


def counted(raw: bytes, table: TableId, *, mariadb: bool) -> Mapped:
    """Return what a table that nobody captures is; of one that can't be read no rows are counted."""
    try:
        return Mapped(raw, table, Images(table_map.parse(raw, mariadb=mariadb).columns))
    except OperatorNeeded:
        return Mapped(raw, table, None)
