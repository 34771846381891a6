"""What the source suite needs of the world around a plug-in: a database that it can write to.

Each partition has the table `orders` with the columns of ORDERS and nothing in it, a signal table where
the marks need one, and a table that nobody captures.  A real plug-in's tests turn `Change`s into SQL; the
fake database takes them as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Position
from wrackline.schemas.tables.table import Column, KeyKind, SourcePartition, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

Values = Mapping[str, object]
Key = tuple[str, int]

TEXT = ColumnType(Kind.STRING, "text")
KEY = ("shop", "number")
COLUMNS = (
    Column("shop", 1, TEXT, nullable=False),
    Column("number", 2, ColumnType(Kind.INT32, "integer"), nullable=False),
    Column("label", 3, TEXT),
    Column("big", 4, TEXT),  # long enough, and stored so, that a log may leave it out of an update
)


def orders(partition: SourcePartition) -> TableSchema:
    """The table that the suite writes to."""
    return TableSchema(TableId(partition.database, "public", "orders"), COLUMNS, KEY, KeyKind.PRIMARY)


@dataclass(frozen=True)
class Insert:
    values: Values


@dataclass(frozen=True)
class Update:
    """Change these columns of the row with this key; a changed key column changes the key."""

    key: Key
    values: Values


@dataclass(frozen=True)
class Delete:
    key: Key


@dataclass(frozen=True)
class Truncated:
    pass


@dataclass(frozen=True)
class ColumnAdded:
    """A nullable text column without a default."""

    name: str


@dataclass(frozen=True)
class Said:
    """A logical message, where the database has them."""

    prefix: str
    content: bytes


@dataclass(frozen=True)
class Elsewhere:
    """A row for the table that nobody captures."""


Change = Insert | Update | Delete | Truncated | ColumnAdded | Said | Elsewhere


class Ability(Enum):
    """What not every database does; the suite's tests for it are skipped where it is absent."""

    UNSENT = "leaves unchanged long values out of an update"
    MESSAGES = "carries logical messages"
    TOLD = "keeps what its reader has confirmed"
    HIDDEN = "can be made to log a commit that is not visible yet"
    TRUNCATES = "truncates a table that is captured"


class SourceWorld(Protocol):
    """A connected source, and its database from the other side."""

    abilities: frozenset[Ability]
    most_batch_bytes: int  # of the surroundings it was opened with; a few thousand
    source: Source

    def orders(self, partition: SourcePartition) -> TableSchema:
        """The shape of `orders`; `orders` of this module, but for what differs with the database."""
        ...

    def now(self) -> float:
        """The clock that the source was given."""
        ...

    def commit(self, partition: SourcePartition, *changes: Change, hidden: bool = False) -> str:
        """Run one transaction, of which every change reaches the log; return its name there."""
        ...

    def show(self, partition: SourcePartition, transaction: str) -> None:
        """Make a hidden transaction visible."""
        ...

    def key(self, raw: bytes) -> dict[str, object]:
        """Decode a key."""
        ...

    def value(self, raw: bytes) -> dict[str, object]:
        """Decode a value."""
        ...

    def told(self, partition: SourcePartition) -> Position | None:
        """The position that was last confirmed to the database; None if none was."""
        ...
