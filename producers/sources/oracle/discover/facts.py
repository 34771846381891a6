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
    """A column of a table that a statement can name: hidden ones and virtual ones are marked."""

    name: str
    number: int  # INTERNAL_COLUMN_ID: it outlives a rename, and is not given again
    type: OracleType
    nullable: bool
    virtual: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class OracleTableFacts:
    """A table."""

    id: TableId
    object_id: int  # OBJECT_ID: it outlives a rename
    columns: tuple[OracleColumnFacts, ...] = ()
    primary: tuple[str, ...] = ()  # columns of the primary key, in its order
    unique: tuple[tuple[str, ...], ...] = ()  # columns of each unique index that is valid
    logs_all: bool = False  # whether supplemental logging of all columns is on, of the table or the database
    version: str = ""  # LAST_DDL_TIME: another one means that the table may have another shape


@dataclass(frozen=True, slots=True)
class OracleLook:
    """The captured tables at one moment, and the names of all tables, by OBJECT_ID."""

    names: Mapping[int, TableId]
    tables: Mapping[int, OracleTableFacts] = field(default_factory=dict)
    parts: Mapping[int, int] = field(default_factory=dict)  # OBJECT_ID of a partition -> of its table
