"""What a table is to every part: its place, its columns, and which of them identify its rows."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from wrackline.schemas.tables.types import ColumnType


class SourcePartition(NamedTuple):
    """One database of a server (DDD-1): it has its own log position, snapshot machine and metrics."""

    server: str
    database: str


class TableId(NamedTuple):
    """A table inside a server; MySQL's database name is used twice, as database and as schema."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.schema}.{self.name}"


class KeyKind(Enum):
    """Where a table's key comes from; it decides how rows are identified all the way to the target."""

    PRIMARY = "primary"
    UNIQUE = "unique"  # a unique index over not-null columns, where there is no primary key
    CUSTOM = "custom"  # message.key.columns
    NONE = "none"  # rows are identified by all their columns, duplicates counted


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `identity` outlives its name (attnum in PostgreSQL, elsewhere a number of ours)."""

    name: str
    identity: int
    type: ColumnType
    nullable: bool = True
    generated: bool = False


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's shape at one moment of its log; `key` names columns in key order."""

    id: TableId
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    key_kind: KeyKind = KeyKind.NONE
    left_out: tuple[str, ...] = field(default=(), compare=False)  # columns that are not published, by name

    def column(self, name: str) -> Column:
        """Return the column of this name; a missing one is a fault of the caller's code."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.id} has no column {name}")

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key's columns, in key order."""
        return tuple(self.column(name) for name in self.key)
