"""What the catalogue has: tables, columns and keys.  Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from wrackline.schemas.tables.table import TableId


class OracleType(NamedTuple):
    """A type as ALL_TAB_COLS has it; numbers that are NULL there are None."""

    name: str  # DATA_TYPE: NUMBER, VARCHAR2, TIMESTAMP(6) WITH TIME ZONE
    length: int | None = None  # CHAR_LENGTH of texts, DATA_LENGTH of RAW
    precision: int | None = None
    scale: int | None = None
    owner: str | None = None  # DATA_TYPE_OWNER, of object types


class OracleColumnFacts(NamedTuple):
    """A column of a table that a statement can name: hidden ones and virtual ones are marked.

    Nothing identifies a column but its name.  COLUMN_ID changes with each column before it that becomes
    unused or invisible, and INTERNAL_COLUMN_ID with each one that is dropped.
    """

    name: str
    number: int  # INTERNAL_COLUMN_ID: its place now
    type: OracleType
    nullable: bool
    virtual: bool = False  # its values are not stored, and not in the log
    hidden: bool = False  # the server's own, or unused: SELECT does not need it, the log may show it
    default: bool = False  # old rows may have got a value when it was added


@dataclass(frozen=True, slots=True)
class OracleTableFacts:
    """A table."""

    id: TableId
    object_id: int  # OBJECT_ID: it outlives a rename
    columns: tuple[OracleColumnFacts, ...] = ()
    primary: tuple[str, ...] = ()  # columns of the primary key, in its order
    unique: tuple[tuple[str, ...], ...] = ()  # columns of each unique index that is valid
    logs_all: bool = True  # whether supplemental logging of all columns is on, of the table or the database
    version: str = ""  # LAST_DDL_TIME: another one means that the table may have another shape


@dataclass(frozen=True, slots=True)
class OracleLook:
    """The captured tables at one moment, and the names of all tables, by OBJECT_ID."""

    names: Mapping[int, TableId]
    tables: Mapping[int, OracleTableFacts] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)  # OBJECT_ID of a partition -> of its table
