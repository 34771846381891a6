"""Which column goes where: a table's map as one half of a pipeline has it, and the newest maps of each table.

    source half    the table's columns   -> fields of its events
    target half    fields of the events  -> columns of the copy

A map is a record of the board with the moment from which it holds in its key, so an earlier one stays.
Newest `MOST_MAPS` of a table and `MOST_TABLES` of a half are remembered, and of these no more than
`MOST_BYTES_OF_ALL`, the last to change of them.  A map that can't be read is refused.  Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import orjson

from wrackline.schemas.untrusted import text

VERSION: Final = 1
MOST_MAPS: Final = 20  # of a table
MOST_TABLES: Final = 20_000  # of a half
MOST_BYTES: Final = 1 << 20  # of a record
MOST_BYTES_OF_ALL: Final = 256 << 20  # of a half: 13 KB for each of so many tables
MOST_TYPE: Final = 200  # characters: an enum's type lists its values
_PARTS: Final = 5


class ColumnStep(NamedTuple):
    """One column's way through one half."""

    before: str
    after: str
    kind: str  # of the values that come out
    type: str = ""  # the database's own, at the source; empty: it is hidden or not known
    how: str = ""  # what is done to values; empty: they stay the same


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """The columns of one table in one half."""

    place: str  # the table at the source, or its copy
    columns: Sequence[ColumnStep]
    left_out: Sequence[str] = ()  # columns of which nothing is published

    def encode(self) -> bytes:
        """Return it as a record's value; the same map is always the same text."""
        columns = [(*one[:3], one.type[:MOST_TYPE], one.how) for one in self.columns]
        return orjson.dumps(
            {"version": VERSION, "place": self.place, "columns": columns, "left_out": list(self.left_out)}
        )


def read_map(value: bytes) -> ColumnMap:
    """Read a record's value; ValueError, KeyError or TypeError: it is none."""
    place, columns, left_out = check_map(value)
    return ColumnMap(place, tuple(ColumnStep(*one) for one in columns), tuple(left_out))


def check_map(value: bytes) -> tuple[str, Sequence[Sequence[str]], Sequence[str]]:
    """Refuse what `read_map` would; a follower does this with every record, so it makes nothing of them."""
    if len(value) > MOST_BYTES:
        raise ValueError("too long")
    document = orjson.loads(value)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError("a version that is not known")
    columns, left_out = document["columns"], document["left_out"]
    if type(columns) is not list or type(left_out) is not list or not {*map(type, columns)} <= {list}:
        raise TypeError("no list")
    if not {*map(len, columns)} <= {_PARTS}:
        raise ValueError("no column")
    if not {*map(type, chain(left_out, *columns))} <= {str}:
        raise TypeError("no text")
    return text(document["place"]), columns, left_out


class StoredMap(NamedTuple):
    """A map as it is stored, and since when it holds."""

    since_ms: int
    value: bytes


class MapLog:
    """The newest maps of the tables of one half."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[int, bytes]] = {}  # the last to change is the last
        self._bytes = 0

    def take(self, table: str, since_ms: int, value: bytes | None) -> Sequence[tuple[str, int]]:
        """Take a map that was read or made, or that one is gone; return what is forgotten because of it."""
        maps = self._tables.pop(table, {})
        self._bytes += len(value or b"") - len(maps.pop(since_ms, b""))
        if value is not None:
            maps[since_ms] = value
        forgotten = [(table, since) for since in sorted(maps)[:-MOST_MAPS]]
        for _, since in forgotten:
            self._bytes -= len(maps.pop(since))
        if maps:
            self._tables[table] = maps
        while len(self._tables) > MOST_TABLES or self._bytes > MOST_BYTES_OF_ALL:
            oldest = next(iter(self._tables))
            gone = self._tables.pop(oldest)
            self._bytes -= sum(map(len, gone.values()))
            forgotten += [(oldest, since) for since in gone]
        return forgotten

    def copy(self) -> "MapLog":
        """Return the maps as they are now."""
        made = MapLog()
        made._tables = {table: dict(maps) for table, maps in self._tables.items()}
        made._bytes = self._bytes
        return made

    def tables(self) -> Sequence[str]:
        """Return the tables that have maps."""
        return list(self._tables)

    def of(self, table: str) -> Sequence[StoredMap]:
        """Return the maps of a table, oldest first."""
        return [StoredMap(*one) for one in sorted(self._tables.get(table, {}).items())]
